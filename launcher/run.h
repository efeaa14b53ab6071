/* SPDX-License-Identifier: BSD-3-Clause */
/* run.h - one step as the launcher sees it: its parts, and the machine that drives them
 *
 *     main.c          phases of the program
 *     setup.c         what is to be run: allocation, plan, step
 *     home.c          the directory of the step's sockets
 *     step-machine.c  the states a step goes through
 *     explain.c       what is printed instead of running
 *     start-channel.c standard input and output of a start client
 *     starting.c      the start of all hosts: what the adapter is told, and its end
 *     starters.c      each host's start client and link as they come and go
 *     start-client.c  what is said of a start client's end
 *     start-words.c   what start clients say
 *     sweep.c         what a starter that died has left on this machine
 *     progress.c      who has not reported back yet
 *     door.c          where the launcher listens
 *     arrivals.c      who comes in there
 *     agents.c        the states of hosts' starters
 *     tree.c          through whom each host is reached
 *     orphans.c       hosts that get no answer of the host above
 *     host-list.c     several hosts in a message
 *     hosts.c         what each frame of a host does
 *     silent.c        whose starters say nothing
 *     failed.c        hosts that fail
 *     ends.c          how ranks ended, the first failure, the exit code
 *     signals.c       what mprun's own signals mean
 *     present.c       what all ranks use now
 *     suspension.c    the manager has stopped mprun, and not the ranks
 *     preload.c       files that are brought to the hosts before the step; preload-files.c which,
 *                     libraries.c what a program needs
 *     collect.c       collectives and data exchange between hosts
 *     control.c       the step's control socket
 *     errands.c       programs that hosts' starters start for mprun
 *     through.c       hosts that are started by others
 *     handing.c       hosts that the manager has no room on now; guests.c those of another mprun
 *     output.c input.c report*.c
 */
#ifndef LAUNCHER_RUN_H
#define LAUNCHER_RUN_H

#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "common/loop.h"
#include "common/reaper.h"
#include "launcher/cmdline.h"
#include "launcher/input.h"
#include "launcher/output.h"
#include "launcher/report.h"
#include "model/allocation.h"
#include "model/outcome.h"
#include "model/step.h"
#include "plan/plan.h"
#include "rm-adapters/adapter.h"
#include "wire/await.h"
#include "wire/link.h"
#include "wire/listen.h"
#include "wire/pack.h"
#include "wire/preamble.h"

struct run;
struct collect;
struct control;
struct errand;
struct grants_asked;
struct guest;
struct handing;
struct neighbour;
struct heartbeat;
struct preload;
struct present;
struct suspension;

/* of a host's starter */
enum agent_state {
    AGENT_UNUSED,    /* no rank is placed there: never started */
    AGENT_WAITING,   /* its start has not begun */
    AGENT_STARTED,   /* the start client runs */
    AGENT_CONNECTED, /* HELLO came */
    AGENT_PLACED,    /* it has its place in the tree */
    AGENT_LAUNCHED,  /* LAUNCH was sent */
    AGENT_READY,     /* contained and bound; ranks are being started */
    AGENT_REPORTED,
    AGENT_CLEANED,
    AGENT_RELEASED,
    AGENT_GONE, /* link and start client have ended */
    AGENT_STATE_COUNT,
};

enum silence { HEARD, SILENT_UNSAID, SILENT, BACK_UNSAID };

