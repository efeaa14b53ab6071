/* SPDX-License-Identifier: BSD-3-Clause */
/* start-remarks.c - what users are told, once, of how hosts were started */
#include "launcher/start/start-remarks.h"

#include <stdio.h>

#include "common/log.h"
#include "common/login-session.h"
#include "launcher/hosts/host-table.h"
#include "launcher/start/start-client-words.h"

void start_remarks_session(struct start_remarks *m, const struct step_plan *plan,
                           const struct host *h, const char *session)
{
    char own[64];
    login_session_find(own, sizeof(own));
    if (own[0] || !plan->adapter->in_login_session || m->said_session)
        return;
    m->said_session = true;
    log_warn("host %s: a login has put mpstarter into the session '%.60s'; %s", h->name, session,
             plan->adapter->in_login_session);
}

void start_remarks_fell_back(struct start_remarks *m, const struct host *h, const char *why)
{
    log_debug("host %s: %s", h->name, why);
    if (m->nfallback++ == 0)
        snprintf(m->fallback_text, sizeof(m->fallback_text), "%s (%s)", h->name, why);
}

static void say_fallback(const struct start_remarks *m)
{
    char others[64] = "";
    if (m->nfallback > 1)
        snprintf(others, sizeof(others), " and %zu other%s", m->nfallback - 1,
                 m->nfallback > 2 ? "s" : "");
    log_note("mprun cannot be reached from %s%s: the start channel is used there, which is slower; "
             "--interface and --port-range choose where mprun listens",
             m->fallback_text, others);
}

void start_remarks_all_reported(const struct start_remarks *m, const struct step_plan *plan)
{
    log_debug("all hosts have reported back");
    if (m->nfallback > 0)
        say_fallback(m);
    if (plan->adapter->unaccounted && !plan->same_machine)
        log_note("hosts are started by '%s': %s", start_client_name(plan),
                 plan->adapter->unaccounted);
}
