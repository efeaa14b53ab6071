/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ending/removal.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/must.h"
#include "common/files/path.h"
#include "starter/containment/step-containment.h"
#include "starter/host-directories.h"
#include "starter/keeper/keeper-channel.h"
#include "starter/links/uplink.h"
#include "starter/tunables.h"
#include "starter/services.h"
#include "wire/mprun.pb-c.h"

/* Tries to remove everything, also after a failure. The last try lists what stays. */
static int remove_all(struct removal *c, bool is_last)
{
    const char *paths[HOST_DIRECTORIES_MAX];
    size_t n = host_directories_list(c->with->directories, paths);
    struct error err;
    int rc = containment_remove(c->with->containment, &err);
    if (rc < 0 && is_last)
        removal_add_stuck(c, err.text);
    while (n > 0) {
        if (path_remove_tree(paths[--n], &err) == 0)
            continue;
        rc = -1;
        if (is_last)
            removal_add_stuck(c, err.text);
    }
    return rc;
}

static void try_again(void *arg)
{
    struct removal *c = arg;
    bool is_last = loop_now() >= c->last_try;
    if (remove_all(c, is_last) < 0 && !is_last) {
        c->wait *= 2;
        loop_timer_start(&c->again, c->wait, 0);
        return;
    }
    c->is_done = true;
    loop_defer_schedule(c->with->turn);
}

void removal_init(struct removal *c, const struct starter_services *with)
{
    c->with = with;
    loop_timer_init(&c->again, with->loop, try_again, c);
}

void removal_end(struct removal *c)
{
    loop_timer_stop(&c->again);
    for (size_t i = 0; i < c->nstuck; i++)
        free(c->stuck[i]);
}

void removal_add_stuck(struct removal *c, const char *text)
{
    if (c->nstuck < REMOVAL_STUCK_MAX)
        c->stuck[c->nstuck++] = must(strdup(text));
}

void removal_begin(struct removal *c)
{
    c->last_try = loop_now() + REMOVAL_SECONDS;
    c->wait = CLEANUP_FIRST_WAIT_SECONDS / 2;
    try_again(c);
}

void removal_report(const struct removal *c)
{
    Mprun__Cleaned m = MPRUN__CLEANED__INIT;
    m.n_stuck = c->nstuck;
    m.stuck = (char **)(uintptr_t)c->stuck;
    keeper_tell(c->with->keeper_fd, c->nstuck ? KEEPER_STUCK : KEEPER_CLEANED, "");
    uplink_send(c->with->up, FRAME_CLEANED, &m.base);
    for (size_t i = 0; !c->with->up->link && i < c->nstuck; i++)
        log_error("on %s: %s", c->with->hostname, c->stuck[i]);
}
