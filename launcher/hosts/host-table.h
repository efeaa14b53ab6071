/* SPDX-License-Identifier: BSD-3-Clause */
/* host-table.h - the hosts of a step and the states of their starters
 *
 * Everybody may read a host; only the files of hosts/ write it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/loop.h"
#include "launcher/step/step-plan.h"

struct step_record;
struct worlds;

/* of a host's starter */
enum agent_state {
    AGENT_UNUSED,    /* it is not in the step: never started */
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

/* Has the host's starter fallen silent or answered again, and has mprun told the user? */
enum silence { HEARD, SILENT_UNSAID, SILENT, BACK_UNSAID };

struct host {
    struct host_table *table;
    const char *name;
    uint32_t index;               /* in the allocation */
    uint32_t launch_index;        /* among the step's hosts: its number on the wire */
    const struct rank_set *ranks; /* the plan's: of world 0 */
    enum agent_state state;
    bool failed;    /* its starter has died, or never came */
    bool cancelled; /* mprun has cancelled its start: errors of that start are no failures */

    /* links: host-links.c */
    struct link *link;       /* its own; NULL: it is reached through the host above it */
    struct link *first;      /* its own, when it has another way, until all of it is read */
    struct link *frame_link; /* link of the frame that is being handled */
    bool left_first;         /* it sends nothing more on `first` */
    bool below;              /* it has joined the host above, and ends with it */
    bool lost;               /* nothing can be sent to it, or to those below it */
    char *door;              /* addresses where the hosts below it connect; NULL: not known */
    struct link *side;       /* its own, while it gets no answer of the host above; else NULL */
    bool told;               /* over `side`, that the step ends: it then exits without a message */

    /* silent-hosts.c */
    enum silence silence;
    float silent_seconds;
};

struct host_table {
    void *context; /* its owner's, for events of links */
    const struct step_plan *plan;
    struct step_record *record;
    const struct worlds *worlds;
    struct host *all;                 /* of the allocation; plan->nhosts */
    struct host **used;               /* the step's, by launch_index; plan->nused */
    size_t counts[AGENT_STATE_COUNT]; /* hosts in each state */
    bool ending;                      /* all hosts have been told to end their ranks, */
    double end_grace;                 /* with so many seconds between TERM and KILL */
    struct heartbeat *heartbeat;      /* NULL: no host is watched */
    struct loop_timer silence;        /* runs while there is something to say of silent hosts */
};

struct host_table *host_table_create(const struct step_plan *plan, struct step_record *record,
                                     const struct worlds *worlds);
void host_table_destroy(struct host_table *t); /* NULL is fine; the links are closed */

void host_table_close_links(struct host_table *t);

/* Changes a host's state; nothing else does. Notes the time in the record. */
void host_enter(struct host *h, enum agent_state state);
/* Number of the step's hosts that have not reached this state. */
size_t hosts_before(const struct host_table *t, enum agent_state state);
size_t hosts_with_links(const struct host_table *t); /* of their own */

void host_close_link(struct host *h); /* its own, if it has one */
void host_mark_failed(struct host *h);
void host_mark_cancelled(struct host *h);
/* From now on mprun can reach neither this host nor the hosts below it. */
void host_mark_lost(struct host *h);
/* The start of this host has failed: the host waits for another start. */
void host_forget_start(struct host *h);

/* The host that has this rank; NULL: none has. */
struct host *host_of_rank(const struct host_table *t, struct rank_name name);
/* Can a message about this rank come from the host? A world that has ended is not known. */
bool host_may_have_rank(const struct host *h, struct rank_name name);
/* The host with this number on the wire; NULL: there is none. */
struct host *host_at(const struct host_table *t, uint32_t launch_index);

/* The hosts that `which` is true of, in a message: "n2, n[5-7] and 12 others" (size: at least
 * NAME_RUN_TEXT). Returns their number. */
typedef bool (*host_question)(const void *arg, const struct host *h);
size_t hosts_list(const struct host_table *t, host_question which, const void *arg, char *buf,
                  size_t size);
