/* SPDX-License-Identifier: BSD-3-Clause */
/* stack-traces.c - a rank's text has no addresses and no pids, so that ranks in the same place have
 * the same text:
 *     solver, state S in futex_wait_queue
 *       #0 poll
 *       #1 main
 *       another thread
 *       #0 ... */
#include "starter/tools/stack-traces.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/processes/proc.h"
#include "common/processes/spawn.h"
#include "common/text/words.h"
#include "starter/links/uplink.h"
#include "starter/ranks/ranks.h"
#include "starter/services.h"
#include "starter/tunables.h"
#include "wire/messages/frame.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

enum { TEXT_MAX = 64 * 1024, LINE_MAX_ = 400 };

struct trace { /* of a rank */
    struct stack_traces *all;
    struct host_tool tool;
    struct rank_name name;
    pid_t *pids; /* processes of the rank; the ones from `next` on are still to be traced */
    int npids, next;
    char line[LINE_MAX_];
    size_t nline;
    unsigned nthreads; /* of this process, so far */
    char *text;
    size_t n;
};

/* ---- text ------------------------------------------------------------------------------------ */

static void add(struct trace *t, const char *indent, const char *line)
{
    size_t n = strlen(indent) + strlen(line) + 1;
    if (t->n + n >= TEXT_MAX)
        return;
    t->text = must(realloc(t->text, t->n + n + 1));
    t->n += (size_t)sprintf(t->text + t->n, "%s%s\n", indent, line);
}

/* "#1  0x00007f5c in main () at a.c:3" without the address. */
static void add_frame(struct trace *t, const char *line)
{
    char text[LINE_MAX_ + 8];
    size_t n = 1 + strspn(line + 1, "0123456789");
    const char *rest = line + n + strspn(line + n, " ");
    if (rest[0] == '0' && rest[1] == 'x') {
        rest += 2 + strspn(rest + 2, "0123456789abcdef");
        rest += strspn(rest, " ");
        rest += strncmp(rest, "in ", 3) == 0 ? 3 : 0;
    }
    snprintf(text, sizeof(text), "%.*s %s", (int)n, line, *rest ? rest : "?");
    add(t, "  ", text);
}

static void take_line(struct trace *t)
{
    t->line[t->nline] = 0;
    t->nline = 0;
    text_make_printable(t->line, strlen(t->line));
    if (t->line[0] == '#' && isdigit((unsigned char)t->line[1]))
        add_frame(t, t->line);
    else if (strncmp(t->line, "TID ", 4) == 0 || strncmp(t->line, "Thread ", 7) == 0) {
        if (t->nthreads++)
            add(t, "  ", "another thread");
    } else if (strstr(t->line, "not permitted") || strstr(t->line, "ptrace"))
        add(t, "  ", t->line);
}

static void said(void *arg, const char *p, size_t n)
{
    struct trace *t = arg;
    for (; n > 0; p++, n--) {
        if (*p == '\n')
            take_line(t);
        else if (t->nline < sizeof(t->line) - 1)
            t->line[t->nline++] = *p;
    }
}

/* ---- one process ----------------------------------------------------------------------------- */

static void add_heading(struct trace *t, pid_t pid)
{
    struct proc_stat st;
    char where[64] = "", text[200];
    if (proc_stat_read(pid, &st) < 0)
        return;
    proc_wchan(pid, where, sizeof(where));
    snprintf(text, sizeof(text), "%s, state %c%s%s", st.comm, st.state, *where ? " in " : "",
             where);
    add(t, "", text);
}