struct host {
    struct run *run;
    uint32_t index; /* in the allocation */
    const char *name;
    enum agent_state state;
    struct link *link;  /* its own; NULL: reached through the host above it (host_link()) */
    struct link *first; /* its own, after it is reached through another, until all of it is read */
    struct link *side;  /* while it gets no answer of the host above; else NULL */
    int told;           /* by that, that the step ends: it goes without further words */
    struct link *frame_link; /* by which the present frame came */
    int left_first;          /* it has said its last word on the first one */
    int below;               /* it has joined the host above, and ends with it */
    char *door;              /* where the hosts below it connect; NULL: not known */
    int channel_open;        /* the start client runs, or what another mprun was asked for */
    int worker_over;         /* nothing but its link may still tell of it */
    pid_t client_pid;
    int is_starter; /* the client is mpstarter itself */
    int terminal;   /* the start channel is one */
    int in_fd;      /* start channel's stdin until HELLO, where it may become the link; of a
                       terminal to the end */
    int out_fd;     /* start channel's stdout until HELLO */
    struct loop_io *out_io;
    int is_ready;         /* mpstarter has said so on it, and has been told what it has to know */
    struct await awaited; /* what it may say next */
    struct start_words *words; /* of the start channel's stderr; NULL: none, or it is mprun's own */
    unsigned waited;           /* ticks since its first start client began */
    int no_room;               /* the manager had none, so far at least once */
    int waits;                 /* for room */
    struct neighbour *asked;   /* to have it started; no answer yet */
    struct neighbour *handed;  /* has it started; no HELLO yet */
    int stray;                 /* a starter may come that another mprun has started after all */
    char handed_to[64];        /* the step whose starter has started it; "": none */
    uint32_t errand;           /* of the host above, which starts it; 0: none */
    int direct;                /* it is for mprun to start, although there is a host above */
    unsigned nguests;          /* other steps' starters that live with it */
    uint32_t first_rank, nranks, started, ended;
    int launch_index;     /* among the hosts that have ranks: its number on the wire */
    int failed;           /* its starter died; counted */
    int cancelled;        /* its start: what it comes to then is no failure */
    int listed;           /* in the sentence about hosts that failed */
    int lost;             /* nothing can be sent to it, or to those below it */
    enum silence silence; /* of its starter */
    float silent_for;     /* seconds */
    char *kernel_name, *version, *allowed_threads; /* as HELLO had them */
    uint64_t memory;                               /* bytes of the machine */
    uint64_t worker_pid, keeper_pid;
    char **cgroup_paths, **directories; /* what a sweep has to remove; NULL-terminated */
    char *tracking_reason, *cgroup_kind;
    struct report_host report;
};

enum step_state {
    STEP_STARTING,   /* starters are being started */
    STEP_PRELOADING, /* files are brought to the hosts */
    STEP_LAUNCHING,  /* LAUNCH was sent, not every rank runs */
    STEP_RUNNING,
    STEP_ENDING,    /* all ranks have ended, or are being ended; reports are awaited */
    STEP_CLEANING,  /* every host reported; CLEANED is awaited */
    STEP_RELEASING, /* starters are told to go */
    STEP_DONE,
    STEP_STATE_COUNT,
};

enum suspension_cause {
    LOOK_CHILD,     /* has changed its state */
    LOOK_TICK,      /* a second has gone */
    LOOK_CONTINUED, /* mprun was, or so it was told */
};

enum { DOORS_MAX = 8 };

