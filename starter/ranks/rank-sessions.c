/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ranks/rank-sessions.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "rm-adapters/starter-side/starter-side.h"
#include "starter/process-tree.h"
#include "starter/tunables.h"

static bool is_watching(const struct rank_sessions *s)
{
    return s->period > 0;
}

/* Does not wait for an answer, because the ranks would wait, too, at each further look. */
static void attach(struct rank_sessions *s, pid_t pid)
{
    struct error e;
    if (rm_starter_side_attach_session(pid, &e) == 0)
        return;
    log_warn(
        "%s; processes that ranks put into sessions of their own are not in the manager's books",
        e.text);
    rank_sessions_stop(s);
}

static void look(void *arg)
{
    struct rank_sessions *s = arg;
    struct pid_list seen = {0};
    pid_t *pids, own = getsid(0);
    int n = process_tree_pids(getpid(), &pids);
    for (int i = 0; i < n && is_watching(s); i++) {
        struct proc_stat st;
        if (proc_stat_read(pids[i], &st) < 0 || st.state == 'Z' || st.sid == own ||
            pids_have(seen.pids, seen.n, st.sid) || pid_list_add(&seen, st.sid) < 0)
            continue;
        if (!pids_have(s->known.pids, s->known.n, st.sid))
            attach(s, st.pid);
    }
    if (n > 0)
        free(pids);
    free(s->known.pids);
    s->known = seen;
    if (!is_watching(s))
        return;
    loop_timer_start(&s->timer, s->period, 0);
    s->period = s->period * 2 < SESSION_LOOK_SECONDS ? s->period * 2 : SESSION_LOOK_SECONDS;
}

void rank_sessions_init(struct rank_sessions *s, struct loop *loop)
{
    loop_timer_init(&s->timer, loop, look, s);
    if (!rm_starter_side_counts_sessions())
        return;
    s->period = SESSION_FIRST_LOOK_SECONDS;
    loop_timer_start(&s->timer, s->period, 0);
}

void rank_sessions_stop(struct rank_sessions *s)
{
    loop_timer_stop(&s->timer);
    s->period = 0;
    free(s->known.pids);
    s->known = (struct pid_list){0};
}

void rank_sessions_add(struct rank_sessions *s, pid_t pid)
{
    if (is_watching(s) && pid_list_add(&s->known, pid) == 0)
        attach(s, pid);
}
