/* SPDX-License-Identifier: BSD-3-Clause */
/* holder.c - the process: what it waits for, and when it ends */
#include "starter/holder/holder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/processes/proc.h"
#include "model/rank-end.h"
#include "starter/holder/holder-private.h"
#include "starter/tunables.h"

/* Returns whether no step has an agent, or may ask for one. */
static bool is_idle(const struct holder *h)
{
    for (const struct agent *a = h->agents; a; a = a->next)
        if (a->starts)
            return false;
    for (const struct asker *a = h->askers; a; a = a->next)
        if (!a->is_over && !a->meets_number)
            return false;
    return true;
}

static void say_alive(struct holder *h)
{
    if (loop_now() - h->alive < AGENT_ALIVE_SECONDS)
        return;
    h->alive = loop_now();
    for (struct agent *a = h->agents; a; a = a->next)
        agent_tell(a, ++h->last_number, AGENT_GOES_ON, NULL, 0);
}

static void end_agents(struct holder *h)
{
    for (struct agent *a = h->agents; a; a = a->next)
        agent_end(a);
}

/* Sends BYE to mpruns whose step is over, once no agent is ending: then the manager has heard
 * everything of the step. */
static void let_go(struct holder *h)
{
    int stay = 0;
    for (const struct agent *a = h->agents; a; a = a->next, stay++)
        if (a->is_ending)
            return;
    if (!h->agents && h->clients) /* they mostly end with their agents */
        return;
    for (struct asker *a = h->askers; a; a = a->next)
        if (a->is_over && !a->waiting) {
            asker_tell(a, HOLDER_BYE, 0, stay, NULL, 0);
            a->is_gone |= !a->waiting;
        }
}

/* Ends agents that no step needs. Returns whether the holder has anything left to do. */
static bool look_after(struct holder *h)
{
    bool idle = is_idle(h);
    slots_offer(h);
    if (!idle)
        h->needed = loop_now();
    else if (h->keep >= 0 && (loop_now() - h->needed) * 1000 >= h->keep)
        end_agents(h);
    let_go(h);
    peers_remove_gone(h);
    return !idle || h->agents || h->askers || h->clients;
}

/* A manager that suspends the job stops the processes of its script, start clients included. mprun
 * then continues the holder (launcher/step/job-suspension.c), and the holder its clients. */
static volatile sig_atomic_t was_continued;

static void continued(int signo)
{
    was_continued = 1;
}

static void wake_clients(const struct holder *h)
{
    if (!was_continued)
        return;
    was_continued = 0;
    for (const struct agent *a = h->agents; a; a = a->next) {
        pid_t *children = NULL;
        if (a->client <= 1)
            continue;
        kill(a->client, SIGCONT);
        for (int i = 0, n = proc_children(a->client, &children); i < n; i++)
            kill(children[i], SIGCONT);
        free(children);
    }
}

enum { LISTENER, JOB, FIRST };

/* Returns whether the job goes on. */
static bool wait_and_serve(struct holder *h, int job_fd)
{
    struct polled *polled = &h->polled;
    polled->n = 0;
    polled_add(polled, h->is_full ? -1 : STDIN_FILENO, POLLIN); /* LISTENER, JOB */
    polled_add(polled, h->is_kept ? job_fd : -1, POLLIN);
    for (struct asker *a = h->askers; a; a = a->next)
        polled_add(polled, a->fd, a->waiting ? POLLIN | POLLOUT : POLLIN);
    for (struct agent *a = h->agents; a; a = a->next) {
        polled_add(polled, a->out.fd, POLLIN);
        polled_add(polled, a->err.fd, POLLIN);
    }
    for (struct client *c = h->clients; c; c = c->next)
        polled_add(polled, c->says.fd, POLLIN);
    const struct pollfd *p = polled->all;
    h->is_full = false;
    int rc = poll(polled->all, polled->n, (int)(AGENT_ALIVE_SECONDS * 1000)), why = errno;
    wake_clients(h);
    if (rc < 0)
        return why == EINTR;
    say_alive(h);
    size_t n = FIRST;
    struct agent *agents = h->agents; /* agents that come now were not polled */
    struct client *clients = h->clients;
    for (struct asker *a = h->askers; a; a = a->next, n++)
        if (p[n].revents) {
            asker_tell_waiting(a);
            asker_read(h, a);
        }
    for (struct agent *a = agents; a; a = a->next, n += 2) {
        if (p[n + 1].revents && a->err.fd >= 0 && !lines_read(&a->err, a))
            lines_close(&a->err);
        if (p[n].revents && a->out.fd >= 0)
            agent_read(a);
    }
    for (struct client *c = clients; c; c = c->next, n++)
        if (p[n].revents && !lines_read(&c->says, NULL))
            lines_close(&c->says);
    if (p[LISTENER].revents)
        asker_accept(h, STDIN_FILENO);
    peers_remove_gone(h);
    return look_after(h) && !p[JOB].revents;
}

static void take_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGXCPU};
    const struct sigaction on_continue = {.sa_handler = continued};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN); /* the manager may send them to all processes of the job */
    signal(SIGPIPE, SIG_IGN);        /* reading tells when a start client has ended */
    sigaction(SIGCONT, &on_continue, NULL);
}

/* The job is over: ends the agents, and their start clients with them. Until then `mprctl down`
 * still finds the holder, and waits. */
static void await_end(struct holder *h)
{
    double end = loop_now() + HOLDER_END_SECONDS;
    do
        end_agents(h);
    while ((h->agents || h->clients) && loop_now() < end && wait_and_serve(h, -1));
}

int holder_run(pid_t job)
{
    AUTO_CLOSE int job_fd = job > 0 ? (int)syscall(SYS_pidfd_open, job, 0) : -1;
    struct holder h = {.take_message = asker_take_message,
                       .needed = loop_now(),
                       .sees_end = job_fd >= 0,
                       .nfreed = 1};
    prctl(PR_SET_NAME, "mprun-holder");
    take_signals();
    if (!holder_listens_for(STDIN_FILENO, h.job))
        h.job[0] = 0;
    listen(STDIN_FILENO, SOMAXCONN); /* mprun has called it; again, so that peers see this pid */
    while (wait_and_serve(&h, job_fd))
        ;
    await_end(&h);
    free(h.polled.all);
    return EXIT_CODE_OK;
}
