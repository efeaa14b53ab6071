/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-play.h - plays starter and launcher for mppmi, without either: tests and timing
 *
 * One process holds the sockets of one mppmi for each "host" of this machine, starts the ranks, and
 * joins the parts of collectives as the launcher does. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "launcher/worlds/name-service.h"
#include "wire/tree/gather.h"

enum { PLAY_HOSTS_MAX = 8, PLAY_RANKS_MAX = 512 };

struct play_rank {
    pid_t pid;            /* 0 when it has ended */
    int gone;             /* mppmi has answered PMI_GONE */
    int finalizes_at_end; /* PMI_CLIENT messages before that answer */
    int status;
    int host, local;
    int connects, finalizes; /* PMI_CLIENT messages */
};

struct play_host {
    struct play *play;
    int index;
    char name[32];
    char directory[128];
    pid_t mppmi;
    int mppmi_status; /* when mppmi is 0 */
    struct link *link;
    char **env; /* of PMI_READY */
    size_t nenv;
    char pmi1_socket[140];
    char failed[512]; /* text of PMI_FAILED */
    int closed;
};

struct play_options {
    int nhosts, ranks_per_host;
    int bind;               /* tell mppmi that ranks are bound to one hardware thread each */
    int pmi1;               /* offer PMI-1 as well, and connect the ranks */
    int no_topology;        /* let the library look for itself */
    int leave_running;      /* do not end the ranks when one ended badly or aborted */
    int keep_output;        /* of the ranks, for play_output() */
    double seconds;         /* the whole of it; 0: 60 */
    const char *const *env; /* NAME=value for all ranks, NULL-terminated; may be NULL */
};

struct play {
    struct play_options options;
    struct loop *loop;
    struct reaper *reaper;
    struct play_host hosts[PLAY_HOSTS_MAX];
    struct play_rank ranks[PLAY_RANKS_MAX];
    int nranks;
    char top[96]; /* directory of everything */
    char *xml;
    size_t nxml;
    int aborted, abort_rank, abort_code;
    int aborted_before_gone; /* ABORTED came before that rank's PMI_GONE */
    int first_bad;           /* rank whose end was not exit(0); -1 */
    int collects, requests, replies;
    struct gather_rules rules;
    struct gather *gather; /* parts of collectives */
    struct name_service names;
    int timed_out;
    double started, ready, spawned, ended; /* loop_now() of phases */
    int (*finished)(const struct play *p); /* ends play_until() */
};

/* A fresh directory and one mppmi for each host, with nothing sent yet. */
struct play *play_create(const struct play_options *o, struct error *err);
void play_destroy(struct play *p); /* kills what is left of its own, and removes its files */
/* PMI_INIT and PMI_WORLD to all hosts. */
void play_begin(struct play *p);
int play_is_ready(const struct play *p); /* READY, FAILED or closed on every host */
int play_all_ended(const struct play *p);
/* Run the loop until finished() says so. -1 when time is up. */
int play_until(struct play *p, int (*finished)(const struct play *p));
/* Start the ranks; argv[0] is a path. */
int play_spawn(struct play *p, char *const argv[], struct error *err);
void play_kill_ranks(struct play *p, int signo);
/* PMI_END to all, and wait for the end of every mppmi. */
int play_end(struct play *p);
/* All of it: begin, spawn, wait, end. 0 when nothing timed out. */
int play_run(struct play *p, char *const argv[]);
/* Output of a rank; caller frees. */
char *play_output(const struct play *p, int rank);
/* Entries left in a host's directory; 0 when it is gone. */
int play_leftovers(const struct play *p, int host);
/* A value of PMI_READY's environment, or NULL. */
const char *play_env(const struct play_host *h, const char *name);
