/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-protocol.h - what mprund, the node daemon, is asked and what it answers
 *
 * The daemon listens on a Unix socket of type SOCK_SEQPACKET at GRANT_SOCKET. A connection carries
 * one request: the client sends a struct grant_request, mprund answers with a struct grant_answer
 * and closes. GRANT_STATUS has an answer for each job, and GRANT_TOKEN one for each host that has
 * its own, all with GRANT_MORE, and a last one without. Both structs are of fixed size, in the byte
 * order of the machine; every byte that has no meaning is zero, and text ends with a zero byte
 * within its field. mprund answers a packet of another size, magic or version with GRANT_BAD.
 *
 * Only the kernel tells mprund who asks (SO_PEERCRED, SO_PEERPIDFD, SO_PEERGROUPS): nothing in a
 * request says it, and a request never names a process. */
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
#define GRANT_UNKNOWN   UINT32_MAX /* of a number of cores */

/* The end of the name of mprund's lock; before it is the name of the socket. */
#define GRANT_LOCK ".lock"
/* While mprund lives it touches its lock so often, in seconds: 10 us a time. (The socket is no
 * sign: every user can touch it.) */
#define GRANT_SIGN_S 0.5
/* Seconds without a sign after which it is not waited for: with the two waits below that follow in
 * a task's start, a step loses less than 2 s. On a crowded host signs are some 0.1 s late. */
#define GRANT_SILENT_S 1.5
/* But each answer is waited for so long: a crowded host takes 0.06 s for it now and then, an
 * emulated one 0.2. */
#define GRANT_LEAST_S 0.2
/* Seconds that an mprund which lives has for an answer that it knows. */
#define GRANT_ANSWER_S 5.0

enum { GRANT_VERSION = 6, GRANT_JOB_MAX = 64, GRANT_PATH_MAX = 512, GRANT_TEXT_MAX = 352 };
enum { GRANT_TOKEN_MAX = 449 }; /* a grant as text, and its end */
enum { GRANT_CPUS_MAX = 512, GRANT_GPUS_MAX = 256, GRANT_CGROUP_MAX = 128 };

enum grant_op {
    /* Any user: a place for cgroups in the job that the asking process is in. mprund moves that
     * process, and no other, into the job's delegated part. */
    GRANT_PLACE = 1,
    /* Root: put the asking process into the job's cgroup, which is made and limited first if it is
     * not there. */
    GRANT_ENTER = 2,
    /* Any user: an answer for each of its jobs; root: for each job of any user. The last answer
     * counts all jobs of the host, for any user. */
    GRANT_STATUS = 3,
    /* Root: give a job other limits and cores on this host; the job is made here if need be. */
    GRANT_BIND = 4,
    /* Any user, on the host of its job's script: grants of the job that the asking process is in,
     * for the job's other hosts. The tasks there get them in their environment, as GRANT_VARIABLE.
     * The answer can take as long as the job's manager does. With GRANT_MORE the grant is for one
     * host; the last one is for all hosts that have none of their own. */
    GRANT_TOKEN = 5,
    /* Any user: hold a cgroup of the user's, in the part of the job that the asking process is in,
     * to some of the job's GPUs: what is put there can open no others. */
    GRANT_DEVICES = 6,
    /* Any user: the ranks of a step in the job that the asking process is in are suspended, or go
     * on; mprund looks at the cgroup that the request names. While that is frozen others may have
     * these hardware threads and GPUs of the job's, as far as the configuration lends them. */
    GRANT_SUSPENDED = 7,
};

