/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-protocol.h - requests to mprund, the node daemon, and its answers
 *
 * mprund listens on a Unix socket of type SOCK_SEQPACKET at GRANT_SOCKET. A connection carries one
 * request: the client sends a struct grant_request, mprund answers with a struct grant_answer and
 * closes. GRANT_STATUS has an answer for each job, and GRANT_TOKEN one for each host that has its
 * own, all with GRANT_MORE, and a last one without. Both structs are of fixed size, in the
 * machine's byte order; every byte that has no meaning is zero, and text ends with a zero byte
 * within its field. mprund answers a packet of another size, magic or version with GRANT_BAD.
 *
 * mprund learns who asks only from the kernel (SO_PEERCRED, SO_PEERPIDFD, SO_PEERGROUPS): no
 * request says it, and no request names a process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#ifndef GRANT_SOCKET
#define GRANT_SOCKET "/run/mprun/mprund.sock"
#endif

/* Root's own: nobody else can connect. */
#ifndef GRANT_ROOT_SOCKET
#define GRANT_ROOT_SOCKET "/run/mprun/mprund-root.sock"
#endif

#define GRANT_MAGIC     0x4d50474eU /* "NGPM" in memory on a little-endian machine */
#define GRANT_UNLIMITED UINT64_MAX
#define GRANT_UNKNOWN   UINT32_MAX /* number of cores: unknown */

/* mprund's lock is named like its socket, with this behind it. */
#define GRANT_LOCK ".lock"
/* Seconds between two touches of the lock, which show that mprund lives; each takes 10 us.
 * (Touching the socket would show nothing: every user can do it.) */
#define GRANT_SIGN_S 0.5
/* Seconds without a touch after which a client stops waiting for mprund: with the two waits below
 * that follow in a task's start, a step loses less than 2 s. On a crowded host they are 0.1 s late.
 */
#define GRANT_SILENT_S 1.5
/* Seconds that a client waits for each answer in any case: a crowded host takes 0.06 s for it now
 * and then, an emulated one 0.2. */
#define GRANT_LEAST_S 0.2
/* Seconds that a client waits for a living mprund to give an answer that it has ready. */
#define GRANT_ANSWER_S 5.0

enum { GRANT_VERSION = 6, GRANT_JOB_MAX = 64, GRANT_PATH_MAX = 512, GRANT_TEXT_MAX = 352 };
enum { GRANT_TOKEN_MAX = 449 }; /* a grant as text, and its end */
enum { GRANT_CPUS_MAX = 512, GRANT_GPUS_MAX = 256, GRANT_CGROUP_MAX = 128 };

enum grant_op {
    /* Any user: a place for cgroups in the job that the asking process is in. mprund moves that
     * process, and no other, into the job's delegated part. */
    GRANT_PLACE = 1,
    /* Root: put the asking process into the job's cgroup; mprund makes and limits that first if it
     * is not there. */
    GRANT_ENTER = 2,
    /* Any user: an answer for each of its jobs; root: for each job of any user. The last answer
     * counts all jobs of the host, for any user. */
    GRANT_STATUS = 3,
    /* Root: give a job other limits and cores on this host; the job is made here if need be. */
    GRANT_BIND = 4,
    /* Any user, on the host of its job's script: grants of the job that the asking process is in,
     * for the job's other hosts. Tasks there get them in their environment, as GRANT_VARIABLE. The
     * answer can take as long as the job's manager needs. With GRANT_MORE the grant is for one
     * host; the last grant is for all hosts that have none of their own. */
    GRANT_TOKEN = 5,
    /* Any user: hold a cgroup of the user's, in the part of the job that the asking process is in,
     * to some of the job's GPUs: processes in the cgroup can open no other GPUs. */
    GRANT_DEVICES = 6,
    /* Any user: the ranks of a step in the job that the asking process is in are suspended, or go
     * on; mprund looks at the cgroup that the request names. While that is frozen, other jobs may
     * have these hardware threads and GPUs of the job, as far as the configuration lends them. */
    GRANT_SUSPENDED = 7,
};

enum grant_bind {
    GRANT_BIND_TO = 0,      /* what the request says, or nothing */
    GRANT_BIND_UNLIMIT = 1, /* what the manager's own daemon has on this host */
    GRANT_BIND_HAVE = 2,    /* nothing: it is here when this is answered */
    GRANT_BIND_FORGET = 3,  /* remove it if no process is in it; do nothing if it is not here */
    GRANT_BIND_TRY = 4,     /* as TO, as far as this host can hold it; text: what is not held */
};

