/* SPDX-License-Identifier: BSD-3-Clause */
/* quota.c - a bucket of requests and a number of connections for every user
 *
 * The table is of fixed size: when it is full, who has no connection and has not asked for longest
 * is forgotten, which costs nothing, as its bucket is full by then or will be soon. */
#include "node-daemon/front/quota.h"

#include <math.h>
#include <stddef.h>

static const double TELLS = 100; /* a second, and at once */
/* A request of mprund's normal time costs one; no request costs more than the most, as a host that
 * is slow for a moment is not its user's doing. */
static const double REQUEST_S = 0.001, REFUSAL_COST = 4, MOST_COST = 10;

static struct quota_user *find(struct quota *q, uid_t uid)
{
    for (size_t i = 0; i < QUOTA_USERS; i++)
        if (q->user[i].seen > 0 && q->user[i].uid == uid)
            return &q->user[i];
    return NULL;
}

static struct quota_user *make(struct quota *q, uid_t uid, double now, double rate)
{
    struct quota_user *oldest = NULL;
    for (size_t i = 0; i < QUOTA_USERS; i++) {
        struct quota_user *u = &q->user[i];
        if (u->connections == 0 && (!oldest || u->seen < oldest->seen))
            oldest = u;
    }
    if (oldest)
        *oldest = (struct quota_user){.uid = uid, .tokens = rate, .seen = now};
    return oldest;
}

int quota_enter(struct quota *q, uid_t uid, double now, unsigned connections, double rate)
{
    if (uid == 0)
        return 1;
    struct quota_user *u = find(q, uid);
    if (!u && !(u = make(q, uid, now, rate)))
        return 0;
    u->tokens += (now - u->seen) * rate;
    u->tokens = u->tokens < rate ? u->tokens : rate;
    u->seen = now;
    if (u->tokens < 1 || u->connections >= connections)
        return 0;
    u->tokens -= 1;
    u->connections++;
    return 1;
}

void quota_charge(struct quota *q, uid_t uid, double seconds, bool is_refused)
{
    struct quota_user *u = uid ? find(q, uid) : NULL;
    double cost = seconds / REQUEST_S - 1; /* one was paid at the door */
    if (is_refused && cost < REFUSAL_COST)
        cost = REFUSAL_COST;
    if (u && cost > 0)
        u->tokens -= cost < MOST_COST ? cost : MOST_COST;
}

double quota_left(struct quota *q, uid_t uid)
{
    const struct quota_user *u = uid ? find(q, uid) : NULL;
    return u ? u->tokens : INFINITY;
}

bool quota_is_to_tell(struct quota *q, uid_t uid, double now)
{
    struct quota_user *u = find(q, uid);
    if (!u)
        return true;
    u->tells += (now - u->told) * TELLS;
    u->tells = u->tells < TELLS ? u->tells : TELLS;
    u->told = now;
    if (u->tells < 1)
        return false;
    u->tells -= 1;
    return true;
}

void quota_leave(struct quota *q, uid_t uid)
{
    struct quota_user *u = uid ? find(q, uid) : NULL;
    if (u && u->connections > 0)
        u->connections--;
}

bool times_are_to_tell(uint64_t times)
{
    uint64_t power = 10;
    while (power < times)
        power *= 10;
    return times <= 3 || times == power;
}
