/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/usage/idle-ranks.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/processes/proc.h"
#include "starter/links/uplink.h"
#include "starter/ranks/ranks.h"
#include "starter/services.h"
#include "starter/tunables.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

struct rank_activity {
    bool is_running;
    uint64_t ticks, bytes; /* CPU time and I/O of its processes so far */
    double since;          /* loop_now() of the last look that saw it do something */
    bool is_told;          /* mprun was told that it is idle */
    pid_t last;            /* pid of its last process */
};

/* ---- what a rank does ------------------------------------------------------------------------ */

static uint64_t io_bytes(pid_t pid)
{
    char path[40];
    struct proc_io io;
    snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && proc_io_read(fd, &io) == 0 ? io.read_chars + io.written_chars : 0;
}

static bool is_active(const struct idle_ranks *r, const struct rank_activity *before,
                      const struct rank_activity *now)
{
    double ticks = STUCK_CPU_PART * r->period * (double)sysconf(_SC_CLK_TCK);
    return now->bytes != before->bytes || now->ticks < before->ticks ||
           (double)(now->ticks - before->ticks) > ticks + 1;
}

/* Returns whether it has become idle, or active. */
static bool look(const struct idle_ranks *r, uint32_t local)
{
    struct rank_activity *a = &r->of[local], now = *a;
    AUTO_FREE pid_t *pids = NULL;
    int n = ranks_processes(r->with->ranks, local, &pids);
    struct proc_stat st;
    now.ticks = now.bytes = 0;
    now.is_running = n > 0;
    for (int i = 0; i < n; i++)
        if (proc_stat_read(pids[i], &st) == 0) {
            now.ticks += st.utime + st.stime;
            now.bytes += io_bytes(pids[i]);
            now.last = pids[i];
        }
    if (!a->is_running || is_active(r, a, &now))
        now.since = loop_now();
    now.is_told = now.is_running && loop_now() - now.since >= r->with->launch->step.stuck_time;
    bool has_changed = now.is_told != a->is_told;
    *a = now;
    return has_changed;
}

/* ---- what mprun is told ---------------------------------------------------------------------- */

static void pack(const struct idle_ranks *r, uint32_t local, Mprun__Idle__Rank *m,
                 Mprun__RankName *name, char *text, size_t n)
{
    struct proc_stat st = {.state = '?'};
    char where[64] = "";
    proc_stat_read(r->of[local].last, &st);
    proc_wchan(r->of[local].last, where, sizeof(where));
    snprintf(text, n, "%s is in state %c%s%s", st.comm, st.state, *where ? " in " : "", where);
    mprun__idle__rank__init(m);
    rank_name_pack(ranks_account(r->with->ranks, local).name, name);
    m->name = name;
    m->text = text;
}

static void tell(const struct idle_ranks *r)
{
    enum { TEXT = 160 };
    uint32_t n = r->with->ranks->n;
    Mprun__Idle m = MPRUN__IDLE__INIT;
    AUTO_FREE Mprun__Idle__Rank *ranks = must(calloc(n + 1, sizeof(*ranks)));
    AUTO_FREE Mprun__RankName *names = must(calloc(n + 1, sizeof(*names)));
    AUTO_FREE char *texts = must(calloc(n + 1, TEXT));
    AUTO_FREE Mprun__Idle__Rank **list = must(calloc(n + 1, sizeof(*list)));
    for (uint32_t i = 0; i < n; i++)
        if (r->of[i].is_told) {
            pack(r, i, &ranks[i], &names[i], texts + (size_t)i * TEXT, TEXT);
            list[m.n_ranks++] = &ranks[i];
        }
    m.ranks = list;
    m.active = r->active;
    uplink_send(r->with->up, FRAME_IDLE, &m.base);
}

/* Ranks that are suspended are neither idle nor active. */
static void let_time_stand_still(struct idle_ranks *r)
{
    for (uint32_t i = 0; i < r->with->ranks->n; i++)
        r->of[i].since += r->period;
}

static void look_at_all(void *arg)
{
    struct idle_ranks *r = arg;
    bool has_changed = false;
    uint32_t active = 0;
    if (r->with->ranks->suspended > 0) {
        let_time_stand_still(r);
        return;
    }
    for (uint32_t i = 0; i < r->with->ranks->n; i++) {
        has_changed |= look(r, i);
        active += r->of[i].is_running && !r->of[i].is_told;
    }
    has_changed |= (active == 0) != (r->active == 0);
    r->active = active;
    if (has_changed)
        tell(r);
}

/* ---- life ------------------------------------------------------------------------------------ */

void idle_ranks_begin(struct idle_ranks *r)
{
    double time = r->with->launch->step.stuck_time;
    if (time <= 0)
        return;
    r->of = must(calloc(r->with->ranks->n + 1, sizeof(*r->of)));
    r->active = r->with->ranks->n;
    r->period = time / STUCK_LOOKS;
    loop_timer_init(&r->timer, r->with->loop, look_at_all, r);
    loop_timer_start(&r->timer, r->period, r->period);
}

void idle_ranks_free(struct idle_ranks *r)
{
    loop_timer_stop(&r->timer);
    free(r->of);
}
