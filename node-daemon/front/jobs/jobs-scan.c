/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs-scan.c - jobs' directories: their names, and what they tell a daemon that has started */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "node-daemon/front/jobs/jobs-private.h"
#include "node-daemon/lib/marks.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const words[] = {
    [GRANT_SITE] = "site", [GRANT_GRIDENGINE] = "ge", [GRANT_SLURM] = "slurm", [GRANT_PBS] = "pbs"};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

/* The word for a manager in names of directories: "ge". */
static const char *job_manager_word(enum grant_manager m)
{
    return (unsigned)m < WORDS && words[m] ? words[m] : "?";
}

void job_dir_name(struct job *job)
{
    unsigned nonce = 0;
    if (getrandom(&nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
        nonce = (unsigned)(loop_wallclock_ns() / 1000); /* only has to be new, not secret */
    snprintf(job->dir, sizeof(job->dir), "%s-%s-%08x", job_manager_word(job->manager), job->name,
             nonce);
}

/* "ge-23.1-0a1b2c3d": 0, or -1: not one of ours */
static int job_parse_dir(const char *dir, struct job *ret)
{
    const char *name = strchr(dir, '-'), *nonce = strrchr(dir, '-');
    size_t len = strlen(dir);
    if (!name || nonce == name || len >= sizeof(ret->dir) || strlen(nonce + 1) != JOB_NONCE ||
        strspn(nonce + 1, "0123456789abcdef") != JOB_NONCE)
        return -1;
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->dir, dir, len);
    memcpy(ret->name, name + 1, (size_t)(nonce - name - 1));
    for (unsigned m = 0; m < WORDS; m++)
        if (words[m] && strlen(words[m]) == (size_t)(name - dir) &&
            !strncmp(words[m], dir, (size_t)(name - dir)))
            ret->manager = m;
    return ret->manager && grant_is_job_name(ret->name) ? 0 : -1;
}

/* ---- the table ------------------------------------------------------------------------------- */

void jobs_add(struct jobs *j, struct job *job)
{
    j->job = must(reallocarray(j->job, j->n + 1, sizeof(struct job *)));
    job->jobs = j;
    j->job[j->n++] = job;
}

void jobs_forget(struct jobs *j, struct job *job)
{
    if (job->watch)
        watches_remove(j->watches, job->watch);
    for (size_t i = 0; i < j->n; i++)
        if (j->job[i] == job)
            j->job[i] = j->job[--j->n];
    loop_timer_stop(&job->timer);
    idset_free(&job->cores.cpus);
    loans_free(job);
    free(job);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* 1: whole */
static int read_mark(mode_t mode, struct job *job)
{
    enum mover_mark mark = mark_of_mode(mode);
    job->awaited = mark == MARK_AWAITED;
    job->bound = job->awaited || mark == MARK_BOUND;
    return job->bound || mark == MARK_WHOLE;
}

static void take_up(struct jobs *j, const struct job *found)
{
    struct stat st;
    struct job *job = must(malloc(sizeof(*job)));
    *job = *found;
    job->known = -1;
    int whole = ground_owner(j->ground, job->dir, &job->uid) == 0 &&
                fstatat(j->ground->part[0].fd, job->dir, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                read_mark(st.st_mode, job);
    jobs_add(j, job);
    cores_read(job); /* also one that has ended has them until it is gone */
    gpus_note_read(job);
    if (!whole) {
        job_end(job);
        return;
    }
    loans_read(job);
    gpus_hold(job);
    jobs_watch_empty(j, job);
}

static int is_tracked(const struct jobs *j, const char *dir)
{
    for (size_t i = 0; i < j->n; i++)
        if (!strcmp(j->job[i]->dir, dir))
            return 1;
    return 0;
}

int jobs_scan(struct jobs *j, struct error *err)
{
    for (size_t part = 0; part < j->ground->n; part++) {
        AUTO_DIR DIR *d = dir_take_fd(at_open(ground_at(j->ground, part, ".")));
        if (!d)
            return error_errno(err, errno, "read cgroup '%s'", j->ground->part[part].path);
        struct dirent *e;
        struct job found;
        while ((e = readdir(d))) {
            if (e->d_type != DT_DIR || job_parse_dir(e->d_name, &found) < 0)
                continue;
            if (part == 0)
                take_up(j, &found);
            else if (!is_tracked(j, e->d_name))
                job_end_stray(j, e->d_name);
        }
    }
    return 0;
}
