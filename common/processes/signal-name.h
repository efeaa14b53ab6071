/* SPDX-License-Identifier: BSD-3-Clause */
/* signal-name.h - the short names of signals */
#pragma once

/* "SEGV"; "real-time" for a signal without a name; "unknown" for another number. */
const char *signal_name(int signo);
