/* SPDX-License-Identifier: BSD-3-Clause */
/* prefault.h - takes page faults while mppmi has nothing else to do */
#pragma once

/* Call before any thread is started. Does nothing when a message already waits at fd. */
void prefault(int fd);
