/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-server.h - mppmi, the PMI server of this host: its process, and the messages with it
 *
 * The worker listens in mppmi's place. It starts mppmi when a rank connects (first-contact.h), or
 * when mprun has something for mppmi, and for tools at the latest PMI_LATE_SECONDS after the world
 * is there. Then it passes on the messages between mprun and mppmi. It kills an mppmi that gives no
 * answer. If mppmi ends early, the step cannot go on. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

#include "model/rank-name.h"
#include "starter/pmi/first-contact.h"
#include "wire/link/link.h"

struct starter_services;

struct pmi_server_events {
    /* Ranks of this world may start; takes env, the variables for all of them. Answers
     * pmi_server_begin() and pmi_server_add_world(). */
    void (*ready)(void *arg, uint32_t world, char **env);
    /* A rank has connected, or finalized. */
    void (*client)(void *arg, struct rank_name rank, bool has_connected);
    /* Answers pmi_server_rank_gone(): the server says nothing more of this rank. */
    void (*rank_gone)(void *arg, struct rank_name rank);
    /* This host's part of a collective: COLLECT. */
    void (*collect)(void *arg, const uint8_t *p, size_t n);
    /* The process has ended, and answers nothing more. why: a sentence; NULL when it was asked to
     * end, or killed because the ranks were. */
    void (*ended)(void *arg, const char *why, int exit_code);
};

struct pmi_server { /* others only read the first part */
    pid_t pid;      /* 0: it does not run yet, or has ended */
    bool refuses;   /* it has refused a rank's connection: it is about to end, or is killed after a
                     * while; the messages name this as the cause */
    struct rusage usage; /* once it has ended */
    /* private to pmi/ */
    const struct starter_services *services;
    const struct pmi_server_events *events;
    void *arg;
    const char *host_name;
    char *path;           /* of the program */
    char directory[160];  /* for its files */
    bool listens_instead; /* the server does not run yet: the starter listens in its place */
    struct first_contact contact;
    struct loop_timer late;
    struct link *link;     /* NULL: not yet, or closed by the server, which is about to end */
    bool has_served;       /* its first READY has come */
    bool ranks_are_ready;  /* ready() was called for world 0 */
    unsigned worlds_asked; /* worlds that it was told of; it answers each with READY */
    bool is_asked_to_end;
    bool was_killed;         /* by this process, because it gave no answer */
    bool has_told_client;    /* mprun knows that a rank has connected */
    unsigned gone_asked;     /* PMI_GONE that it has not answered yet */
    struct loop_timer watch; /* ticks each second while an answer is due */
    unsigned silent;         /* ticks since its last message */
    struct server_stderr {
        struct loop_io *watch;
        int fd;
        char line[1024];
        size_t n;
    } text;
};

/* Finds the program; does not start it yet. NULL with err. */
struct pmi_server *pmi_server_create(const struct starter_services *services,
                                     const struct pmi_server_events *events, void *arg,
                                     struct error *err);
void pmi_server_destroy(struct pmi_server *p); /* NULL is fine */
/* LAUNCH has come, and the step's directories and bindings are there: waits for the first rank, or,
 * if the step expects PMI, starts the server at once and tells it of the world. Calls
 * ready(): before this returns, unless only the server knows the ranks' variables. */
void pmi_server_begin(struct pmi_server *p);
bool pmi_server_has_ended(const struct pmi_server *p); /* or is about to */

/* Adds a spawned world; `world` is that world's services. Calls ready() later. */
void pmi_server_add_world(struct pmi_server *p, const struct starter_services *world);

/* Makes a connection that a rank inherits for PMI-1 or PMI-2 (PMI_FD); the caller closes it once
 * the rank has it. -1 with err. */
int pmi_server_connect_rank(struct pmi_server *p, struct rank_name rank, struct error *err);
/* A rank was reaped: asks the server what it knows of the rank; rank_gone() answers. false: there
 * is nothing to ask. */
bool pmi_server_rank_gone(struct pmi_server *p, struct rank_name rank);
/* Passes on a frame of mprun to mppmi: COLLECTED, MODEX_*. */
void pmi_server_pass_down(struct pmi_server *p, enum frame_type type, const uint8_t *payload,
                          size_t n);

void pmi_server_end(struct pmi_server *p); /* asks the server to end; ended() answers */
bool pmi_server_owes_answer(const struct pmi_server *p);
void pmi_server_kill(struct pmi_server *p); /* kills a server that gives no answer */
