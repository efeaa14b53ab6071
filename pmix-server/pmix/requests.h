/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.h - requests of the PMIx library that only mprun can answer: in general (requests.c),
 * collectives (collective.c) and direct modex (dmodex.c); names are in publish.h, new worlds in
 * spawn.h
 *
 * Each request gets exactly one answer: mprun's, or PMIX_ERR_TIMEOUT. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <pmix_server.h>

#include "common/loop.h"
#include "wire/mprun.pb-c.h"

struct server;

/* The library's callback for the answer; exactly one is set. */
struct asker {
    pmix_op_cbfunc_t op;
    pmix_modex_cbfunc_t modex;
    pmix_lookup_cbfunc_t lookup;
    pmix_spawn_cbfunc_t spawn;
    pmix_info_cbfunc_t info;
    void *cbdata;
    uint32_t world; /* that has to answer; 0: none, or the first one, which ends last */
};

/* Answers now. Copies the data, which only a modex has. */
void asker_answer(const struct asker *a, pmix_status_t status, const void *data, size_t n);
/* Returns the time limit in an upcall's directives, in seconds; 0: none. */
int asker_timeout(const pmix_info_t *info, size_t ninfo);

struct requests { /* private to requests.c */
    struct loop *loop;
    TAILQ_HEAD(, request) list;
    uint64_t last_id;
};

void requests_init(struct requests *r, struct loop *loop);
/* Adds a request and returns its id, for the message to mprun. After `seconds` (0: never) the asker
 * gets PMIX_ERR_TIMEOUT, and a later answer is dropped. */
uint64_t requests_add(struct requests *r, const struct asker *a, double seconds);
/* Removes a request; the caller answers its asker, *ret. false: there is none. */
bool requests_take(struct requests *r, uint64_t id, struct asker *ret);
void requests_answer(struct requests *r, uint64_t id, pmix_status_t status, const void *data,
                     size_t n);
/* A world has ended: requests that it has to answer get PMIX_ERR_NOT_FOUND. */
void requests_world_ended(struct requests *r, uint32_t world);

/* Collectives among ranks of several hosts: fence, connect, disconnect, groups, the fence of PMI-1
 * and PMI-2.
 *
 * The library gathers the parts of the local ranks and calls once. mppmi sends this host's part to
 * mprun as COLLECT; COLLECTED brings the parts of all hosts, in the hosts' order.
 *
 * A collective has a signature: one byte for its kind, then eight bytes for each participant (world
 * and rank, little endian, PMIx's number for "all ranks"), sorted, then the name of a group. When
 * the same ranks do the same again, the signature is the same; every host counts that: the turn.
 *
 * A signature has the ranks of another step with the number that mprun has given to their world.
 * The first connect with them asks mprun for that world. */
struct collectives { /* collective.c alone changes it */
    struct turn *turns;
    uint64_t number; /* of the collective that is being answered; all its hosts have the same */
};

enum collective {
    COLLECTIVE_FENCE = 'F',
    COLLECTIVE_CONNECT = 'C',
    COLLECTIVE_DISCONNECT = 'D',
    COLLECTIVE_BARRIER = 'B', /* of PMI-1 and PMI-2 */
    COLLECTIVE_GROUP = 'G',
    COLLECTIVE_GROUP_END = 'g',
};

struct collective_call { /* as in the upcall */
    enum collective kind;
    const char *name; /* of a group; NULL: none */
    const pmix_proc_t *procs;
    size_t nprocs;
    const pmix_info_t *info;
    size_t ninfo;
    const char *data;
    size_t ndata;
    struct asker asker;
};

/* Upcall, and PMI-1's barrier. Copies the call's data; answers through its asker. */
pmix_status_t collective_upcall(struct server *s, const struct collective_call *call);
/* The world has ended: forgets the turns of all collectives with its ranks. Ranks of other worlds
 * that wait in one get an error. */
