/* SPDX-License-Identifier: BSD-3-Clause */
/* adapter.h - what mprun knows of one resource manager: the contract of an adapter
 *
 * An adapter is one constant struct rm_adapter at the end of NAME/NAME.c. It answers two questions
 * that have nothing to do with each other: which hosts a job has (read_allocation), and how
 * mpstarter is started there (start). mprun calls all functions from its one thread and never at
 * the same time. starter-side.h is mpstarter's side; doc/adding-an-adapter.md has the steps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/loop.h"
#include "common/processes/reaper.h"
#include "model/allocation.h"

/* ---- what mprun gives an adapter ------------------------------------------------------------- */

/* The user's words about hosts. */
struct host_request {
    const char *argument;     /* what followed "NAME:" in --rm ("2" of "local:2"), or NULL */
    const char *const *lists; /* of --host: "a:2,b" */
    size_t nlists;
    const char *const *files; /* of --hostfile */
    size_t nfiles;
    uint32_t nhosts_min; /* of a job: lists with fewer have further hosts of it behind them */
    bool no_manager;     /* --rm none: no resource manager is looked for */
};

enum start_event {
    START_CHANNEL_OPEN,  /* the start client runs; its channel is open */
    START_CHANNEL_ENDED, /* the start client has ended, with `status` as from waitpid() */
    START_FAILED, /* no start client could be started, or it has started no host at all; `err`
                     says why */
};

/* An open start channel. The receiver of START_CHANNEL_OPEN owns the descriptors. */
struct start_channel {
    int in_fd;        /* write end of the start client's standard input */
    int out_fd;       /* read end of its standard output */
    int err_fd;       /* read end of its standard error; -1: it has mprun's own */
    pid_t pid;        /* the start client */
    bool is_starter;  /* the start client is mpstarter itself: its orphans are mprun's */
    bool is_terminal; /* the channel is a terminal there, which hangs up when in_fd is closed */
    const char *why_forked; /* why mprun started mpstarter itself and not the start client, for -v;
                               valid during the event; NULL: nothing to say */
};

/* Something has happened to the start of a host. `host` is the index in the request's allocation;
 * `channel` is given with START_CHANNEL_OPEN alone, `status` with START_CHANNEL_ENDED, `err` with
 * START_FAILED. The receiver may call the adapter again, but not destroy(). */
typedef void (*start_event_fn)(void *arg, size_t host, enum start_event event,
                               const struct start_channel *channel, int status,
                               const struct error *err);

enum { START_PREAMBLE_MAX = 2048 }; /* bytes */

/* A start of all hosts. start() copies the struct; what it points to outlives the start. */
struct start_request {
    struct loop *loop;
    struct reaper *reaper;
    const struct allocation *allocation;  /* the hosts to start, each once */
    const char *starter_path;             /* of mpstarter on mprun's host */
    int (*run_starter)(const char *path); /* runs it in a copy of mprun; NULL: it is executed */
    const char *remote_path;              /* of mpstarter on other hosts */
    char *const *starter_argv;            /* of mpstarter, the same on every host */
    char *const *agent;               /* --agent: words of the start client to use instead of the
                                         adapter's own; NULL: use that */
    const char *const *variables;     /* for each host "NAME=VALUE" of safe letters, or NULL, that
                                         its starter gets; NULL: none. Needs carries_variables. */
    const struct rlimit *soft_limits; /* of start clients: RLIM_NLIMITS entries, as in struct
                                         spawn; NULL: mprun's own */
    int umask;                        /* of start clients; -1: mprun's own */
    double patience;                  /* seconds that a host has from its start to its HELLO */
    unsigned concurrency;             /* start clients at once; 0: the adapter's default */
    start_event_fn event;
    void *arg; /* of event and of the functions below */
    /* Where one start client starts all hosts (STDIO_SHARED). Writes what it is to send to all of
     * them: returns the number of bytes in ret, which the adapter wipes, or -1 with err. */
    int (*preamble)(void *arg, uint8_t ret[START_PREAMBLE_MAX], struct error *err);
    /* There: is the host's task to be the job's agent? Then START_AS_AGENT is in its environment.
     */
    bool (*is_agent)(void *arg, size_t host);
    /* There: the host's starter, or the client about this host, wrote n bytes to standard error. */
    void (*said)(void *arg, size_t host, const char *text, size_t n);
    /* Does another host start this one (see remote_command)? Then the adapter does nothing for the
     * host, and sends no event, until retry(). */
    bool (*is_elsewhere)(void *arg, size_t host);
};

