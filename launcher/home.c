/* SPDX-License-Identifier: BSD-3-Clause */
/* home.c - the directory of the step's sockets: made, locked, removed, and those of steps whose
 * mprun was killed before a starter of this machine knew of it
 *
 * These are looked for at the end of a step, when nobody waits any more. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/path.h"
#include "common/step-directory.h"
#include "launcher/run.h"

/* ---- our own --------------------------------------------------------------------------------- */

static int try_directory(struct run *r, const char *base, struct error *err)
{
    int n =
        snprintf(r->directory, sizeof(r->directory), "%s/" STEP_DIRECTORY "%s", base, r->step.id);
    if (n < 0 || (size_t)n >= sizeof(r->directory)) {
        r->directory[0] = 0;
        return error_set(err, ENAMETOOLONG, "'%.80s...' is too long for a directory of sockets",
                         base);
    }
    r->directory_fd = path_make_private(r->directory, err);
    if (r->directory_fd < 0) {
        r->directory[0] = 0;
        return -1;
    }
    step_directory_lock(r->directory_fd);
    return 0;
}

int home_make(struct run *r, struct error *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
    /* in a rank of another step TMPDIR is that step's, and goes with it whatever happens to us */
    if (!getenv("MPRUN_STEP_ID") && runtime && runtime[0] == '/' &&
        try_directory(r, runtime, err) == 0)
        return 0;
    if (tmp && tmp[0] == '/' && try_directory(r, tmp, err) == 0)
        return 0;
    if (try_directory(r, "/tmp", err) == 0)
        return 0;
    return error_context(err, "make a directory for the step's sockets");
}

/* ---- those of others --------------------------------------------------------------------------
 */

struct others {
    const struct run *run;
    void (*fn)(void *arg, const char *path);
    void *arg;
};

static void other_entry(void *arg, int parent, const char *place, const char *name)
{
    const struct others *o = arg;
    char path[sizeof(o->run->directory) + 64];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s/%s", place, name);
    if (n < (int)sizeof(path) && strcmp(path, o->run->directory) != 0 &&
        fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
        st.st_uid == geteuid() && (st.st_mode & 07777) == 0700 &&
        !step_directory_is_stale(parent, name))
        o->fn(o->arg, path);
}

void home_others(const struct run *r, void (*fn)(void *arg, const char *path), void *arg)
{
    struct others o = {.run = r, .fn = fn, .arg = arg};
    char place[sizeof(r->directory)];
    snprintf(place, sizeof(place), "%s", r->directory);
    char *end = strrchr(place, '/');
    if (!end)
        return;
    *end = 0;
    step_directories(place[0] ? place : "/", r->step.id, DIRECTORY_OF_STEP, other_entry, &o);
}

/* ---- the end --------------------------------------------------------------------------------- */

void home_remove(struct run *r)
{
    struct error e;
    if (!r->directory[0])
        return;
    if (path_remove_tree(r->directory, &e) < 0)
        log_warn("%s", e.text);
    close(take_fd(&r->directory_fd));
    *strrchr(r->directory, '/') = 0;
    step_directories_sweep(r->directory[0] ? r->directory : "/", r->step.id, DIRECTORY_OF_STEP);
    r->directory[0] = 0;
}