struct run {
    struct loop *loop;
    struct reaper *reaper;
    struct cmdline cmd;
    int argc;
    char **argv;
    int as_mpirun; /* called by the name of another launcher */
    const struct rm_adapter *adapter;
    char adapter_reason[256];
    struct allocation alloc;
    struct allocation used;            /* its hosts that have ranks; borrows their contents */
    struct grants_asked *grants_asked; /* NULL: mprund was not asked, or has answered */
    char **grants; /* of each host of `used`: "NAME=VALUE" for its starter; NULL: none */
    struct plan plan;
    struct step step;
    uint8_t key[LINK_KEY];
    char directory[256]; /* sockets of this step; "" before it is made */
    int directory_fd;    /* holds the lock on it */
    char addresses[1200];
    enum transport transport;
    int same_machine;   /* all hosts that have ranks are the one that mprun runs on */
    char *starter_path; /* mpstarter beside this program */
    char *remote_path;  /* and on other machines */
    struct listener *listeners[DOORS_MAX];
    size_t nlisteners;
    struct starting *starting;
    enum step_state state;
    struct loop_defer *machine;
    struct host *hosts;
    struct host **launched; /* those with ranks, by launch_index */
    pid_t *foreign;         /* children that mprun was started with: not the step's */
    int nforeign;
    size_t nhosts, nused;    /* used: those with ranks */
    size_t nsessions;        /* hosts whose starters a login has put into a session of its own */
    int starts_through;      /* hosts start those below them */
    struct handing *handing; /* NULL: the manager had room for all so far */
    struct errand *errands;
    uint32_t last_errand;
    struct guest *guests;
    size_t nfallback;        /* hosts that use their start channels because nothing else answers */
    char fallback_text[900]; /* the first of them, and why */
    int unsettled;           /* a worker has ended, or a link: of which hosts is nothing left? */
    size_t nreported;        /* hosts whose HELLO has come */
    size_t agents[AGENT_STATE_COUNT];
    struct report_launch launch;
    uint64_t nframes;             /* that hosts have sent */
    uint32_t fanout;              /* of the tree; 0: all hosts are linked to mprun itself */
    struct placement *placements; /* of the used hosts */
    struct output *output;
    struct input *input;
    struct {
        int taken; /* it is raw now, for the rank that has a terminal */
        struct termios before;
    } terminal;
    struct collect *collect;
    struct heartbeat *heartbeat; /* NULL: not wanted */
    struct loop_timer *silent_timer;
    struct host *first_failed;
    struct loop_timer *failed_timer; /* runs while others may fail with it */
    int failed_due;
    double failed_until; /* loop_now(): it runs no longer, whatever is not known */
    struct control *control;
    struct preload *preload; /* NULL: nothing is brought to the hosts */
    struct report_rank *ranks;
    struct rank_end *ends; /* by rank; valid where ended[rank] */
    unsigned char *ended, *begun;
    char **end_texts;
    uint32_t nstarted, nended, nknown; /* known: started or ended */
    struct rank_end *failures;         /* that count, in order of arrival */
    size_t nfailures;
    int joined;             /* some rank has called MPI_Init */
    struct rank_end absent; /* with END_NO_INIT: the first that ended well without it */
    struct loop_timer *progress;
    unsigned ticks, still; /* since the start began, and since a host reported back */
    size_t reported;       /* hosts, when it was looked at last */
    int draws, drawn;      /* progress on the terminal; it is there now */
    struct loop_timer *explain_timer, *timeout_timer, *drop_timer, *lost_timer;
    uint64_t drop_seen;            /* output that was taken when it was looked at last */
    unsigned nsignals;             /* that ask for the end of the step */
    int last_signal;               /* the last of these, */
    double signal_time;            /* and when it came */
    double manager_signals[2];     /* when USR1, USR2 came from the manager */
    struct present *present;       /* NULL: nobody has asked what the ranks use */
    struct suspension *suspension; /* NULL: none is looked for */
    double timeout_at;             /* --timeout is over then */
    uint64_t nrefused;             /* peers at the door */
    int explained;
    int reader_left; /* who read our output has closed it */
    double grace;    /* of the last KILL */
    int killing;     /* KILL was sent to all */
    int exit_code;   /* of mprun's own failure, timeout or signal; -1: the ranks' */
    char failure_text[1200];
    uint64_t start_ns;
    double start_time, interrupt_time;
    int announced_tree, announced_oversubscribed, announced_gpus_unchecked, announced_gpus_outside;
};

/* setup.c */
int run_setup(struct run *r, struct error *err);
void run_free(struct run *r);

/* home.c: the directory of the step's sockets */
int home_make(struct run *r, struct error *err);
void home_remove(struct run *r); /* if it was made; and what mpruns that were killed left beside */
/* Directories of other steps of this user beside ours. */
void home_others(const struct run *r, void (*fn)(void *arg, const char *path), void *arg);

/* explain.c */
void run_print_plan(struct run *r);  /* --dry-run */
void run_print_found(struct run *r); /* --explain: after the starters have gone */

