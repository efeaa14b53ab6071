/* SPDX-License-Identifier: BSD-3-Clause */
/* silent-hosts.h - starters that say nothing although their links stand: stopped processes, frozen
 * hosts */
#pragma once

#include "launcher/hosts/host-table.h"
#include "wire/messages/values.h"

struct loop;
struct silent_hosts;

/* NULL: out of memory. All other functions take NULL, where no host is watched (--heartbeat 0). */
struct silent_hosts *silent_hosts_create(struct loop *loop, struct host_table *t);
void silent_hosts_destroy(struct silent_hosts *s);

/* Something came on the link of this host. */
void silent_hosts_heard(struct silent_hosts *s, const struct host *top);
/* PONG and SILENT of a host. -1: a frame that cannot be. */
int silent_hosts_pong(struct silent_hosts *s, const struct host *h, size_t n);
int silent_hosts_told(struct silent_hosts *s, const struct host *from, const Mprun__Silent *m);
