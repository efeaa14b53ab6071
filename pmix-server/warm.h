/* SPDX-License-Identifier: BSD-3-Clause */
/* warm.h - page faults taken while there is nothing else to do */
#ifndef PMIX_SERVER_WARM_H
#define PMIX_SERVER_WARM_H

/* Before any thread is started. Does nothing when a message already waits at fd. */
void warm_up(int fd);

#endif
