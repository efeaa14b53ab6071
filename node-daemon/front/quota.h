/* SPDX-License-Identifier: BSD-3-Clause */
/* quota.h - how much of the daemon's time one user may take */
#pragma once

#include <sys/types.h>

enum { QUOTA_USERS = 256 };

struct quota { /* zero: nobody asked yet */
    struct quota_user {
        uid_t uid;
        unsigned connections; /* open now */
        double tokens;        /* requests that may be made at once */
        double seen;          /* loop_now() of the last one; 0: a free entry */
    } user[QUOTA_USERS];
};

/* A connection of this user: 1, or 0: it has too many, asks too often, or there are too many users.
 * now: seconds that only grow; rate: requests a second, of which one second's worth may come at
 * once. Root is always let in. */
int quota_enter(struct quota *q, uid_t uid, double now, unsigned connections, double rate);
/* A request that was refused: it costs as much as some others. */
void quota_charge(struct quota *q, uid_t uid);
void quota_leave(struct quota *q, uid_t uid);
