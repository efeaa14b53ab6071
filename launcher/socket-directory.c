/* SPDX-License-Identifier: BSD-3-Clause */
/* socket-directory.c - the directory of the step's sockets: made, locked, removed, and those of
 * steps whose mprun was killed before a starter of this machine knew of it
 *
 * mprun looks for these at the end of a step, when the user does not wait. */
#include "launcher/socket-directory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/files/path.h"
#include "common/files/step-directory.h"

/* ---- our own --------------------------------------------------------------------------------- */

static int try_directory(struct socket_directory *d, const char *base, const char *step_id,
                         struct error *err)
{
    if (!base || base[0] != '/')
        return -1;
    int n = snprintf(d->path, sizeof(d->path), "%s/" STEP_DIRECTORY "%s", base, step_id);
    bool fits = n > 0 && (size_t)n < sizeof(d->path);
    d->place = strlen(base);
    d->fd = fits ? path_make_private(d->path, err)
                 : error_set(err, ENAMETOOLONG, "'%.80s...' is too long for a directory of sockets",
                             base);
    if (d->fd < 0) {
        d->path[0] = 0;
        return -1;
    }
    step_directory_lock(d->fd);
    return 0;
}

int socket_directory_make(struct socket_directory *d, const char *step_id, struct error *err)
{
    /* in a rank of another step TMPDIR is that step's, and goes with it whatever happens to us */
    const char *runtime = getenv("MPRUN_STEP_ID") ? NULL : getenv("XDG_RUNTIME_DIR");
    if (try_directory(d, runtime, step_id, err) == 0 ||
        try_directory(d, getenv("TMPDIR"), step_id, err) == 0 ||
        try_directory(d, "/dev/shm", step_id, err) == 0 ||
        try_directory(d, "/tmp", step_id, err) == 0)
        return 0;
    return error_context(err, "make a directory for the step's sockets");
}

/* Writes "/run/user/7" of "/run/user/7/mprun-STEP" into place, and returns "STEP". */
static const char *place_of(const struct socket_directory *d, char place[sizeof(d->path)])
{
    snprintf(place, sizeof(d->path), "%.*s", (int)d->place, d->path);
    return d->path + d->place + strlen("/" STEP_DIRECTORY);
}

/* ---- directories of other steps -------------------------------------------------------------- */

struct others {
    const struct socket_directory *own;
    void (*fn)(void *arg, const char *path);
    void *arg;
};

static void other_entry(void *arg, int parent, const char *place, const char *name)
{
    const struct others *o = arg;
    char path[sizeof(o->own->path) + 64];
    int n = snprintf(path, sizeof(path), "%s/%s", place, name);
    if (n < (int)sizeof(path) && strcmp(path, o->own->path) != 0 &&
        step_directory_is_own(parent, name))
        o->fn(o->arg, path);
}

void socket_directory_others(const struct socket_directory *d,
                             void (*fn)(void *arg, const char *path), void *arg)
{
    struct others o = {.own = d, .fn = fn, .arg = arg};
    char place[sizeof(d->path)];
    const char *step_id = place_of(d, place);
    step_directories(place, step_id, DIRECTORY_OF_STEP, false, other_entry, &o);
}

/* ---- the end --------------------------------------------------------------------------------- */

void socket_directory_remove(struct socket_directory *d)
{
    char place[sizeof(d->path)];
    struct error e;
    if (!d->path[0])
        return;
    if (path_remove_tree(d->path, &e) < 0)
        log_warn("%s", e.text);
    close(take_fd(&d->fd));
    const char *step_id = place_of(d, place);
    step_directories_sweep(place, step_id, DIRECTORY_OF_STEP);
    d->path[0] = 0;
}
