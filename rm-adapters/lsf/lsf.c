/* SPDX-License-Identifier: BSD-3-Clause */
/* lsf.c - a job of LSF: its hosts from the files and variables of the job, reached by blaunch
 *
 * As IBM's manual of LSF 10.1 describes them; none of it was observed. LSB_DJOB_RANKFILE has a line
 * for each rank, without a launch node that is to have none; LSB_DJOB_HOSTFILE a line for each
 * slot; LSB_MCPU_HOSTS, "n1 4 n2 2", is for want of both. LSB_AFFINITY_HOSTFILE has a line for each
 * slot too, with the processors that LSF has bound it to: "n1 0,1 ...". */
#include "rm-adapters/adapter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/processes/spawn.h"
#include "rm-adapters/hosts/requested-hosts.h"
#include "rm-adapters/processes/start-many.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* Variable that tells of the hosts; NULL: none does. */
static const char *host_variable(void)
{
    static const char *const names[] = {"LSB_DJOB_RANKFILE", "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (variable(names[i]))
            return names[i];
    return NULL;
}

static bool is_file(const char *name)
{
    return strcmp(name, "LSB_MCPU_HOSTS") != 0;
}

static bool lsf_detect(const struct host_request *request, char *reason, size_t n)
{
    const char *job = variable("LSB_JOBID");
    const char *hosts = host_variable();
    reason[0] = 0;
    if (job && hosts)
        snprintf(reason, n, "this is job %.40s of LSF (LSB_JOBID, %s)", job, hosts);
    else if (job)
        snprintf(reason, n, "neither LSB_DJOB_HOSTFILE nor LSB_MCPU_HOSTS is set");
    return job && hosts;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* "n1 4 n2 2" */
static int read_counts(const char *text, struct hostlist *l, struct error *err)
{
    AUTO_FREE char *copy = must(strdup(text));
    char *rest = copy, *name, *count;
    int64_t n;
    while ((name = strtok_r(rest, " ", &rest))) {
        if (!(count = strtok_r(rest, " ", &rest)))
            return error_set(err, EINVAL, "LSB_MCPU_HOSTS is '%.80s': no number after '%.40s'",
                             text, name);
        if (number_parse(count, "LSB_MCPU_HOSTS", 1, HOSTLIST_SLOTS_MAX, &n, err) < 0 ||
            hostlist_add_slots(l, name, (uint32_t)n, "LSB_MCPU_HOSTS", err) < 0)
            return -1;
    }
    return 0;
}

/* Calls fn with the first word of each line, and the rest of it. */
static int each_line(const char *name, struct hostlist *l,
                     int (*fn)(struct hostlist *l, const char *host, char *rest, struct error *err),
                     struct error *err)
{
    size_t n;
    AUTO_FREE char *text = file_slurp_at(AT_FDCWD, variable(name), HOSTFILE_MAX, &n);
    if (!text)
        return error_errno(err, errno, "read %s '%s'", name, variable(name));
    if (memchr(text, 0, n))
        return error_set(err, EINVAL, "%s '%s' is no text: it has a NUL byte", name,
                         variable(name));
    char *lines = text;
    for (char *line; (line = strsep(&lines, "\n"));) {
        char *host = strtok_r(line, " \t\r", &line);
        if (host && fn(l, host, line, err) < 0)
            return error_context(err, "%s", name);
    }
    return 0;
}

static int add_slot(struct hostlist *l, const char *host, char *rest, struct error *err)
{
    return hostlist_add_slots(l, host, 1, host_variable(), err);
}

static int add_processors(struct hostlist *l, const char *host, char *rest, struct error *err)
{
    struct alloc_host *h = hostlist_find(l, host);
    const char *list = strtok_r(rest, " \t\r", &rest);
    AUTO(idset_free) struct idset set = {0};
    if (!h || !list)
        return 0;
    if (idset_parse(list, &set, err) < 0)
        return -1;
    idset_unite(&h->cores, &set);
    h->cores_known = 1;
    snprintf(h->cores_source, sizeof(h->cores_source), "LSB_AFFINITY_HOSTFILE");
    return 0;
}

static int read_granted(struct hostlist *l, struct error *err)
{
    const char *hosts = host_variable();
    int rc =
        is_file(hosts) ? each_line(hosts, l, add_slot, err) : read_counts(variable(hosts), l, err);
    if (rc == 0 && variable("LSB_AFFINITY_HOSTFILE"))
        rc = each_line("LSB_AFFINITY_HOSTFILE", l, add_processors, err);
    if (rc == 0 && l->allocation.nhosts == 0)
        rc = error_set(err, EINVAL, "%s, '%.200s', names no host", hosts, variable(hosts));
    return rc;
}

static int lsf_read_allocation(const struct host_request *request, struct allocation *ret,
                               struct error *err)
{
    AUTO(hostlist_free) struct hostlist granted = {.stated = 0};
    char reason[200];
    if (request->argument)
        return error_set(err, EINVAL, "'--rm lsf' takes no ':%.60s'", request->argument);
    if (!lsf_detect(request, reason, sizeof(reason)))
        return error_set(err, EINVAL, "%s; start mprun from a job of bsub",
                         reason[0] ? reason : "LSB_JOBID is not set");
    if (read_granted(&granted, err) < 0 ||
        named_cut(request, &granted, variable("LSB_JOBID"), err) < 0)
        return -1;
    *ret = hostlist_take(&granted);
    snprintf(ret->job_id, sizeof(ret->job_id), "%.40s", variable("LSB_JOBID"));
    const char *configuration = variable("LSF_ENVDIR");
    snprintf(ret->cluster, sizeof(ret->cluster), "%s", configuration ? configuration : "");
    snprintf(ret->more, sizeof(ret->more), "bsub -n");
    for (size_t i = 0; i < ret->nhosts; i++)
        ret->hosts[i].granted = ret->hosts[i].slots.value;
    named_mark_here(ret);
    return 0;
}

/* ---- start ----------------------------------------------------------------------------------- */

enum { WORDS = 4 };

static void make_words(const struct start_request *r, const struct alloc_host *host,
                       const char *words[WORDS])
{
    words[0] = "blaunch";
    words[1] = host->name;
    words[2] = r->remote_path;
    words[3] = NULL;
}

static int open_host(struct starting *s, size_t i, struct start_channel *ret, struct error *err)
{
    const struct start_request *r = fanout_request(s);
    const char *words[WORDS];
    make_words(r, &r->allocation->hosts[i], words);
    return fanout_client(s, i, fanout_arg(s), (char *const *)(uintptr_t)words, ret, err);
}

static struct starting *lsf_start(const struct start_request *request, struct error *err)
{
    static const struct fanout_way way = {.open = open_host, .destroy = free};
    char *path;
    if (spawn_resolve("blaunch", environ, NULL, &path, err) < 0)
        return error_null(error_context(err, "find LSF's blaunch"));
    return fanout_begin(request, &way, path);
}

static void lsf_describe(const struct start_request *request, const struct alloc_host *host,
                         char *buf, size_t n)
{
    snprintf(buf, n, "by blaunch %s %s", host->name, request->remote_path);
}

static const char *const host_env[] = {"TMPDIR", "CUDA_VISIBLE_DEVICES", NULL};
static const char *const parents[] = {"res", "sbatchd", NULL};

const struct rm_adapter rm_adapter_lsf = {
    .name = "lsf",
    .detect = lsf_detect,
    .parents = parents,
    .read_allocation = lsf_read_allocation,
    .start = lsf_start,
    .cancel = fanout_cancel,
    .destroy = fanout_destroy,
    .reported = fanout_reported,
    .hand_over = fanout_hand_over,
    .retry = fanout_again,
    .abandon = fanout_abandon,
    .describe = lsf_describe,
    .client_name = "blaunch",
    .lost_code = 255,
    .host_env = host_env,
    .stdio_channel = STDIO_PER_HOST,
    .ends_hosts = "; it may be LSF that did so, at a limit of the job ('bjobs -l $LSB_JOBID' shows "
                  "them), or for bkill",
};
