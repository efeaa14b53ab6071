/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/host-directories.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/files/path.h"
#include "common/files/step-directory.h"
#include "common/text/words.h"
#include "starter/keeper/keeper-channel.h"
#include "starter/tunables.h"
#include "wire/messages/launch.h"

enum {
    TMPDIR_MAX = 256, /* bytes of a job's TMPDIR, so that it fits into a variable of a rank */
    SOCKET_DIRECTORY_MAX = 60, /* bytes; MPIs need the rest of a socket's 108 for their names */
};

static const char *find_job_tmpdir(const struct launch *l)
{
    const char *own = getenv("TMPDIR");
    return is_any_of("TMPDIR", (const char *const *)l->step.host_env) && own && own[0] == '/' &&
                   strlen(own) < TMPDIR_MAX && access(own, W_OK | X_OK) == 0
               ? own
               : NULL;
}

void host_directories_free(struct host_directories *d)
{
    if (!d->launch)
        return;
    cleanup_close(&d->main.fd);
    cleanup_close(&d->memory.fd);
}

/* ---- making them ----------------------------------------------------------------------------- */

static int make(const struct host_directories *d, struct host_directory *ret, const char *base,
                struct error *err)
{
    int base_len = (int)strnlen(base, SOCKET_DIRECTORY_MAX + 1);
    while (base_len > 1 && base[base_len - 1] == '/')
        base_len--;
    int len = snprintf(ret->path, sizeof(ret->path), "%.*s/%s", base_len, base, d->name);
    if (len < 0 || (size_t)len >= sizeof(ret->path) || len > SOCKET_DIRECTORY_MAX) {
        ret->path[0] = 0;
        return error_set(err, ENAMETOOLONG,
                         "use '%.200s' on %s: it is too long for a directory of sockets", base,
                         launch_here(d->launch)->host);
    }
    keeper_tell(d->keeper_fd, KEEPER_DIRECTORY, ret->path);
    ret->fd = path_make_private(ret->path, err);
    if (ret->fd < 0) {
        ret->path[0] = 0;
        return error_context(err, "make a directory for the ranks on %s",
                             launch_here(d->launch)->host);
    }
    step_directory_lock(ret->fd);
    return 0;
}

/* Returns the value of the first variable of the ranks' environment that begins with `beginning`
 * (name, "=", and the beginning of the value). */
static const char *rank_variable(const struct host_directories *d, const char *beginning,
                                 const char *otherwise)
{
    for (char *const *e = d->launch->step.apps[0].envp; *e; e++)
        if (strncmp(*e, beginning, strlen(beginning)) == 0)
            return strchr(*e, '=') + 1;
    return otherwise;
}

/* A TMPDIR that is too long, or that only mprun's host has, must not keep the step from running. */
static int make_main(struct host_directories *d, struct error *err)
{
    const char *tmp = d->job_tmpdir ? d->job_tmpdir : rank_variable(d, "TMPDIR=/", "/tmp");
    if (make(d, &d->main, tmp, err) == 0)
        return 0;
    if (strcmp(tmp, "/tmp") == 0)
        return -1;
    log_debug("%s; '/tmp' is used instead", err->text);
    return make(d, &d->main, "/tmp", err);
}

static int check_space(const struct host_directories *d, const char *base, struct error *err)
{
    struct statvfs fs;
    if (statvfs(base, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= PMI_SPACE_NEEDED)
        return 0;
    return error_set(err, ENOSPC, "no space left where '%s' is on %s", base,
                     launch_here(d->launch)->host);
}

/* A step within a step uses the outer step's directory, which the outer step removes even if this
 * step is killed. */
static int make_memory(struct host_directories *d, struct error *err)
{
    static const char outer[] = "OMPI_MCA_btl_vader_backing_directory=/dev/shm/mprun-";
    const char *base = rank_variable(d, outer, "/dev/shm");
    if (check_space(d, base, err) < 0)
        return -1;
    if (make(d, &d->memory, base, err) == 0)
        return 0;
    return make(d, &d->memory, "/dev/shm", err);
}

int host_directories_make(struct host_directories *d, const struct launch *launch, const char *name,
                          bool has_files, int keeper_fd, struct error *err)
{
    char ranks[160];
    struct error why;
    *d = (struct host_directories){.launch = launch,
                                   .name = name,
                                   .keeper_fd = keeper_fd,
                                   .job_tmpdir = find_job_tmpdir(launch),
                                   .has_files = has_files,
                                   .main.fd = -1,
                                   .memory.fd = -1};
    bool has_pmix = d->launch->step.pmi & PMI_KIND_PMIX;
    bool has_memory = has_pmix && make_memory(d, &why) == 0;
    if (d->job_tmpdir && has_memory)
        return 0;
    if (make_main(d, err) < 0)
        return -1;
    snprintf(ranks, sizeof(ranks), "%s/t", d->main.path);
    if (!d->job_tmpdir && has_files && mkdir(ranks, 0700) < 0)
        return error_errno(err, errno, "make the directory '%s' for ranks on %s", ranks,
                           launch_here(d->launch)->host);
    /* MPIs run without shared memory, too, only slower */
    if (has_pmix && !has_memory)
        log_warn("%s; what is shared in memory is in '%s' instead", why.text, d->main.path);
    return 0;
}

const char *host_directories_main(struct host_directories *d, struct error *err)
{
    return d->main.path[0] || make_main(d, err) == 0 ? d->main.path : NULL;
}

/* ---- queries --------------------------------------------------------------------------------- */

size_t host_directories_list(const struct host_directories *d,
                             const char *ret[HOST_DIRECTORIES_MAX])
{
    size_t n = 0;
    if (d->main.path[0])
        ret[n++] = d->main.path;
    if (d->memory.path[0])
        ret[n++] = d->memory.path;
    return n;
}

const char *host_directories_memory(const struct host_directories *d)
{
    return d->memory.path[0] ? d->memory.path : d->main.path;
}

static void sweep(const struct host_directories *d, const char *place)
{
    step_directories_sweep(place, d->launch->step.id, DIRECTORY_OF_HOST);
}

static void sweep_beside(const struct host_directories *d, const char *path)
{
    char place[sizeof(d->main.path)];
    snprintf(place, sizeof(place), "%s", path);
    char *end = strrchr(place, '/');
    if (!end || end == place)
        return;
    *end = 0;
    sweep(d, place);
}

/* Steps of the job that were killed may have left a directory where this one needed none. */
void host_directories_sweep(const struct host_directories *d)
{
    if (!d->launch)
        return;
    if (d->main.path[0])
        sweep_beside(d, d->main.path);
    else if (d->job_tmpdir)
        sweep(d, d->job_tmpdir);
    sweep_beside(d, d->memory.path[0] ? d->memory.path : "/dev/shm/");
}
