/* SPDX-License-Identifier: BSD-3-Clause */
/* host-places.h - how each host finds its place in the tree */
#pragma once

#include "launcher/hosts/host-table.h"
#include "wire/messages/values.h"

/* HELLO has come: tells the host its place, or lets it wait until the host above is ready. */
void host_place(struct host *h);
/* DOOR and JOINED of a host. -1: not now. */
int host_place_door(struct host *h, const Mprun__Door *m);
int host_place_joined(struct host *h, const Mprun__Joined *m);
/* After each frame: close the link that is not needed any more. */
void host_place_leave_first(struct host *h);
/* Are last words of this host, or of one below it, still to come? */
bool host_place_is_awaited(struct host *h);
