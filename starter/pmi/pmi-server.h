/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-server.h - mppmi, the PMI server of this host: its process, and the messages with it
 *
 * The worker listens in its place, and starts it when a rank connects (first-contact.h), when mprun
 * has something for it, and at the latest PMI_LATE_SECONDS after the world is there, for tools.
 * Then it passes on what mprun and mppmi say to each other. A server that gives no answer is
 * killed; when it ends early, the step cannot go on. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

#include "model/rank-name.h"
#include "starter/pmi/first-contact.h"
#include "wire/link/link.h"

struct starter_services;

struct pmi_server_events {
    /* Ranks of this world may start; takes env, which is for all of them. Answers
     * pmi_server_begin() and pmi_server_add_world(). */
    void (*ready)(void *arg, uint32_t world, char **env);
    /* A rank has connected, or finalized. */
    void (*client)(void *arg, struct rank_name rank, bool has_connected);
    /* Answers pmi_server_rank_gone(): nothing more will be said of this rank. */
    void (*rank_gone)(void *arg, struct rank_name rank);
    /* This host's part of a collective: COLLECT. */
    void (*collect)(void *arg, const uint8_t *p, size_t n);
    /* The process has ended, and answers nothing more. why: a sentence, unless it was asked to end
     * or was killed as the ranks were; NULL then. */
    void (*ended)(void *arg, const char *why, int exit_code);
};

struct pmi_server { /* others only read the first part */
    pid_t pid;      /* 0: it does not run yet, or has ended */
    bool refuses;   /* a connection of a rank: it is about to end, or is killed after a while, and
                     * that is the cause to tell */
    struct rusage usage; /* once it has ended */
    /* private to the room */
    const struct starter_services *services;
    const struct pmi_server_events *events;
    void *arg;
    const char *host_name;
    char *path;           /* of the program */
    char directory[160];  /* for its files */
    bool listens_instead; /* it does not run yet: the starter listens in its place */
    struct first_contact contact;
    struct loop_timer late;
    struct link *link;     /* NULL: not yet, or closed by the server, which is about to end */
    bool has_served;       /* its first READY has come */
    bool ranks_are_ready;  /* ready() was called for world 0 */
    unsigned worlds_asked; /* it was told of them, and answers each with READY */
    bool is_asked_to_end;
    bool was_killed;         /* by us, because it gave no answer */
    bool has_told_client;    /* mprun knows that a rank has connected */
    unsigned gone_asked;     /* PMI_GONE that are not answered yet */
    struct loop_timer watch; /* ticks each second while an answer is due */
    unsigned silent;         /* ticks since it last said something */
    struct server_stderr {
        struct loop_io *watch;
        int fd;
        char line[1024];
        size_t n;
    } text;
};

/* Find the program; it is not started yet. NULL with err. */
struct pmi_server *pmi_server_create(const struct starter_services *services,
                                     const struct pmi_server_events *events, void *arg,
                                     struct error *err);
void pmi_server_destroy(struct pmi_server *p); /* NULL is fine */
/* LAUNCH has come, and the step's directories and bindings are there: wait for the first rank, or,
 * where programs of MPI are expected, start the server at once and tell it of the world. ready()
 * answers: before this returns, unless only the server knows the ranks' variables. */
void pmi_server_begin(struct pmi_server *p);
bool pmi_server_has_ended(const struct pmi_server *p); /* or is about to */

/* A spawned world, whose services these are: ready() answers. */
void pmi_server_add_world(struct pmi_server *p, const struct starter_services *world);

/* A connection that a rank inherits for PMI-1 or PMI-2 (PMI_FD); the caller closes it once the rank
 * has it. -1 with err. */
int pmi_server_connect_rank(struct pmi_server *p, struct rank_name rank, struct error *err);
/* A rank was reaped: ask for what the server knows of it; rank_gone() answers. False: there is
 * nothing to know. */
bool pmi_server_rank_gone(struct pmi_server *p, struct rank_name rank);
/* A frame of mprun for mppmi: COLLECTED, MODEX_*. */
void pmi_server_pass_down(struct pmi_server *p, enum frame_type type, const uint8_t *payload,
                          size_t n);

void pmi_server_end(struct pmi_server *p); /* ask it to end; ended() answers */
bool pmi_server_owes_answer(const struct pmi_server *p);
void pmi_server_kill(struct pmi_server *p); /* it gives no answer */
