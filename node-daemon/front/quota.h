/* SPDX-License-Identifier: BSD-3-Clause */
/* quota.h - how much of the daemon's time one user may take */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* More than max_connections, so that each connected user has an entry. */
enum { QUOTA_USERS = 1088 };

struct quota { /* zero: nobody asked yet */
    struct quota_user {
        uid_t uid;
        unsigned connections; /* open now */
        double tokens;        /* requests that may be made at once */
        double seen;          /* loop_now() of the last one; 0: a free entry */
        double tells, told;   /* refusals that it may still get as answers; time of that count */
    } user[QUOTA_USERS];
};

/* A connection of this user: 1, or 0: it has too many, asks too often, or there are too many users.
 * now: seconds that only grow; rate: requests a second, of which one second's worth may come at
 * once. Root is always let in. */
int quota_enter(struct quota *q, uid_t uid, double now, unsigned connections, double rate);
/* Charge the user for a request that took so long: one token a millisecond, ten at most; a refused
 * one costs at least four. Root pays nothing. */
void quota_charge(struct quota *q, uid_t uid, double seconds, bool is_refused);
/* Requests that the user may still make at once; below 0: it took more than its share. Root:
 * infinite. */
double quota_left(struct quota *q, uid_t uid);
/* The user was refused: send an answer? Not every time, because an answer costs more than hanging
 * up. */
bool quota_is_to_tell(struct quota *q, uid_t uid, double now);
void quota_leave(struct quota *q, uid_t uid);
/* Should mprund log what users have caused so many times? Yes for the first few times, then each
 * time that it is ten times as often. */
bool times_are_to_tell(uint64_t times);