#define GRANT_VARIABLE "MPRUN_GRANT"

enum grant_manager {
    GRANT_ANY = 0,        /* PLACE: whichever has evidence; BIND: by its name; ENTER: not allowed */
    GRANT_SITE = 1,       /* ENTER: the request says uid and limits itself */
    GRANT_GRIDENGINE = 2, /* uid and limits are what its daemon wrote in its spool directory */
    GRANT_SLURM = 3,      /* of jobs that STATUS shows */
    GRANT_PBS = 4,        /* likewise */
};

struct grant_request {
    uint32_t magic;
    uint16_t version;
    uint16_t op;      /* enum grant_op */
    uint32_t manager; /* enum grant_manager */
    uint32_t uid;    /* ENTER with GRANT_SITE: owner of the job's delegated part; BIND: the same, 0:
                        as evidence says, now or later; else 0 */
    uint64_t memory; /* ENTER with GRANT_SITE, BIND_TO, BIND_TRY: bytes, or GRANT_UNLIMITED; or 0 */
    uint64_t pids;   /* ENTER with GRANT_SITE: processes and threads, or GRANT_UNLIMITED; else 0 */
    uint32_t cores;  /* ENTER with GRANT_SITE, BIND_TO, BIND_TRY: cores of its own; 0: ENTER: not
                        said; BIND: all that jobs can have */
    uint32_t gpus;   /* ENTER with GRANT_SITE: how many */
    uint64_t virtual_memory; /* BIND_TO, BIND_TRY: bytes of memory and swap together, or
                                GRANT_UNLIMITED */
    uint32_t bind;           /* BIND: enum grant_bind; else 0 */
    uint32_t zero;
    char job[GRANT_JOB_MAX];  /* ENTER, BIND: "23.1"; else "": nobody says in which job it is */
    char task[GRANT_JOB_MAX]; /* ENTER with GRANT_GRIDENGINE: "1.n12" for a slave task; else "" */
    char cgroup[GRANT_CGROUP_MAX]; /* DEVICES, SUSPENDED: path below that of PLACE; else "" */
    char ids[GRANT_GPUS_MAX];      /* DEVICES, SUSPENDED: of GPUs, "0,1"; mprund ignores GPUs that
                                      are not the job's */
    char cpus[GRANT_CPUS_MAX];     /* SUSPENDED: hardware threads, "0-3,7", in the same way */
};

enum grant_result {
    GRANT_OK = 0,
    GRANT_MORE = 1,    /* STATUS: a job, and another answer follows */
    GRANT_REFUSED = 2, /* no evidence, or not allowed; text says why */
    GRANT_INSIDE = 3,  /* PLACE: the process is in a step's cgroup already, and stays there */
    GRANT_BUSY = 4,    /* too many requests of this user, or of all */
    GRANT_BAD = 5,     /* not a request of this version */
    GRANT_FAILED = 6,  /* the daemon could not; text says why */
};

/* EXPECTED: root has set its limits (BIND), but no process of it is here, not yet or not now. */
enum grant_job_state { GRANT_RUNNING = 0, GRANT_ENDING = 1, GRANT_STUCK = 2, GRANT_EXPECTED = 3 };

/* The cores that a job's processes are held to. */
enum grant_cores {
    GRANT_CORES_ALL = 0,     /* any: mprund chose none, or nothing here can hold a job */
    GRANT_CORES_CHOSEN = 1,  /* chosen by mprund; no other job has them */
    GRANT_CORES_MANAGER = 2, /* stated by the job's manager */
    GRANT_CORES_SHARED = 3,  /* all but the system's: there were too few for the job alone */
};

enum { LEND_CORES = 1, LEND_GPUS = 2 };

