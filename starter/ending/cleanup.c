/* SPDX-License-Identifier: BSD-3-Clause */
/* cleanup.c - see cleanup.h */
#include "starter/ending/cleanup.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/path.h"
#include "starter/containment/step-containment.h"
#include "starter/host-directories.h"
#include "starter/keeper/keeper-channel.h"
#include "starter/links/uplink.h"
#include "starter/policy.h"
#include "wire/mprun.pb-c.h"

enum { STUCK_MAX = 16 }; /* sentences; more are not told */

struct cleanup {
    struct loop_defer *turn;
    struct step_containment *containment;
    const struct host_directories *directories;
    struct loop_timer again;
    double last_try, wait; /* of loop_now(); seconds */
    bool is_done;
    char *stuck[STUCK_MAX];
    size_t nstuck;
};

/* Try everything, whatever could not go. The last try puts what stays on the list. */
static int remove_all(struct cleanup *c, bool is_last)
{
    const char *paths[HOST_DIRECTORIES_MAX];
    size_t n = host_directories_list(c->directories, paths);
    struct error err;
    int rc = containment_remove(c->containment, &err);
    if (rc < 0 && is_last)
        cleanup_add_stuck(c, err.text);
    while (n > 0) {
        if (path_remove_tree(paths[--n], &err) == 0)
            continue;
        rc = -1;
        if (is_last)
            cleanup_add_stuck(c, err.text);
    }
    return rc;
}

static void try_again(void *arg)
{
    struct cleanup *c = arg;
    bool is_last = loop_now() >= c->last_try;
    if (remove_all(c, is_last) < 0 && !is_last) {
        c->wait *= 2;
        loop_timer_start(&c->again, c->wait, 0);
        return;
    }
    c->is_done = true;
    loop_defer_schedule(c->turn);
}

struct cleanup *cleanup_create(struct loop *loop, struct loop_defer *turn,
                               struct step_containment *containment)
{
    struct cleanup *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    *c = (struct cleanup){.turn = turn, .containment = containment};
    loop_timer_init(&c->again, loop, try_again, c);
    return c;
}

void cleanup_destroy(struct cleanup *c)
{
    if (!c)
        return;
    loop_timer_stop(&c->again);
    for (size_t i = 0; i < c->nstuck; i++)
        free(c->stuck[i]);
    free(c);
}

void cleanup_add_stuck(struct cleanup *c, const char *text)
{
    if (c->nstuck < STUCK_MAX && (c->stuck[c->nstuck] = strdup(text)))
        c->nstuck++;
}

void cleanup_begin(struct cleanup *c, const struct host_directories *directories)
{
    c->directories = directories;
    c->last_try = loop_now() + CLEANUP_SECONDS;
    c->wait = CLEANUP_FIRST_WAIT_SECONDS / 2;
    try_again(c);
}

bool cleanup_is_done(const struct cleanup *c)
{
    return c->is_done;
}

void cleanup_report(const struct cleanup *c, int keeper_fd, struct uplink *up, const char *hostname)
{
    Mprun__Cleaned m = MPRUN__CLEANED__INIT;
    m.n_stuck = c->nstuck;
    m.stuck = (char **)(uintptr_t)c->stuck;
    keeper_tell(keeper_fd, c->nstuck ? KEEPER_STUCK : KEEPER_CLEANED, "");
    uplink_send(up, FRAME_CLEANED, &m.base);
    for (size_t i = 0; !up->link && i < c->nstuck; i++)
        log_error("on %s: %s", hostname, c->stuck[i]);
}
