/* SPDX-License-Identifier: BSD-3-Clause */
/* qlogin-session.c - a session of Grid Engine: qlogin, or qrsh without a command
 *
 * Its shell is a login shell without the job's variables. One of the shell's ancestors is the job's
 * shepherd, whose name has the job's number ("sge_shepherd-12"). The variables stand in the file
 * `environment` of the job's spool directory on this host, which everybody may read. */
#include "rm-adapters/gridengine/qlogin-session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/processes/proc.h"
#include "common/processes/spawn.h"
#include "rm-adapters/hosts/requested-hosts.h"
#include "rm-adapters/tunables.h"
#include "rm-adapters/processes/ask-manager.h"

enum { ENVIRONMENT_MAX = 1 << 20 }; /* bytes */

/* ---- which job ------------------------------------------------------------------------------- */

static unsigned job_of_shepherd(pid_t pid)
{
    char path[32], line[64];
    unsigned job;
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    /* as far as its first NUL */
    if (file_read_at(AT_FDCWD, path, line, sizeof(line)) <= 0 ||
        sscanf(line, "sge_shepherd-%u", &job) != 1)
        return 0;
    return job;
}

static unsigned find_job(pid_t *ret_shepherd)
{
    struct proc_stat st = {.ppid = getppid()};
    for (int i = 0; i < SESSION_ANCESTORS_MAX && st.ppid > 1; i++) {
        if (proc_stat_read(st.ppid, &st) < 0)
            break;
        unsigned job = strcmp(st.comm, "sge_shepherd") == 0 ? job_of_shepherd(st.pid) : 0;
        if (job > 0) {
            *ret_shepherd = st.pid;
            return job;
        }
    }
    return 0;
}

unsigned gridengine_session_job(pid_t *ret_shepherd)
{
    static bool is_known;
    static unsigned job;
    static pid_t shepherd;
    if (!is_known)
        job = find_job(&shepherd);
    is_known = true;
    *ret_shepherd = shepherd;
    return job;
}

/* ---- its variables --------------------------------------------------------------------------- */

static bool is_of_a_job(const char *name, size_t n)
{
    static const char *const names[] = {
        "ARC",    "ENVIRONMENT", "JOB_ID",      "JOB_NAME", "JOB_SCRIPT", "NHOSTS",    "NQUEUES",
        "NSLOTS", "PE",          "PE_HOSTFILE", "QUEUE",    "REQUEST",    "RESTARTED", "TMPDIR",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
            return true;
    return n > 4 && memcmp(name, "SGE_", 4) == 0;
}

size_t gridengine_session_adopt(char *text)
{
    size_t n = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *equals = strchr(line, '=');
        if (!equals || !is_of_a_job(line, (size_t)(equals - line)))
            continue;
        *equals = 0;
        n += !getenv(line) && setenv(line, equals + 1, 0) == 0;
    }
    return n;
}

/* execd_spool_dir, of this host's configuration or of all hosts'. */
static int ask_spool(const char *qconf, const char *host, char *ret, size_t n, struct error *err)
{
    static const char KEY[] = "execd_spool_dir";
    const char *words[] = {"qconf", "-sconf", host, NULL};
    char said[16384];
    if (ask_command(qconf, (char *const *)(uintptr_t)words, QCONF_SPOOL_SECONDS, said, sizeof(said),
                    err) < 0)
        return error_context(err, "'qconf -sconf'");
    error_set(err, EPROTO, "'qconf -sconf' does not say where execd_spool_dir is");
    char *line = strstr(said, KEY);
    if (!line || (line != said && line[-1] != '\n'))
        return -1;
    line += sizeof(KEY) - 1;
    line += strspn(line, " \t");
    line[strcspn(line, " \t\n")] = 0;
    if (line[0] != '/' || strlen(line) >= n)
        return -1;
    strcpy(ret, line);
    return 0;
}

static int find_spool(char *ret, size_t n, char *host, size_t nhost, struct error *err)
{
    AUTO_FREE char *qconf = NULL;
    if (named_self(host, nhost, err) < 0 || spawn_resolve("qconf", environ, NULL, &qconf, err) < 0)
        return -1;
    if (ask_spool(qconf, host, ret, n, err) == 0)
        return 0;
    return err->code == ETIMEDOUT ? -1 : ask_spool(qconf, NULL, ret, n, err);
}

int gridengine_session_enter(unsigned job, struct error *err)
{
    char spool[1024], host[256], path[1400];
    struct error why;
    AUTO_FREE char *text = NULL;
    if (find_spool(spool, sizeof(spool), host, sizeof(host), &why) == 0) {
        host[strcspn(host, ".")] = 0; /* the directory has the short name */
        snprintf(path, sizeof(path), "%s/%s/active_jobs/%u.1/environment", spool, host, job);
        text = file_slurp_at(AT_FDCWD, path, ENVIRONMENT_MAX, NULL);
        if (text && gridengine_session_adopt(text) > 0)
            return 0;
        error_errno(&why, text ? EPROTO : errno, "read '%s'", path);
    }
    return error_set(err, ENOENT,
                     "this is a session of job %u of Grid Engine, but what the job was granted "
                     "cannot be found (%s); have $SGE_ROOT/$SGE_CELL/common/settings.sh read by "
                     "your shell, or start mprun as a command: 'qrsh -pe ... mprun ...'",
                     job, why.text);
}
