/* SPDX-License-Identifier: BSD-3-Clause */
/* signal-name.h - the short names of signals */
#ifndef COMMON_SIGNAL_NAME_H
#define COMMON_SIGNAL_NAME_H

/* "SEGV"; "real-time" for those without a name; "unknown" for what is no signal. */
const char *signal_name(int signo);

#endif
