/* SPDX-License-Identifier: BSD-3-Clause */
/* systemd-scope.h - asks a systemd instance (the user's, or as root the system's) for a transient
 * scope that is delegated to us */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

struct loop;
struct systemd_scope; /* a request under way */
enum { SYSTEMD_SCOPE_PIDS = 3 };
#define SYSTEMD_SCOPE_PREFIX "mprun-"

/* Returns whether there is an instance to ask, and this process may go into a scope: it belongs to
 * a login session, and to nothing that another supervisor accounts for. */
bool systemd_scope_is_there(void);
/* Returns what messages call it: "the user's systemd instance". */
const char *systemd_scope_instance(void);

/* err NULL: the processes are in the scope. The request is freed by then. */
typedef void (*systemd_scope_fn)(void *arg, const struct error *err);
/* Asks to have these processes (the same pid may come twice) put into a scope of their own. Calls
 * fn once, later, unless systemd_scope_free() comes first. NULL with err: fn will not be called. */
struct systemd_scope *systemd_scope_ask(struct loop *l, const char *step_id,
                                        const pid_t pid[SYSTEMD_SCOPE_PIDS], systemd_scope_fn fn,
                                        void *arg, struct error *err);
void systemd_scope_free(struct systemd_scope *s); /* NULL is fine */
