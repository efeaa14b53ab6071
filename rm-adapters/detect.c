/* SPDX-License-Identifier: BSD-3-Clause */
/* detect.c - the registered adapter that detects its manager
 *
 * Where several managers do (a job of one was started from a job of another, whose variables are
 * still there), it is the one whose process is the nearest ancestor of mprun. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/processes/proc.h"
#include "common/text/words.h"
#include "rm-adapters/adapter.h"
#include "rm-adapters/tunables.h"

/* How far above mprun a process of the manager is; SESSION_ANCESTORS_MAX: there is none. */
static int distance(const struct rm_adapter *a)
{
    struct proc_stat st = {.ppid = getppid()};
    for (int i = 0; i < SESSION_ANCESTORS_MAX && st.ppid > 1; i++) {
        if (proc_stat_read(st.ppid, &st) < 0)
            break;
        if (is_any_of(st.comm, a->parents))
            return i;
    }
    return SESSION_ANCESTORS_MAX;
}

/* Write the words of another adapter into buf, unless it has some: they end a reason. */
static void add_other(char *buf, size_t n, const char *word, const struct rm_adapter *a,
                      const char *why)
{
    if (!buf[0])
        snprintf(buf, n, "; %s %s: %.150s", word, a->name, why);
}

const struct rm_adapter *rm_adapter_detect(const struct host_request *request, char *reason,
                                           size_t n)
{
    const struct rm_adapter *found = NULL;
    char others[200] = "", best[200] = "", why[200];
    for (size_t i = 0; rm_adapters[i]; i++) {
        const struct rm_adapter *a = rm_adapters[i];
        if ((a->parents && request->no_manager) || (found && !a->parents))
            continue;
        why[0] = 0;
        if (!a->detect(request, why, sizeof(why))) {
            if (*why && !found)
                add_other(others, sizeof(others), "not", a, why);
        } else if (!found) {
            found = a;
            memcpy(best, why, sizeof(best));
        } else if (distance(a) < distance(found)) {
            others[0] = 0;
            add_other(others, sizeof(others), "nearer to mprun than", found, best);
            found = a;
            memcpy(best, why, sizeof(best));
        } else {
            others[0] = 0;
            add_other(others, sizeof(others),
                      distance(a) > distance(found) ? "nearer to mprun than" : "there is also", a,
                      why);
        }
    }
    if (found == &rm_adapter_local && !request->no_manager &&
        rm_adapter_other.detect(request, best, sizeof(best)))
        found = &rm_adapter_other;
    snprintf(reason, n, "%s%s", best, others);
    return found;
}
