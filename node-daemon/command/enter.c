/* SPDX-License-Identifier: BSD-3-Clause */
/* enter.c - `mprund enter`: for prologs of managers that mprund does not know, and by hand */
#include "node-daemon/command/command.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/text/number.h"

static int find_user(const char *user, uint32_t *ret, struct error *err)
{
    struct passwd *pw = getpwnam(user);
    int64_t uid = pw ? (int64_t)pw->pw_uid : 0;
    if (!pw && number_parse(user, "--user", 1, UINT32_MAX - 1, &uid, err) < 0)
        return error_set(err, EINVAL, "--user %s: there is no such user, and it is no number",
                         user);
    *ret = (uint32_t)uid;
    return 0;
}

int enter_and_exec(const struct mprund_options *o, struct error *err)
{
    struct grant_request q;
    struct grant_answer a;
    grant_request_init(&q, GRANT_ENTER, GRANT_SITE);
    snprintf(q.job, sizeof(q.job), "%s", o->job);
    q.memory = o->memory;
    q.pids = o->pids;
    q.cores = o->cores;
    q.gpus = o->gpus;
    if (find_user(o->user, &q.uid, err) < 0)
        return -1;
    int fd = grant_send(NULL, &q, err);
    int rc = fd < 0 ? -1 : grant_receive(fd, GRANT_ANSWER_S, &a, err);
    cleanup_close(&fd);
    if (rc < 0)
        return error_context(err, "enter job %s", o->job);
    if (a.result != GRANT_OK)
        return error_set(err, EPERM, "enter job %s: mprund says: %s", o->job, a.text);
    execvp(o->command[0], o->command);
    return error_errno(err, errno, "exec '%s'", o->command[0]);
}