static int start(struct trace *t, pid_t pid, struct error *err)
{
    struct stack_traces *s = t->all;
    char number[16];
    const char *const eu_stack[] = {"eu-stack", "-n", "64", "-p", number, NULL};
    const char *const gdb[] = {"gdb",
                               "-nx",
                               "-batch",
                               "-iex",
                               "set debuginfod enabled off",
                               "-ex",
                               "thread apply all bt 64",
                               "-p",
                               number,
                               NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin", NULL}; /* without servers of debug symbols */
    struct spawn sp;
    snprintf(number, sizeof(number), "%d", (int)pid);
    spawn_init(&sp);
    sp.path = s->program;
    sp.argv = (char *const *)(uintptr_t)(s->is_gdb ? gdb : eu_stack);
    sp.envp = (char *const *)(uintptr_t)env;
    t->nthreads = 0;
    return host_tool_start(&t->tool, s->with, &sp, STACK_TRACE_SECONDS, err);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static void send(struct stack_traces *s, const struct trace *t, bool is_last)
{
    Mprun__Stacks m = MPRUN__STACKS__INIT;
    Mprun__RankName name;
    m.turn = s->turn;
    m.is_last = is_last;
    if (t) {
        rank_name_pack(t->name, &name);
        m.name = &name;
        m.text = (ProtobufCBinaryData){t->n, (uint8_t *)t->text};
    }
    uplink_send(s->with->up, FRAME_STACKS, &m.base);
}

static void trace_free(struct trace *t)
{
    host_tool_forget(&t->tool);
    free(t->pids);
    free(t->text);
    free(t);
}

static void fill(struct stack_traces *s);

/* Traces the rank's next process; false: there is none. */
static bool go_on(struct trace *t)
{
    struct error e;
    while (t->next < t->npids) {
        pid_t pid = t->pids[t->next++];
        add_heading(t, pid);
        if (!t->all->program)
            add(t, "  ", "no stack: neither eu-stack (package elfutils) nor gdb is on this host");
        else if (start(t, pid, &e) == 0)
            return true;
        else
            add(t, "  ", e.text);
    }
    return false;
}

static void ended(void *arg, int status)
{
    struct trace *t = arg;
    if (t->nline)
        take_line(t);
    if (t->all->with && !go_on(t))
        fill(t->all);
}

static struct trace *trace_create(struct stack_traces *s, struct rank_account rank, uint32_t local)
{
    struct trace *t = must(calloc(1, sizeof(*t)));
    t->all = s;
    t->name = rank.name;
    t->tool = (struct host_tool){.said = said, .ended = ended, .arg = t, .fd = -1};
    t->npids = ranks_processes(s->with->ranks, local, &t->pids);
    if (t->npids < 0)
        t->npids = 0;
    if (t->npids > STACK_TRACE_PROCESSES)
        t->npids = STACK_TRACE_PROCESSES;
    return t;
}

/* Starts as many traces as may run at once, and sends finished ones. */
static void fill(struct stack_traces *s)
{
    bool is_any = false;
    for (size_t i = 0; i < TRACES_AT_ONCE; i++) {
        struct trace **t = &s->running[i];
        while (!*t || !(*t)->tool.pid) {
            if (*t && (*t)->n)
                send(s, *t, false);
            if (*t)
                trace_free(take_ptr(*t));
            if (s->next == s->with->ranks->n)
                break;
            uint32_t local = s->next++;
            *t = trace_create(s, ranks_account(s->with->ranks, local), local);
            go_on(*t);
        }
        is_any |= *t != NULL;
    }
    if (!is_any)
        send(s, NULL, true);
}

static void find_program(struct stack_traces *s)
{
    if (s->program)
        return;
    s->is_gdb = spawn_resolve("eu-stack", environ, "/", &s->program, NULL) < 0;
    if (s->is_gdb && spawn_resolve("gdb", environ, "/", &s->program, NULL) < 0)
        s->program = NULL;
}

static bool is_busy(const struct stack_traces *s)
{
    for (size_t i = 0; i < TRACES_AT_ONCE; i++)
        if (s->running[i])
            return true;
    return false;
}

void stack_traces_ask(struct stack_traces *s, uint32_t turn)
{
    s->turn = turn; /* traces under way answer this question, too */
    if (is_busy(s))
        return;
    s->next = 0;
    find_program(s);
    fill(s);
}

void stack_traces_free(struct stack_traces *s)
{
    for (size_t i = 0; i < TRACES_AT_ONCE; i++)
        if (s->running[i])
            trace_free(take_ptr(s->running[i]));
    free(s->program);
}