void collectives_forget(struct server *s, uint32_t world);
/* COLLECTED: answers the call that waits for it; drops the message if there is none. */
void collective_answer(struct server *s, const Mprun__Collected *m);

/* Upcall: members make a group, or end it. */
pmix_status_t group_upcall(struct server *s, pmix_group_operation_t op, const char *name,
                           const pmix_proc_t *procs, size_t nprocs, const pmix_info_t *info,
                           size_t ninfo, pmix_info_cbfunc_t cbfunc, void *cbdata);

/* Events that ranks notify.
 *
 * Upcall: passes the event on to the ranks of other hosts. */
pmix_status_t event_upcall(struct server *s, pmix_status_t code, const pmix_proc_t *source,
                           pmix_data_range_t range, pmix_info_t *info, size_t ninfo);
/* The library runs: from now on its alerts of ranks here go to the ranks of other hosts, too. */
void events_pass_alerts(struct server *s);
/* PMI_EVENT: notifies the ranks here. */
void event_take(struct server *s, const Mprun__PmiEvent *m);
/* A world of another step has ended, or its step is gone: notifies ranks that asked for that. */
void event_other_ended(const char *nspace);

/* Upcalls: a rank signals or ends some ranks (control.c); a rank aborts some other ranks. */
pmix_status_t control_upcall(struct server *s, const pmix_proc_t *from, const pmix_proc_t *procs,
                             size_t n, const pmix_info_t *info, size_t ninfo,
                             const struct asker *asker);
pmix_status_t abort_some_upcall(struct server *s, const pmix_proc_t *from, int code,
                                const char *text, const pmix_proc_t *procs, size_t n,
                                const struct asker *asker);

/* Upcall: a rank writes by PMIx_Log (log.c). */
void log_upcall(struct server *s, const pmix_proc_t *from, const pmix_info_t *data, size_t ndata,
                const struct asker *asker);

/* Upcall: a tool or a rank asks for output of ranks, or no longer wants it (iof.c). */
pmix_status_t iof_pull_upcall(struct server *s);
/* OUTPUT: gives it to those that have asked. -1: the message is not valid. */
int iof_take(struct server *s, const uint8_t *payload, size_t n);

/* Upcall: a rank or tool has bytes for the standard input of ranks (push.c). Copies them. */
pmix_status_t push_upcall(struct server *s, const pmix_proc_t *procs, size_t nprocs,
                          const pmix_byte_object_t *bytes, const struct asker *asker);
/* INPUT_PUSHED: answers the upcall. */
void push_answer(struct server *s, const Mprun__InputPushed *m);

/* Upcall: a rank or tool has questions about the step. The library keeps queries until the
 * answer. */
pmix_status_t query_upcall(struct server *s, pmix_query_t *queries, size_t n,
                           pmix_info_cbfunc_t cbfunc, void *cbdata);
/* RANK_TABLE, HOSTS_USAGE: go on with the questions that wait for the message. */
void query_take_table(struct server *s, const Mprun__RankTable *m);
void query_take_usage(struct server *s, const Mprun__HostsUsage *m);

/* Upcall: a tool that is no rank connects (tools.c). */
void tool_upcall(struct server *s, const pmix_info_t *info, size_t ninfo,
                 pmix_tool_connection_cbfunc_t cbfunc, void *cbdata);

/* Direct modex: fetches a rank's data from its host when another rank needs the data.
 *
 * Upcall: a local rank wants the data of a rank elsewhere. */
pmix_status_t dmodex_upcall(struct server *s, const pmix_proc_t *proc, const pmix_info_t *info,
                            size_t ninfo, const struct asker *asker);
/* MODEX_REQUEST: a rank of another host wants the data of a local rank. Sends MODEX_REPLY once the
 * local rank has published its data. */
void dmodex_serve(struct server *s, const Mprun__ModexRequest *m);
/* MODEX_REPLY: answers the upcall that asked. */
void dmodex_answer(struct server *s, const Mprun__ModexReply *m);