struct grant_answer {
    uint32_t magic;
    uint16_t version;
    uint16_t result;           /* enum grant_result */
    uint32_t manager;          /* of the job */
    uint32_t uid;              /* of the job; 0: not known yet */
    uint32_t state;            /* STATUS: enum grant_job_state */
    uint32_t controllers;      /* PLACE: bit per enum cgroup_controller that v2 subtrees can have */
    uint64_t memory, pids;     /* limits of the job on this host that hold, or GRANT_UNLIMITED */
    uint64_t memory_now;       /* STATUS: bytes; GRANT_UNLIMITED: not known */
    uint64_t processes;        /* STATUS: and threads that there are now, or GRANT_UNLIMITED */
    uint64_t cpu_us;           /* STATUS: CPU time used, microseconds */
    uint32_t jobs, stuck;      /* STATUS, the last: jobs on this host, and those that are stuck */
    uint32_t cores_total;      /* STATUS, the last: cores that jobs can have here, and */
    uint32_t cores_free;       /* those that no job has; GRANT_UNKNOWN */
    uint32_t cores_how;        /* enum grant_cores, of the job */
    uint32_t cores;            /* how many the job was to have; 0: it was not said */
    uint32_t pending;          /* 1: mprund is still finding out what the job may use */
    uint32_t devices_held;     /* PLACE: 1: processes cannot open GPUs that are not the job's */
    uint32_t cores_beyond;     /* more cores that the job has, as they are in its NUMA nodes */
    uint32_t lends;            /* PLACE: what of a suspended step others can have: bits LEND_ */
    uint32_t cores_lent;       /* cores of the job that others may have now, */
    uint32_t gpus_lent;        /* and GPUs: a step of the job is suspended */
    char job[GRANT_JOB_MAX];   /* its name */
    char v2[GRANT_PATH_MAX];   /* PLACE: directory for subtrees; "": there is no cgroup2 here */
    char cpus[GRANT_CPUS_MAX]; /* hardware threads that its processes are held to, "2-3,18-19";
                                  ends with "..." where they are too many; "": to none */
    char gpus[GRANT_GPUS_MAX]; /* ids of GPUs that are the job's alone here, "0,1"; "": none */
    char gpu_cores[GRANT_GPUS_MAX]; /* PLACE: hardware threads near each of them, "0-15;16-31",
                                       where the configuration says it; "": nothing is said */
    char text[GRANT_TEXT_MAX]; /* why it was refused, why a job is stuck; SUSPENDED: which of the
                                  job's GPUs another job has, too; else "" */
    char host[GRANT_JOB_MAX];  /* TOKEN: host that the grant is for; "": any */
    char token[GRANT_TOKEN_MAX + 7]; /* TOKEN: the grant: letters, digits, '-' and '_' */
};

_Static_assert(sizeof(struct grant_request) == 1080, "fixed size");
_Static_assert(sizeof(struct grant_answer) == 2584, "fixed size");

/* Returns whether a job may have this name: 1 to 40 of A-Z a-z 0-9 . _, first a letter or digit. */
bool grant_is_job_name(const char *text);
/* Sets the constant fields, and everything else to zero. */
void grant_request_init(struct grant_request *r, enum grant_op op, enum grant_manager manager);
/* Returns NULL if a packet of n bytes holds a well-formed request; else a constant sentence. */
const char *grant_request_fault(const struct grant_request *r, size_t n);
/* Makes an answer of this result; text may be NULL. */
void grant_answer_init(struct grant_answer *a, enum grant_result result, const char *text);

/* Connects to the mprund at path, which must be root's (NULL: GRANT_SOCKET; for root
 * GRANT_ROOT_SOCKET if there is one), and sends the request. Returns a descriptor for
 * grant_receive(), which the caller closes, or -1 with err. Waits only when too many connect:
 * GRANT_LEAST_S at most. ENOENT and ECONNREFUSED: there is no mprund; EAGAIN: it is busy;
 * ETIMEDOUT: it is silent. */
int grant_send(const char *path, const struct grant_request *r, struct error *err);
/* Does the same at GRANT_SOCKET. Waits for so many seconds at most if mprund is busy, or was here a
 * moment ago and so is being started again. */
int grant_send_patiently(const struct grant_request *r, double seconds, struct error *err);
/* Takes the next answer. Waits for so many seconds at most, and less if mprund is silent. Returns
 * 0, or -1 with err; EAGAIN: no answer yet; ETIMEDOUT: mprund is silent. */
int grant_receive(int fd, double seconds, struct grant_answer *ret, struct error *err);
/* No answer has come since `asked` (loop_now()): returns the seconds to wait before the next call.
 * 0 with err: stop waiting; EAGAIN: `most` seconds are over; ETIMEDOUT: mprund is silent. */
double grant_patience(int fd, double asked, double most, struct error *err);
