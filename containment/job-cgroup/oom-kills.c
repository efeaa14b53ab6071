/* SPDX-License-Identifier: BSD-3-Clause */
/* oom-kills.c - see oom-kills.h
 *
 * v2 counts a kill in the cgroup of the process that died and in all above; v1 in that cgroup only.
 * A step and its start clients need not be in one cgroup, so on v2 the kills are those of the
 * lowest cgroup above with a limit: in a job that is the job's. */
#include "containment/job-cgroup/oom-kills.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text/number.h"
#include "containment/job-cgroup/parents.h"
#include "model/rank-end.h"

struct level {
    struct oom_count count;
    uint64_t limit;  /* bytes; UINT64_MAX: none */
    size_t path_len; /* of its directory */
};

/* v2 has no such files in a cgroup without the controller, or in the root unless a container's:
 * then nothing is counted there. Of a level without a limit it reads no more than kills_since()
 * wants. */
static void read_level(const struct cgroup_driver *driver, int fd, bool is_lowest,
                       struct level *ret)
{
    struct cgroup_at d = {fd, "."};
    bool v1 = driver->version == 1;
    char text[512];
    if (at_read_u64(d, v1 ? "memory.limit_in_bytes" : "memory.max", &ret->limit) < 0 ||
        (v1 && ret->limit >= CGROUP_V1_UNLIMITED))
        ret->limit = UINT64_MAX;
    ret->count = (struct oom_count){0};
    if (ret->limit == UINT64_MAX && v1) {
        if (at_read(d, "memory.oom_control", text, sizeof(text)) > 0)
            flat_key_u64(text, "oom_kill", &ret->count.kills);
    } else if ((ret->limit != UINT64_MAX || is_lowest) && driver->oom_count(d, &ret->count) < 0) {
        ret->count = (struct oom_count){0};
    }
}

/* Returns the number of levels. */
static size_t read_levels(const struct oom_kills *k, struct level levels[OOM_LEVELS])
{
    size_t n = 0, len = strlen(k->directory);
    AUTO_CLOSE int fd = k->driver ? open(k->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    while (fd >= 0 && n < OOM_LEVELS) {
        read_level(k->driver, fd, n == 0, &levels[n]);
        levels[n++].path_len = len;
        if (len <= k->root)
            break;
        while (len > k->root && k->directory[--len] != '/')
            ;
        int up = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = up;
    }
    return n;
}

/* Uses v1 if its memory controller is mounted: then v2 cannot have it. */
static void find_directory(struct oom_kills *k)
{
    int version = 0;
    AUTO_FREE char *directory = cgroup_of_process(0, &version, CGROUP_MEMORY, &k->root, NULL);
    if (!directory || strlen(directory) >= sizeof(k->directory))
        return;
    k->driver = version == 1 ? &cgroup_driver_v1 : &cgroup_driver_v2;
    strcpy(k->directory, directory);
}

void oom_kills_begin(struct oom_kills *k)
{
    struct level now[OOM_LEVELS];
    *k = (struct oom_kills){.told = 0};
    find_directory(k);
    for (size_t i = read_levels(k, now); i-- > 0;)
        k->was[i] = now[i].count;
}

static uint64_t kills_since(const struct oom_kills *k, const struct level *now, size_t n)
{
    uint64_t kills = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t was = k->was[i].kills, all = now[i].count.kills;
        uint64_t here = all > was ? all - was : 0; /* a counter that cannot be read now is 0 */
        bool is_limited = now[i].limit != UINT64_MAX;
        bool is_root = now[i].path_len <= k->root;
        if (k->driver->version == 1) /* processes in a root without a limit are not the job's */
            kills += i == 0 || !is_root || is_limited ? here : 0;
        else if (i == 0 || is_limited)
            kills = here;
        if (is_limited)
            break;
    }
    return kills;
}

bool oom_kills_explain(struct oom_kills *k, char *limit, size_t n)
{
    struct level now[OOM_LEVELS];
    char size[16];
    size_t nlevels = read_levels(k, now), i = 0;
    while (i < nlevels && (now[i].limit == UINT64_MAX || now[i].count.hits <= k->was[i].hits))
        i++;
    if (i < nlevels)
        snprintf(limit, n, "cgroup '%.*s%s' reached its limit %s", (int)(now[i].path_len - k->root),
                 k->directory + k->root, now[i].path_len > k->root ? "" : "/",
                 size_format(now[i].limit, size, sizeof(size)));
    else
        snprintf(limit, n, "no limit was reached that can be seen, so the host itself had none");
    if (kills_since(k, now, nlevels) <= k->told)
        return false;
    k->told++;
    return true;
}

int oom_kills_describe_end(struct oom_kills *k, int status, char *buf, size_t n)
{
    char limit[256];
    bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (is_killed && oom_kills_explain(k, limit, sizeof(limit))) {
        snprintf(buf, n, OOM_KILLED " (%s)", limit);
        return EXIT_CODE_SIGNAL + SIGKILL;
    }
    if (WIFSIGNALED(status))
        snprintf(buf, n, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(buf, n, "ended with code %d", WEXITSTATUS(status));
    return EXIT_CODE_MPRUN;
}
