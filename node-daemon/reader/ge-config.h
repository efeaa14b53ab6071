/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-config.h - what an execd of Grid Engine wrote about a task:
 * active_jobs/JOB.TASK[/N.HOST]/config */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "node-daemon/lib/ge-names.h"
#include "node-daemon/lib/share.h"
#include "rm-adapters/gridengine/complex-value.h"

enum { GE_BINDING_MAX = 2048, GE_LINE_MAX = 8192 }; /* 256 cores and more */

struct ge_config {
    char owner[64];               /* job_owner: a user's name; "": there are several lines */
    unsigned cores;               /* how many the job has on this host: one a slot */
    char binding[GE_BINDING_MAX]; /* which ones the execd gave this task, "socket,core:socket,core"
                                     as they are laid out; "": it said none */
    struct share share; /* host_slots, 1 where it is not said; h_rss and h_vmem as they were asked
                           for, for a slot or for the job. is_master is not set */
    const char *twice;  /* a name of which there is more than one line; NULL: none */
};

/* Lines NAME=VALUE, as they come: it needs no more memory for a longer file or line. All zero
 * before the first bytes.
 *
 * Values are partly the user's (arguments, paths), so with a newline in one of them a user writes
 * lines before and behind the execd's own, which has no mark. Neither may that lift a limit, nor
 * keep the job from being contained: the smallest number holds, of owners and bindings none. */
struct ge_config_reader {
    char line[GE_LINE_MAX]; /* as far as it has come; of a longer one the beginning */
    size_t len;
    unsigned given, again;             /* a bit for each name */
    struct gridengine_value memory[2]; /* resident, virtual */
    bool is_per_job[2];
    struct ge_config config;
};

void ge_config_feed(struct ge_config_reader *r, const char *bytes, size_t n);
/* Once, after the last bytes. 0, or -1 with err. */
int ge_config_finish(struct ge_config_reader *r, struct ge_config *ret, struct error *err);
