/* SPDX-License-Identifier: BSD-3-Clause */
/* tm-message.h - requests to a pbs_mom and its answers: the task management protocol (TM), as
 * OpenPBS, PBS Pro and Torque speak it
 *
 * A process of a job asks the MoM of its own host, at 127.0.0.1 and PBS_MOMPORT, also for what is
 * to be done on other hosts of the job. Job id and cookie are the only credentials. A MoM of
 * OpenPBS 20 and later puts each message into a packet ("PKTV1", NUL, type, length); older ones,
 * and Torque's, do not. A MoM that does not find a whole request in its socket when it looks drops
 * it without an answer, so a request is written at once, and each answer has a time limit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/error.h"

enum {
    TM_REQUEST_MAX = 60000,            /* bytes: more may come in two pieces on the loopback */
    TM_DATA_MAX = 65536,               /* bytes of a piece of information */
    TM_NODES_MAX = 65536,              /* of a job */
    TM_ANSWER_MAX = 10 * TM_NODES_MAX, /* bytes: the answer to TM_INIT numbers all nodes */
};

/* In the order of enum tm_kind's numbers in an event. */
enum tm_kind {
    TM_INIT,
    TM_SPAWN,
    TM_OBIT,
    TM_SIGNAL,
    TM_POSTINFO,
    TM_GETINFO,
    TM_ATTACH,
    TM_KINDS = 8
};

/* A job, as the environment describes it; the strings belong to the environment. */
struct tm_job {
    const char *id, *cookie;
    uint32_t task; /* of the calling process */
    uint32_t port;
    bool is_torque;
    bool is_framed; /* messages are in packets */
};

/* Is the environment a job's? 0 with *ret, or -1 with what is missing. */
int tm_job_read(struct tm_job *ret, struct error *err);

/* The number of a request, made of the caller's object and the request's kind. */
static inline uint32_t tm_event(uint32_t object, enum tm_kind kind)
{
    return (object + 1) * TM_KINDS + kind;
}
static inline enum tm_kind tm_event_kind(uint32_t event)
{
    return event % TM_KINDS;
}
static inline uint32_t tm_event_object(uint32_t event)
{
    return event / TM_KINDS - 1;
}

/* A request is begun, gets the items of its kind, and is finished: as it is to be written. 0, or -1
 * with err: it is longer than TM_REQUEST_MAX. */
void tm_request_begin(struct buffer *to, const struct tm_job *job, uint32_t event);
int tm_request_finish(struct buffer *to, const struct tm_job *job, struct error *err);
int tm_request_spawn(struct buffer *to, const struct tm_job *job, uint32_t event, uint32_t node,
                     const char *path, const char *const *environment, struct error *err);
int tm_request_task(struct buffer *to, const struct tm_job *job, uint32_t event, uint32_t node,
                    uint32_t task, int signo, struct error *err); /* TM_OBIT, TM_SIGNAL */
int tm_request_post(struct buffer *to, const struct tm_job *job, uint32_t event, const char *name,
                    const void *data, size_t n, struct error *err);
int tm_request_get(struct buffer *to, const struct tm_job *job, uint32_t event, uint32_t node,
                   uint32_t task, const char *name, struct error *err);

/* Makes the session of a process of this host and user a task of the job. TM_ATTACH goes without a
 * cookie: pbs_mom looks at whom the connection belongs to. */
int tm_request_attach(struct buffer *to, const struct tm_job *job, uint32_t event, uint32_t uid,
                      uint32_t pid, struct error *err);

struct tm_answer {
    uint32_t event;
    int error;     /* 0: it is done; else TM's number of what is wrong, see tm_error_text() */
    int64_t value; /* of TM_INIT the number of nodes, of TM_SPAWN the task, of TM_OBIT the status */
    const uint8_t *data; /* of TM_GETINFO; in the buffer, until that changes */
    size_t n;
};

/* Takes packets from what was read, `raw`, into `messages`. -1 with err: this is no packet. */
int tm_unpack(struct buffer *raw, struct buffer *messages, const struct tm_job *job,
              struct error *err);
/* Reads the first answer. Returns its length, which the caller consumes; 0: it is not all there
 * yet; -1 with err: no answer at all. */
ssize_t tm_answer_read(const struct buffer *messages, struct tm_answer *ret, struct error *err);
enum { TM_ATTACHED_ALREADY = 17008, TM_NO_PROCESS = 17011 }; /* errors */
const char *tm_error_text(int error);
/* As from waitpid(): PBS has 256 and the number for a task that a signal has ended. */
int tm_wait_status(int64_t status);
