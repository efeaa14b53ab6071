/* SPDX-License-Identifier: BSD-3-Clause */
/* start-remarks.h - what users are told, once, of how hosts were started */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct host;
struct step_plan;

struct start_remarks { /* all 0 to begin with; start-remarks.c changes it */
    bool said_session;
    size_t nfallback;        /* hosts linked by their start channels as nothing else answers */
    char fallback_text[900]; /* the first of them, and why */
};

/* A login has moved the host's starter to a session of its own. Said once: logins are configured in
 * the same way everywhere. Nothing is said where mprun itself is in a session: its user has started
 * the manager's daemons by hand, and has put everything there. */
void start_remarks_session(struct start_remarks *m, const struct step_plan *plan,
                           const struct host *h, const char *session);
/* The host is linked by its start channel because mprun cannot be reached from there. */
void start_remarks_fell_back(struct start_remarks *m, const struct host *h, const char *why);
/* All hosts have reported back. */
void start_remarks_all_reported(const struct start_remarks *m, const struct step_plan *plan);
