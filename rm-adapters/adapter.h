/* SPDX-License-Identifier: BSD-3-Clause */
/* adapter.h - what mprun knows of one resource manager: the contract of every field
 *
 * A new one is a file with one constant table, a line in registry.c, a line in Makemodule.am, and a
 * test. Which hosts one has (read_allocation) and how one starts there (start) are separate. */
#ifndef RM_ADAPTERS_ADAPTER_H
#define RM_ADAPTERS_ADAPTER_H

#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/loop.h"
#include "common/reaper.h"
#include "model/allocation.h"

enum stdio_channel {
    STDIO_PER_HOST, /* the start channel of each host has its own stdin, stdout, stderr */
    STDIO_NONE,     /* --transport=stdio is refused with the adapter's reason */
};

enum start_event {
    START_CHANNEL_OPEN,  /* the start client runs; descriptors are valid */
    START_CHANNEL_ENDED, /* the start client ended: status as from waitpid() */
    START_FAILED,        /* it could not be started: err */
};

struct start_channel {
    int in_fd;      /* write end of the start channel's stdin; the receiver owns it */
    int out_fd;     /* read end of its stdout; the receiver owns it */
    int err_fd;     /* read end of its stderr, or -1 when it is mprun's own; the receiver owns it */
    pid_t pid;      /* start client */
    int is_starter; /* which is mpstarter itself: what it leaves is mprun's to take in */
    int terminal;   /* it is a terminal there, which hangs up when stdin is closed */
    const char *instead; /* why it is mpstarter and not the start client, where that is to be known;
                            valid during the event; NULL: nothing to say */
};

/* An event of one host. channel only with START_CHANNEL_OPEN, status only with ENDED. */
typedef void (*start_event_fn)(void *arg, size_t host, enum start_event event,
                               const struct start_channel *channel, int status,
                               const struct error *err);

/* What the user said of hosts. */
struct host_request {
    const char *argument;     /* what followed "NAME:" in --rm ("2" of "local:2"), or NULL */
    const char *const *lists; /* of --host: "a:2,b" */
    size_t nlists;
    const char *const *files; /* of --hostfile */
    size_t nfiles;
};

struct start_request {
    struct loop *loop;
    struct reaper *reaper;
    const struct allocation *allocation;
    const char *starter_path;  /* mpstarter beside this mprun */
    const char *remote_path;   /* where it is on other machines */
    char *const *agent;        /* words of the program to start with instead of the adapter's own,
                                  NULL-terminated; NULL: that one */
    double patience;           /* seconds that a host has from its start to its HELLO */
    char *const *starter_argv; /* NULL-terminated, argv[0] included; the same on every host */
    const char *const *variables;     /* with carries_variables: for each host of the allocation a
                                         "NAME=VALUE" of safe letters that its starter is to have, or
                                         NULL; NULL: for none */
    const struct rlimit *soft_limits; /* RLIM_NLIMITS entries, as in struct spawn, and the */
    int umask;                        /* umask that start clients have, the user's; NULL, -1: this
                                         process's */
    unsigned concurrency;             /* start clients at once; 0: the adapter's default */
    start_event_fn event;
    /* Is this host started by another's starter, with words()? Nothing is done for it then, and no
     * event comes, before retry(). NULL: none is. */
    int (*is_elsewhere)(void *arg, size_t host);
    void *arg;
};

struct starting; /* of a start in progress */
enum { START_WORDS = 16 };

enum start_again {
    START_NOT,       /* that was it */
    START_OTHERWISE, /* the host is started in another way */
    START_LATER,     /* in the same way, when retry() is called: the manager has no room now */
};

struct rm_adapter {
    const char *name;    /* as --rm takes it */
    const char *summary; /* one line for --help and --explain */

    /* Is this job's environment this manager's? Cheap, no side effects. 1 with the reason, or 0
     * with "", or with what is missing where something of the manager's is there. */
    int (*detect)(char *reason, size_t n);

