/* SPDX-License-Identifier: BSD-3-Clause */
/* quarantine-private.h - what the parts of quarantine share */
#pragma once

#include <dirent.h>

#include "common/loop.h"
#include "node-daemon/lib/ground.h"
#include "node-daemon/lib/mover-protocol.h"
#include "node-daemon/lib/watch-protocol.h"
#include "node-daemon/watch/process.h"
#include "node-daemon/watch/quarantine.h"

/* ---- claims.c: processes whose job front is asked for ---------------------------------------- */

/* There is room for so many only; who finds none is found again by a look at everything. */

enum { CLAIMS_MAX = 128 };

struct claim {
    uint64_t id; /* 0: free */
    struct process p;
    struct reader_request what;
    const char *how; /* it was found */
    double since;
    bool is_of_look;
};

struct claims {
    struct claim of[CLAIMS_MAX];
    size_t n;
    uint64_t last;
};

/* A new one, which takes p. NULL: there is no room. */
struct claim *claims_add(struct claims *c, const struct process *p,
                         const struct reader_request *what, const char *how, bool is_of_look);
struct claim *claims_find(struct claims *c, uint64_t id);
/* Is this process claimed already? */
bool claims_have(const struct claims *c, pid_t pid);
/* A claim that nobody has answered for so many seconds. NULL: there is none. */
struct claim *claims_old(struct claims *c, double seconds);
void claims_end(struct claims *c, struct claim *one);
void claims_clear(struct claims *c);

/* ---- contain.c: where a process is, and putting it into its job's cgroup --------------------- */

struct containment {
    struct start *start; /* with the link to the mover */
    struct ground ground;
};

/* The directory of the job that it is in: "" for none. 0, or -1: it has ended, or is in a cgroup
 * mprun.* directly below the ground, where it stays. */
int contain_where(const struct containment *c, const struct process *p, char dir[CGROUP_NAME_MAX]);
/* Put it there. 0, or -1 with err; ESRCH: it has ended. */
int contain_enter(const struct containment *c, const char *dir, const struct process *p,
                  struct error *err);
/* The same with what it has started, down to the last, but for who is in another job or in a step.
 * How many those were. */
size_t contain_below(const struct containment *c, const char *dir, pid_t top);

/* ---- quarantine.c, look.c -------------------------------------------------------------------- */

enum { DAEMONS = 8 };

struct watched {                  /* a manager */
    const struct conf_rule *rule; /* NULL: Grid Engine */
    struct program daemon, process;
    struct process seen[DAEMONS]; /* the last ones, for which the ground was made ready */
    unsigned nseen;
};

struct throttle { /* users can cause as many lines as they like */
    double told;
    unsigned untold; /* since then */
};

/* A task that has a directory. */
struct task {
    char job[GRANT_JOB_MAX], task[GRANT_JOB_MAX];
    gid_t group;
    enum { TASK_NEW, TASK_ASKED, TASK_KNOWN, TASK_FAILED } state; /* of what follows */
    char dir[CGROUP_NAME_MAX];                                    /* its job's */
    uid_t uid;                                                    /* its job's */
    bool has_ended; /* its job: what has its group and began before the look is left over */
};

/* A look at everything, some processes at a time. */
struct look {
    DIR *proc;       /* NULL: none is under way */
    double begin;    /* by loop_now(), and */
    double begin_up; /* in seconds since the host was started */
    enum { LOOK_ASKS, LOOK_WALKS, LOOK_WAITS /* for the last answers */ } state;
    uint64_t question; /* of the tasks */
    struct task *task;
    size_t tasks;
    size_t claims;           /* of it, under way */
    struct task *asked;      /* until this one is answered it goes no further */
    size_t processes, moved; /* so far */
    const char *again;       /* why there is to be another one after it; NULL: none is */
};

struct quarantine {
    struct loop *loop;
    const struct conf *conf;
    struct containment containment;
    int front; /* the link; -1: there is none now */
    struct loop_io *io;
    uint64_t questions;
    struct watched *watched;
    size_t n;
    double looked; /* when the programs' files were found */
    struct proc_events *events;
    bool hears;               /* quarantine is asked for */
    struct loop_timer minute; /* between looks at everything, whatever is heard */
    struct loop_defer renew;  /* of the link to front */
    struct claims claims;
    struct loop_timer patience; /* with claims that are not answered */
    struct loop_timer timer;    /* of the next look at everything, or turn of it */
    const char *why;            /* it is to be */
    struct look look;
    double scanned;
    unsigned long scans;
    struct throttle refusals, failures;
};

/* quarantine.c */
void quarantine_look_at_programs(struct quarantine *q);
/* Say it to front. 0; or -1: there is none, or it does not take more now. */
int quarantine_say(struct quarantine *q, struct watch_record *r, enum watch_op what, uint64_t id);
/* Look at what this process runs. -1: nothing of a manager's, as far as can be seen. */
int quarantine_look_at(struct quarantine *q, pid_t pid, const char *how, bool is_of_look);
/* Ask front for the job of p, which this takes. -1: it cannot be asked. */
int quarantine_claim(struct quarantine *q, struct process *p, const struct reader_request *what,
                     const char *how, bool is_of_look);
/* Put a process that was proven into its job's directory. 1: it was moved; -1: it cannot be. */
int quarantine_contain(struct quarantine *q, const struct process *p,
                       const struct reader_request *what, const char *dir, const char *how);

/* look.c */
/* At most one a second, and none while one is to come. */
void look_schedule(struct quarantine *q, const char *why);
/* A task that was asked for; or there are no others. */
void look_take_task(struct quarantine *q, const struct watch_record *r);
/* A claim of the look's was answered. moved: as of quarantine_contain(). NULL: not at all. */
void look_answered(struct quarantine *q, const struct claim *c, const struct watch_record *answer,
                   int moved);
/* It is given up. */
void look_drop(struct quarantine *q);
void look_init(struct quarantine *q);
