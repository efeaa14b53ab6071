/* SPDX-License-Identifier: BSD-3-Clause */
/* quota.h - how much of the daemon's time one user may take */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* More than connections of users there can be (max_connections): who comes has an entry. */
enum { QUOTA_USERS = 1088 };

struct quota { /* zero: nobody asked yet */
    struct quota_user {
        uid_t uid;
        unsigned connections; /* open now */
        double tokens;        /* requests that may be made at once */
        double seen;          /* loop_now() of the last one; 0: a free entry */
        double tells, told;   /* how often it may be told that it has too many; as of then */
    } user[QUOTA_USERS];
};

/* A connection of this user: 1, or 0: it has too many, asks too often, or there are too many users.
 * now: seconds that only grow; rate: requests a second, of which one second's worth may come at
 * once. Root is always let in. */
int quota_enter(struct quota *q, uid_t uid, double now, unsigned connections, double rate);
/* A request took so long: it costs as much as so many that take a millisecond, ten at most, and one
 * that is refused four at least. Root's costs nothing. */
void quota_charge(struct quota *q, uid_t uid, double seconds, bool is_refused);
/* Requests that the user may still make at once; less than 0: it took more than its share. Root: no
 * end of them. */
double quota_left(struct quota *q, uid_t uid);
/* It was not let in: is it to be told? Not as often as it likes, as that costs more than hanging
 * up.
 */
bool quota_is_to_tell(struct quota *q, uid_t uid, double now);
void quota_leave(struct quota *q, uid_t uid);