enum grant_bind {
    GRANT_BIND_TO = 0,      /* what the request says, or nothing */
    GRANT_BIND_UNLIMIT = 1, /* what the manager's own daemon has on this host */
    GRANT_BIND_HAVE = 2,    /* nothing: it is here when this is answered */
    GRANT_BIND_FORGET = 3,  /* remove it if no process is in it; nothing when it is not here */
    GRANT_BIND_TRY = 4,     /* as TO, as far as this host can hold it: text says what is not held */
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
    uint32_t uid;     /* ENTER with GRANT_SITE: who the job's delegated part belongs to; BIND: the
                         same, 0: as evidence says, now or later; else 0 */
    uint64_t memory; /* ENTER with GRANT_SITE, BIND_TO, BIND_TRY: bytes, or GRANT_UNLIMITED; or 0 */
    uint64_t pids;   /* ENTER with GRANT_SITE: processes and threads, as memory; else 0 */
    uint32_t cores;  /* ENTER with GRANT_SITE, BIND_TO, BIND_TRY: cores of its own; 0: ENTER: not
                        said; BIND: all that jobs can have */
    uint32_t gpus;   /* ENTER with GRANT_SITE: how many */
    uint64_t virtual_memory; /* BIND_TO, BIND_TRY: bytes of memory and swap together, or
                                GRANT_UNLIMITED */
    uint32_t bind;           /* BIND: enum grant_bind; else 0 */
    uint32_t zero;
    char job[GRANT_JOB_MAX];  /* ENTER, BIND: "23.1"; else "": nobody says in which job it is */
    char task[GRANT_JOB_MAX]; /* ENTER with GRANT_GRIDENGINE: "1.n12" for a slave task; else "" */
    char cgroup[GRANT_CGROUP_MAX]; /* DEVICES, SUSPENDED: which one, below that of PLACE; else "" */
    char ids[GRANT_GPUS_MAX];      /* DEVICES, SUSPENDED: of GPUs, "0,1"; those that are not the
                                      job's do not count */
    char cpus[GRANT_CPUS_MAX];     /* SUSPENDED: hardware threads, "0-3,7", likewise */
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

/* EXPECTED: root gave it its limits (BIND), and no process of it is here, not yet or not now. */
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
    uint32_t uid;              /* of the job; 0: nobody says yet whose it is */
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
    uint32_t cores;            /* how many it was to have; 0: it was not said */
    uint32_t pending;          /* of the job: what it may use is still being found out */
    uint32_t devices_held;     /* PLACE: 1: GPUs that are not the job's cannot be opened */
    uint32_t cores_beyond;     /* how many it has besides, as they are of its NUMA nodes */
    uint32_t lends;            /* PLACE: what of a suspended step others can have: bits LEND_ */
    uint32_t cores_lent;       /* how many of its cores others may have now, */
    uint32_t gpus_lent;        /* and of its GPUs: a step of it is suspended */
    char job[GRANT_JOB_MAX];   /* its name */
    char v2[GRANT_PATH_MAX];   /* PLACE: directory for subtrees; "": there is no cgroup2 here */
    char cpus[GRANT_CPUS_MAX]; /* hardware threads that its processes are held to, "2-3,18-19";
                                  ends with "..." where they are too many; "": to none */
    char gpus[GRANT_GPUS_MAX]; /* ids of GPUs that are the job's alone here, "0,1"; "": none */
    char gpu_cores[GRANT_GPUS_MAX]; /* PLACE: hardware threads near each of them, "0-15;16-31",
                                       where the configuration says it; "": nothing is said */
    char text[GRANT_TEXT_MAX]; /* why it was refused, why a job is stuck; SUSPENDED: which of its
                                  GPUs another job has, too; else "" */
    char host[GRANT_JOB_MAX];  /* TOKEN: the host that it is for; "": any */
    char token[GRANT_TOKEN_MAX + 7]; /* TOKEN: the grant: letters, digits, '-' and '_' */
};

_Static_assert(sizeof(struct grant_request) == 1080, "fixed size");
_Static_assert(sizeof(struct grant_answer) == 2584, "fixed size");

/* 1: a job may have this name: 1 to 40 of A-Z a-z 0-9 . _, the first a letter or digit. */
bool grant_is_job_name(const char *text);
/* Set the constant fields, and everything else to zero. */
void grant_request_init(struct grant_request *r, enum grant_op op, enum grant_manager manager);
/* NULL: a packet of n bytes holds a well-formed request; else a sentence for people, constant. */
const char *grant_request_fault(const struct grant_request *r, size_t n);

/* Connect to the daemon at path (NULL: GRANT_SOCKET, of root at GRANT_ROOT_SOCKET where there is
 * one), which must be root's, and send the request: a descriptor for grant_receive(), which the
 * caller closes, or -1 with err. It waits only where too many connect: GRANT_LEAST_S at most.
 * ENOENT and ECONNREFUSED: there is no daemon; EAGAIN: it is busy; ETIMEDOUT: it is silent. */
int grant_send(const char *path, const struct grant_request *r, struct error *err);
/* The same at GRANT_SOCKET, waiting for a daemon that is busy, for so many seconds at most, or was
 * here a moment ago: it is being started again. */
int grant_send_patiently(const struct grant_request *r, double seconds, struct error *err);
/* Take the next answer, waiting at most so many seconds, and less where mprund is silent. 0, or -1
 * with err; EAGAIN: it has not come yet; ETIMEDOUT: mprund is silent. */
int grant_receive(int fd, double seconds, struct grant_answer *ret, struct error *err);
/* No answer has come since `asked` (loop_now()): seconds to wait before this is asked again. 0 with
 * err: wait no longer; EAGAIN: `most` seconds are over; ETIMEDOUT: mprund is silent. */
double grant_patience(int fd, double asked, double most, struct error *err);