    /* Read what was granted. Each number gets its source. No side effects. */
    int (*read_allocation)(const struct host_request *request, struct allocation *ret,
                           struct error *err);

    /* Start one starter per host, asynchronously on the loop with bounded concurrency; an event per
     * host and change. NULL with err when nothing could even begin. */
    struct starting *(*start)(const struct start_request *request, struct error *err);
    /* Begin no further start and end what runs (SIGTERM to start clients where that is harmless to
     * the job); events still come. */
    void (*cancel)(struct starting *s);
    void (*destroy)(struct starting *s); /* NULL is fine */
    /* The host's starter has said HELLO: its start is over and makes room for another. A NULL
     * function: every start client that runs has its starter at once. */
    void (*reported)(struct starting *s, size_t host);
    /* The host gives no answer any more: end its start client, which may never notice; its event
     * still comes. NULL: clients are never ended. */
    void (*abandon)(struct starting *s, size_t host);
    /* The host's start client ended with this status and these words before HELLO. Unless it is
     * START_NOT, another OPEN or FAILED comes. NULL: never. */
    enum start_again (*again)(struct starting *s, size_t host, int status, const char *words);
    /* Begin the start of a host once more, after START_LATER, or after all. */
    void (*retry)(struct starting *s, size_t host);
    /* May a host that has its starter start others? The words of the client that starts this one
     * from there, its path first: they live as long as s. Their number; 0: this one cannot be.
     * NULL: none can. */
    size_t (*words)(struct starting *s, size_t host, const char *words[START_WORDS]);
    /* How this host would be started, for --explain; loop and event of the request are not looked
     * at. */
    void (*describe)(const struct start_request *request, const struct alloc_host *host, char *buf,
                     size_t n);
    /* What the user can do about words that a start client ended with: "; do this", or "". May ask
     * the manager. NULL: nothing is known. */
    void (*advice)(const char *words, char *buf, size_t n);
    /* Is this a line that the start client writes when nothing is wrong? It is no reason of
     * anything then, and shown with -v only. NULL: there are none. */
    int (*is_noise)(const char *line);
    const char *client; /* the start client's name for messages; NULL: the adapter's */

    /* Names of variables, NULL-terminated: what ranks have of these is what the manager has given
     * the starter of their host. NULL: none. */
    const char *const *host_env;

    /* Traits. */
    enum stdio_channel stdio_channel;
    const char *stdio_reason;        /* why stdio_channel is STDIO_NONE */
    unsigned long rm_signals_remote; /* bits, 1 << signal number: what the manager sends to mprun
                                        it sends to the ranks of every host, too */
    int suspends_script;       /* suspending a job stops what belongs to its script, on that host */
    int carries_variables;     /* it takes variables of the environment to starters on other hosts,
                                  where its own daemons write them down */
    const char *login_session; /* what it means, and what to do, when the login that a start goes
                                  through has moved the starter to a control group of its own; NULL:
                                  nothing */
    const char *ends_hosts;    /* when the manager itself ends what it has started on a host while
                                  ranks    run there, and where that is to be seen; NULL: never */
    const char *loose;         /* no manager accounts for what is started so: the sentence that says
                                  it; NULL: one does, or there is none to */
};

/* What every adapter does with hosts that it has not: lists or files in the request are an error.
 */
int rm_adapter_refuse_hosts(const struct rm_adapter *a, const struct host_request *request,
                            struct error *err);

/* NULL-terminated, in the order in which they are detected. */
extern const struct rm_adapter *const rm_adapters[];
const struct rm_adapter *rm_adapter_find(const char *name); /* NULL: unknown */
/* The first that detects itself; "local" is the default and always does. */
const struct rm_adapter *rm_adapter_detect(char *reason, size_t n);

extern const struct rm_adapter rm_adapter_gridengine;
extern const struct rm_adapter rm_adapter_local;
extern const struct rm_adapter rm_adapter_ssh;

#endif
