/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.h - the worker of one host's starter: its parts, and the machine that drives them
 *
 *     worker.c        life of the process
 *     uplink.c        the link to the launcher, or to the host above
 *     frames.c        what each frame does
 *     host-machine.c  the states a host goes through, and what each event does in each
 *     tree.c          the hosts above and below, frames that are passed on
 *     orphan.c        what to do while the host above gives no answer
 *     contain.c       containment level, cgroups
 *     preload.c       files that are brought to this host and those below; cache.c what is kept,
 *                     preload-place.c where ranks find them
 *     pmi-link.c      mppmi and the messages with it
 *     ranks.c         start and end of ranks; rank-exec.c what a rank's process is given
 *     rank-io.c       pipes and credit
 *     ending.c        the kill ladder, and what is left behind
 *     sampler.c       samples of memory
 *     present.c       what the ranks use now
 *     errands.c       programs that are started for mprun beside the ranks
 */
#ifndef STARTER_WORKER_H
#define STARTER_WORKER_H

#include <sys/types.h>

#include "common/loop.h"
#include "common/reaper.h"
#include "plan/topology.h"
#include "starter/contain.h"
#include "starter/rank-io.h"
#include "starter/ranks.h"
#include "wire/host-directory.h"
#include "wire/link.h"
#include "wire/pack.h"
#include "wire/preamble.h"

struct errand;
struct orphan;
struct pmi_link;
struct preload;
struct tree;
struct ending;
struct sampler;

enum host_state {
    HOST_STARTING,  /* no answer of the launcher yet */
    HOST_CONNECTED, /* HELLO answered; waiting for LAUNCH */
    HOST_PREPARING, /* cgroups, topology, mppmi */
    HOST_LAUNCHING, /* ranks are being started */
    HOST_RUNNING,
    HOST_ENDING,   /* all ranks have ended, or are being killed */
    HOST_REPORTED, /* REPORT sent; removing files and cgroups */
    HOST_CLEANED,  /* CLEANED sent; waiting for RELEASE */
    HOST_STATE_COUNT,
};

struct worker {
    struct loop *loop;
    struct reaper *reaper;
    struct preamble start;
    char hostname[256];
    char directory_name[HOST_DIRECTORY_NAME]; /* of those it makes for the ranks */
    pid_t pid, keeper, launcher; /* launcher: its pid when it runs on this machine, else 0 */
    int keeper_fd;
    struct loop_io *keeper_io;
    struct link *up;       /* to mprun, or to the host above */
    struct link *first;    /* to mprun, until the host above is reached, and shortly after */
    struct link *joining;  /* to the host above, until it is proved */
    char own_address[64];  /* by which mprun was reached; "" on a Unix socket */
    char why_stdio[800];   /* no address of mprun answered: why */
    struct tree *tree;     /* NULL: no place yet */
    struct orphan *orphan; /* NULL: linked to mprun itself */
    enum host_state state;
    int exit_code;
    struct idset allowed; /* hardware threads of this process */
    int hello_waits;      /* for what the node daemon says */
    int have_launch;
    struct launch launch;
    const char *host_name;     /* as ranks see it */
    char directory[128];       /* private, on this host; "" before it is made */
    char shm_directory[128];   /* the same on /dev/shm */
    int directory_fd, shm_fd;  /* hold the locks on them */
    struct topology *topology; /* NULL: not needed */
    struct plan_binding binding;
    int cores_fd; /* core-ledger.h; the keeper has it, too; -1: no cores were taken */
    struct contain contain;
    struct preload *preload; /* NULL: nothing was offered */
    struct pmi_link *pmi;    /* NULL: no PMI */
    struct rank_io *io;
    struct ranks ranks;
    struct ending *ending;
    struct sampler *sampler;
    struct errand *errands;
    struct loop_defer *step; /* drives the machine */
    struct rusage orphans;   /* of processes no rank could be named for */
    uint64_t norphans;
    int cancelled; /* the step was to end before ranks were started */
    int stopped;   /* no rank is to be started before SIGCONT */
};

/* worker.c: the worker's whole life; the key in *start is wiped. */
int worker_run(pid_t keeper, int keeper_fd, struct preamble *start, const char *hostname);
/* Stop the loop and end with this code. */
void worker_exit(struct worker *w, int code);
/* Tell the launcher that the step cannot be run here; goes on to the end of the step. */
void worker_cannot_run(struct worker *w, int exit_code, const char *text);

/* fault_point() (common/fault.h), once what was said to the launcher has gone out. */
void worker_fault_point(struct worker *w, const char *phase);

/* host-machine.c: called when anything has changed; does what is due in the present state. */
void host_machine_step(struct worker *w);
void host_machine_launch(struct worker *w);   /* LAUNCH has come */
void host_machine_prepared(struct worker *w); /* a part of the preparation is done */
const char *host_machine_tmpdir(const struct worker *w);
const char *host_state_text(enum host_state s);

/* ending.c */
struct ending *ending_create(struct worker *w);
void ending_destroy(struct ending *e);
/* TERM now, KILL after grace seconds; a second call with a shorter grace wins. */
void ending_kill(struct worker *w, double grace, const char *why);
int ending_begun(const struct worker *w);
/* All ranks have ended: kill what they left behind; the machine is stepped when nothing is left. */
void ending_leftovers(struct worker *w);
int ending_nothing_left(const struct worker *w);
void ending_signal(struct worker *w, int signo);
/* Remove cgroups and directories, retrying for a while; the machine is stepped when done. */
void ending_clean(struct worker *w);
int ending_cleaned(const struct worker *w);
void ending_send_cleaned(struct worker *w);
void ending_send_report(struct worker *w);

#endif
