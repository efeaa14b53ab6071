/* SPDX-License-Identifier: BSD-3-Clause */
/* systemd-scope.h - a transient scope of a systemd instance, delegated to us: of the user's, or as
 * root of the system's */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

struct loop;
struct systemd_scope; /* one that is being asked for */
enum { SYSTEMD_SCOPE_PIDS = 3 };
#define SYSTEMD_SCOPE_PREFIX "mprun-"

/* Is there an instance to ask, and is this process one that it may be given: one of a login session
 * and of nothing that another supervisor accounts for? */
bool systemd_scope_is_there(void);
/* "the user's systemd instance", as it is called in messages. */
const char *systemd_scope_instance(void);

/* err NULL: the processes are in the scope. What was asked for is no more. */
typedef void (*systemd_scope_fn)(void *arg, const struct error *err);
/* Have these processes, some of which may be named twice, put into a scope of their own. fn is
 * called once, and later, unless systemd_scope_free() is. NULL with err: it will not be. */
struct systemd_scope *systemd_scope_ask(struct loop *l, const char *step_id,
                                        const pid_t pid[SYSTEMD_SCOPE_PIDS], systemd_scope_fn fn,
                                        void *arg, struct error *err);
void systemd_scope_free(struct systemd_scope *s); /* NULL is fine */
