/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/jobs/sentinel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "node-daemon/front/jobs/jobs.h"
#include "node-daemon/lib/trace.h"

/* Our files stay empty: mprund recognises them by that and by this mode. */
enum { MODE = 0444 };

void sentinel_put(int dir, const struct job *job)
{
    if (dir < 0)
        return;
    int fd = openat(dir, job->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
    if (fd >= 0)
        trace("sentinel job=%s", job->name);
    else if (errno != EEXIST)
        log_error("write the sentinel of job %s: %s", job->name, strerror(errno));
    cleanup_close(&fd);
}

void sentinel_remove(int dir, const struct job *job)
{
    if (dir >= 0 && unlinkat(dir, job->name, 0) == 0)
        trace("sentinel-removed job=%s", job->name);
}

static int is_of_a_job(struct jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs_count(jobs); i++)
        if (jobs_at(jobs, i)->state == GRANT_RUNNING && !strcmp(jobs_at(jobs, i)->name, name))
            return 1;
    return 0;
}

/* The directory may be one with other files, too. */
static int is_sentinel(int dir, const char *name)
{
    struct stat st;
    return grant_is_job_name(name) && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && (st.st_mode & 07777) == MODE && st.st_size == 0;
}

/* jobs: those whose files stay; NULL: none do. */
static void remove_others(int dir, struct jobs *jobs)
{
    AUTO_DIR DIR *d = dir_take_fd(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (is_sentinel(dir, e->d_name) && !(jobs && is_of_a_job(jobs, e->d_name)))
            (void)unlinkat(dir, e->d_name, 0);
}

void sentinel_clear(int dir)
{
    if (dir >= 0)
        remove_others(dir, NULL);
}

void sentinel_begin(int dir, struct jobs *jobs)
{
    if (dir < 0)
        return;
    remove_others(dir, jobs);
    for (size_t i = 0; i < jobs_count(jobs); i++)
        if (jobs_at(jobs, i)->state == GRANT_RUNNING && !jobs_is_empty(jobs, jobs_at(jobs, i)))
            sentinel_put(dir, jobs_at(jobs, i));
}