/* A start in progress; the adapter's own, mostly made by processes/start-many.h. */
struct starting;

enum { REMOTE_COMMAND_WORDS = 16 };

/* The next step after a start client that has ended before its host's HELLO. */
enum start_again {
    START_NOT,       /* nothing: the host is lost, and the step fails */
    START_OTHERWISE, /* the adapter starts the host in another way, at once */
    START_LATER,     /* the manager has no room for it now: mprun calls retry() when it may have */
};

enum stdio_channel {
    STDIO_PER_HOST, /* each host's start channel has its own stdin, stdout and stderr */
    STDIO_SHARED,   /* one start client has that of all hosts: a task of it is a host's, and its
                       input goes to all, or there is none: --transport=stdio is refused, with the
                       adapter's reason. Agents have connections to mprun. */
    STDIO_NONE,     /* there is none: --transport=stdio is refused likewise */
};

/* ---- an adapter ------------------------------------------------------------------------------ */

/* Functions that return int return 0, or -1 with err. Strings are constants and nobody's to free.
 * All fields but those that say what NULL or 0 means are required. */
struct rm_adapter {
    const char *name; /* what --rm takes; letters, digits */

    /* Does this process run in a job of this manager? Called once, without --rm. Must be cheap and
     * have no side effects. True with the reason for --explain. False with "", or, where something
     * of the manager's is there, with what is missing. */
    bool (*detect)(const struct host_request *request, char *reason, size_t n);
    /* Names of the manager's processes that start jobs and sessions, NULL-terminated: of several
     * managers that detect themselves it is the one that has the nearest ancestor of mprun. NULL:
     * this is no manager of jobs. */
    const char *const *parents;

    /* Read which hosts and slots the manager granted; *ret becomes the caller's. Called once,
     * before anything is started, also for --dry-run: no side effects. A number has its source. */
    int (*read_allocation)(const struct host_request *request, struct allocation *ret,
                           struct error *err);

    /* Begin to start mpstarter on each host of request->allocation: asynchronously on the loop,
     * some at once, an event for each host and change. No event comes before it has returned. NULL
     * with err: nothing was begun. */
    struct starting *(*start)(const struct start_request *request, struct error *err);
    /* Start no further host, and end start clients by SIGTERM where that does not harm the job.
     * Events still come: START_FAILED for each host that was not begun. */
    void (*cancel)(struct starting *s);
    /* Free it; no event comes after this. Start clients that still run are left alone. s may be
     * NULL. */
    void (*destroy)(struct starting *s);
    /* The host's starter has said HELLO, so its start no longer counts as one of those at once.
     * NULL: the adapter bounds nothing. */
    void (*reported)(struct starting *s, size_t host);
    /* The host's link has ended: its starter needs no more time. NULL: no matter. */
    void (*left)(struct starting *s, size_t host);
    /* The host has stopped answering: kill its start client, which may never notice. Its event
     * still comes. NULL: start clients must not be killed, and mprun stops waiting for them. */
    void (*abandon)(struct starting *s, size_t host);
    /* The start client ended before HELLO, with this status; `words` is what it wrote to standard
     * error. Unless it says START_NOT, another OPEN or FAILED follows. NULL: always START_NOT. */
    enum start_again (*again)(struct starting *s, size_t host, int status, const char *words);
    /* The host's start client outlives mprun and belongs to another process from now on: the
     * adapter sends no event for it and leaves it alone. False: it must end with the step, or, with
     * STDIO_SHARED, not yet: mprun asks again when another host has its agent. NULL: all must end.
     * *ret_fd: with the last host of a shared client its standard error, for the new owner; else
     * -1. */
    bool (*hand_over)(struct starting *s, size_t host, int *ret_fd);
    /* Begin the start of this host once more. Called after START_LATER, and for a host that was
     * elsewhere. NULL where `again`, `hand_over` and `remote_command` are. */
    void (*retry)(struct starting *s, size_t host);
    /* Give the command by which another host, whose starter runs already, starts this one: a path,
     * then the words. They live as long as s. Returns their number; 0: this host must be started by
     * mprun. NULL: all must. */
    size_t (*remote_command)(struct starting *s, size_t host,
                             const char *words[REMOTE_COMMAND_WORDS]);