/* step-machine.c */
void step_changed(struct run *r); /* something happened: look at the state soon */
void step_begin(struct run *r);
void step_machine(struct run *r);
const char *step_state_text(enum step_state s);
void step_timeout(struct run *r, double seconds); /* --timeout is over then */
/* mprun itself failed: say it once, end the step with this exit code. */
void run_fail(struct run *r, int exit_code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* End the step: TERM, grace, KILL on every host. grace < 0: as configured. */
void run_kill(struct run *r, double grace, const char *why);
/* The step is to end whether its output is read or not: after the grace, what nobody takes is
 * dropped. */
void run_drop_output(struct run *r, double grace);

/* grants.c */
/* Ask this host's mprund, if the manager carries what it signs to the job's other hosts. */
void grants_ask(struct run *r);
/* Call `then` when it has come, or after 6 s: what does not come is not there. At once where
 * nothing was asked for. */
void grants_await(struct run *r, void (*then)(struct run *r));
/* It is not waited for any more: `then` is not called. 1: it would have been. */
int grants_forget(struct run *r);
void grants_free(struct run *r);

/* starting.c */
void starting_begin(struct run *r); /* what cannot be is told by run_fail() */
/* Where mpstarter is, here and elsewhere. */
int starting_find(struct run *r, struct error *err);
/* What an adapter is told. Its allocation is not set. */
struct start_request starting_request(struct run *r);
/* No host is there, and none will be. */
void starting_none(struct run *r);
/* A login has put its starter into a control group of its own. */
void starting_in_session(struct host *h, const char *session);
/* It is linked by its start channel because mprun cannot be reached from there. */
void starting_fell_back(struct host *h, const char *why);
void starting_reported(struct host *h); /* HELLO came */
void starting_close(struct run *r);

/* starters.c */
/* What the adapter tells; arg is the run. */
void starters_event(void *arg, size_t host, enum start_event event,
                    const struct start_channel *channel, int status, const struct error *err);
void starters_host_gone(struct host *h); /* its link has ended */
/* A process that was not started from here but came here: a worker without its keeper? */
void starters_orphan_ended(struct run *r, pid_t pid);
void starters_settle(struct run *r);    /* hosts of which nothing is left are gone */
void starters_released(struct host *h); /* it may go; its start client may have ended before */
/* Its link is gone for good. silent: it gives no answer any more, and its start client may never
 * notice. Those below it are out of reach, and end when they notice. */
void starters_lost(struct host *h, int silent);
/* No host is to be started any more. */
void starters_cancel(struct run *r);
/* RELEASE was sent: who is out of reach, and does not end, is not waited for without end. */
void starters_await_end(struct run *r);
/* Nothing of a start that failed is left, and there is to be another one. */
void starters_forget(struct host *h);
/* mprun starts it, now and again. */
void starters_retry(struct host *h);
/* The start client that another host has run has ended; status as from waitpid(). */
void starters_client_ended(struct host *h, int status);
/* Nothing is known any more of that, as that host has gone: nor of this one, but by its own link.
 */
void starters_client_unknown(struct host *h);
/* Its start client runs, and its end says more than the end of its link. One that another step's
 * starter needs as well is not waited for. */
int starters_has_client(const struct host *h);
/* By its own link, or through the host above it. */
int starters_is_linked(struct host *h);

/* start-client.c */
const char *start_client_name(const struct run *r); /* for messages; the run's or a constant */
/* What the user can do about what the start client said, to go behind it: in buf, "" for nothing.
 */
const char *start_client_advice(const struct run *r, const char *why, char *buf, size_t n);
/* It ended before its host was clean, status as from waitpid(): the step ends by run_fail() or
 * host_fails() with the reason, or, where mprun is that reason, only --verbose says so. */
void start_client_say_end(struct host *h, int status);

/* sweep.c */
/* Ends and removes what a dead starter left; nothing where its host is another machine. Waits for
 * it, some seconds at most; what cannot be removed is a warning. */
void sweep_host(struct host *h);

/* start-channel.c */
void start_channel_open(struct host *h, const struct start_channel *c);
void start_channel_close(struct host *h);
void start_channel_close_input(struct host *h);
void start_channel_drain(struct host *h); /* its client has ended: what it still said */
/* mprun has its client's output, on which mpstarter has not said yet that it is there. */
int start_channel_awaits_word(const struct host *h);
/* Where nobody has asked for another way, a firewall is no reason not to run: started by mprun, it
 * can be linked by its start channel. */
int start_channel_may_be_link(const struct host *h);
/* For who gets no preamble on a start channel that leads both ways. Length, or -1. */
int start_channel_preamble(struct host *h, uint32_t more_flags, uint8_t ret[PREAMBLE_MAX],
                           struct error *err);

/* errands.c. m NULL: the host is gone. Nothing more is told then, nor after REFUSED and ENDED. */
typedef void (*errand_fn)(void *arg, const Mprun__ErrandNews *m);
int errands_may_be_sent(const struct run *r);
/* m without its id. The errand's number, 0: it cannot be sent. */
uint32_t errand_send(struct host *on, Mprun__Errand *m, errand_fn fn, void *arg);
void errand_forget(struct run *r, uint32_t id);               /* nothing of it is told any more */
int errands_news(struct host *h, const uint8_t *p, size_t n); /* a frame; -1: it cannot be */
void errands_host_gone(struct host *h);
void errands_free(struct run *r);

/* through.c: hosts that are started by the starter of the host above them */
void through_begin(struct run *r);
int through_is_elsewhere(void *arg, size_t host); /* for an adapter */
void through_reported(struct host *h);            /* it has its starter */
void through_end(struct run *r);                  /* mprun starts the rest */

/* guests.c: HAND has come over the control socket, -1: it cannot be read; who has asked is gone */
int guests_hand(struct run *r, struct link *asker, const uint8_t *p, size_t n);
void guests_asker_gone(struct run *r, const struct link *asker);

/* handing.c: the manager has no room on a host, in these words. -1: out of memory. */
int handing_begin(struct host *h, const char *words);
void handing_time_over(struct host *h); /* --start-timeout, since there was none: the step fails */
void handing_reported(struct host *h);  /* HELLO has come */
void handing_cancel(struct run *r);
void handing_end(struct run *r);

/* start-words.c; all do nothing for a host without words */
void start_words_open(struct host *h, int fd); /* takes fd; -1: start_words_add() has them */
void start_words_add(struct host *h, const void *p, size_t n);
void start_words_show(struct host *h);     /* what was said so far */
void start_words_reported(struct host *h); /* the same, and from now on at once */
/* What was said and not shown, as part of a sentence; "" for nothing. Much of it is shown instead,
 * but for its last line. */
void start_words_reason(struct host *h, char *buf, size_t n);
const char *start_words_held(struct host *h); /* lines not shown yet; they stay */
void start_words_drop(struct host *h);        /* close; what is held is not shown */
void start_words_close(struct host *h);

/* progress.c */
void progress_begin(struct run *r);
void progress_erase(struct run *r); /* something else is about to be written */
void progress_end(struct run *r);

/* arrivals.c */
extern const struct listen_events arrival_events; /* arg is the run */

/* door.c */
int door_open(struct run *r, struct error *err);
void door_close(struct run *r);

/* agents.c. Every change of a host's state goes through agent_enter(). */
void agent_enter(struct host *h, enum agent_state state);
size_t agents_before(const struct run *r, enum agent_state state); /* hosts that have ranks */
void agent_reached(struct host *h, enum launch_phase phase);
double run_seconds(const struct run *r); /* since the step began */
void launch_is_over(struct run *r);      /* all ranks were started */

/* tree.c */
struct host *host_above(const struct host *h); /* in the tree; NULL: mprun itself */
struct host *host_top(struct host *h); /* the nearest above, or itself, with a link; or NULL */
/* Whether it has joined, or one above it has, a host that `which` is true of. */
int host_is_behind(const struct host *h, int (*which)(const struct host *));
struct link *host_link(struct host *h); /* addressed to h; NULL: it cannot be reached */
/* The host that a frame of top's link is from; NULL: it has no such host below. */
struct host *hosts_sender(struct host *top, uint32_t id);
void hosts_broadcast_bytes(struct run *r, enum frame_type type, const void *p, size_t n);
void tree_place(struct host *h); /* HELLO has come */
/* Frames of a host; -1: one that cannot be. */
int tree_door(struct host *h, const uint8_t *p, size_t n);
int tree_joined(struct host *h, const uint8_t *p, size_t n);
void tree_leave_first(struct host *h); /* after each frame: close what is not needed any more */
int tree_lost(struct host *h, const uint8_t *p, size_t n);

/* hosts.c */
extern const struct link_events host_link_events;
void hosts_launch(struct run *r);
void hosts_broadcast(struct run *r, enum frame_type type, const ProtobufCMessage *m);
struct host *hosts_of_rank(struct run *r, uint32_t rank);
/* A starter has died, and how it did is not known yet: what other hosts say now is no cause. */
int hosts_await_status(const struct run *r);
/* n 0: the end of the input. */
void hosts_send_input(struct run *r, struct rank_name name, const void *data, size_t n);

/* ends.c */
void ends_rank(struct host *h, const struct rank_end *end, int counts, const char *text);
/* A rank that ended well has not called MPI_Init; some rank has. Both make a failure of the first,
 * in whichever order they come: MPI_Init waits for every rank. */
void ends_without_joining(struct run *r, const struct rank_end *end);
void ends_joined(struct run *r);
const struct rank_end *ends_first(const struct run *r);
void ends_explain(struct run *r);      /* say the first failure, once */
void ends_explain_soon(struct run *r); /* when the window of time is over */
int ends_exit_code(const struct run *r);

/* signals.c */
int signals_watch(struct run *r, struct error *err);
void signals_pass_on(struct run *r, int signo); /* to the ranks of all hosts */
/* The step is over: signals do again what they do to any program, which may wait to write. */
void signals_leave(void);
/* For a while only: what takes long before there is anything to end or to clean up. */
void signals_return(void);

/* suspension.c: all do nothing, and nothing is suspended, where the adapter has no such trait */
int suspension_begin(struct run *r, struct error *err); /* before there are start clients */
void suspension_end(struct run *r);
/* Is the job suspended, or not any more? */
void suspension_look(struct run *r, enum suspension_cause cause);
int suspension_has(const struct run *r, pid_t pid); /* a child that is there for this */
int suspension_holds(const struct run *r); /* the job is suspended: no ranks are to be started */
/* mprun is to be stopped, and to stay so; not any more. */
void suspension_rest(struct run *r, int rest);

/* host-list.c: the hosts that `which` is true of, in a message: "n2, n[5-7] and 12 others" (size:
 * at least NAME_RUN_TEXT). Their number. */
size_t hosts_list(const struct run *r, int (*which)(const struct host *), char *buf, size_t size);

/* orphans.c */
int orphan_arrived(struct host *h, struct link *l); /* 0: it is none */
void orphans_kill(struct run *r);
void orphan_leave(struct host *h);

/* failed.c: the step ends because of this host, unless that was ended itself. The text goes behind
 * its name; the host may be found to be behind one that has failed. silent: it gives no answer any
 * more. */
void host_fails(struct host *h, int silent, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* mprun has cancelled its start, or told it to end without further words, or it has lost the host
 * above: that it ends is a consequence, which is told to nobody. */
int host_was_ended(const struct host *h);
void failed_begin(struct run *r);
void failed_say(struct run *r); /* what is not said yet */

/* silent.c */
int silent_begin(struct run *r, struct error *err);
void silent_end(struct run *r);
/* Frames of a host; -1: one that cannot be. */
int silent_pong(struct host *h, const uint8_t *p, size_t n);
int silent_told(struct host *h, const uint8_t *p, size_t n);
void silent_heard(struct host *top); /* something came on its link */

/* present.c: say what all ranks use now, when their hosts have answered or half a second is over;
 * nothing while there are none */
void present_ask(struct run *r);
int present_answer(struct host *h, const uint8_t *p, size_t n); /* a frame; -1: it cannot be */
void present_end(struct run *r);

/* collect.c */
struct collect *collect_create(struct run *r);
void collect_destroy(struct collect *c);
/* Frames of a host; -1: one that cannot be. */
int collect_part(struct host *from, const uint8_t *p, size_t n);
int collect_modex_request(struct host *from, const uint8_t *p, size_t n);
int collect_modex_reply(struct host *from, const uint8_t *p, size_t n);

/* terminal.c: mprun's own terminal; with --pty only */
struct tty_size terminal_size(void);
void terminal_take(struct run *r);      /* raw, where it is a terminal and in the foreground */
void terminal_give_back(struct run *r); /* as it was */
void terminal_resized(struct run *r);   /* the rank is told */

/* control.c */
struct control *control_create(struct run *r, struct error *err);
void control_destroy(struct control *c);

#endif