    /* Say how this host would be started, for --explain: "by ssh ...". Must start nothing, and not
     * use loop, reaper and event of the request. NULL: --explain says nothing of it. */
    void (*describe)(const struct start_request *request, const struct alloc_host *host, char *buf,
                     size_t n);
    /* Say what the user can do about these words of a failed start client: "; do this", or "". May
     * run the manager's commands. Not called with --agent. NULL: nothing is known. */
    void (*advise)(const char *words, char *buf, size_t n);
    /* Does the start client write this line when nothing is wrong? Then it is shown with -v alone,
     * and is no reason of a failure. Not called with --agent. NULL: it writes no such line. */
    bool (*is_noise)(const char *line);
    const char *client_name; /* of the start client, for messages; NULL: the adapter's name */
    int lost_code; /* exit code of a start client that has lost its host, where the starter
                      may live on; 0: it has none */

    /* Names of variables, NULL-terminated, that differ between hosts: ranks get them as the manager
     * gave them to their own host's starter. NULL: there are none. */
    const char *const *host_env;
    /* Name of the variable in which ranks find the GPUs that mprund granted the job on their host,
     * with blanks between them, besides CUDA_VISIBLE_DEVICES. NULL: there is none. */
    const char *gpu_env;

    enum stdio_channel stdio_channel;
    const char *stdio_reason; /* why it is not STDIO_PER_HOST; else NULL */
    /* Bits, 1 << signal number: signals that the manager sends to mprun and to the ranks of every
     * host; mprun does not pass them on. */
    unsigned long signals_everywhere;
    /* Bits: signals for ranks that the manager sends to starters and not to mprun; starters pass
     * them on to the ranks of their host. */
    unsigned long signals_starters;
    bool suspends_script;   /* suspending the job stops the processes of its script, on that host
                               only: mprun has to stop the ranks of other hosts */
    bool carries_variables; /* start clients take request->variables to other hosts, where the
                               manager's own daemons write them down */
    /* Sentences for the user; NULL: nothing to say. */
    const char *in_login_session; /* what it means, and what to do, when a login has moved the
                                     starter into a control group of its own */
    const char *ends_hosts;  /* when the manager itself ends what runs on a host, and where that
                                can be seen; it goes behind another sentence: "; it may be ..." */
    const char *unaccounted; /* that no manager accounts for what is started in this way */
};

/* ---- all adapters ---------------------------------------------------------------------------- */

/* In the order in which they are asked, NULL-terminated (registry.c). */
extern const struct rm_adapter *const rm_adapters[];
/* The adapter that detects itself, with its reason and what the first one before it missed. "local"
 * is the last one and always does. */
const struct rm_adapter *rm_adapter_detect(const struct host_request *request, char *reason,
                                           size_t n);

extern const struct rm_adapter rm_adapter_gridengine;
extern const struct rm_adapter rm_adapter_local;
extern const struct rm_adapter rm_adapter_lsf;
/* In no list: detects jobs that no adapter can serve, and reads no allocation. */
extern const struct rm_adapter rm_adapter_other;
extern const struct rm_adapter rm_adapter_pbs;
extern const struct rm_adapter rm_adapter_slurm;
extern const struct rm_adapter rm_adapter_ssh;

/* gpu_env as mprsrc(1) names it, for the adapters under which mprund grants GPUs. */
#define RM_GPU_ENV "SGE_RESOURCE_GPU"
