/* SPDX-License-Identifier: BSD-3-Clause */
/* cleanup.h - removes the step's cgroups and directories, and lists what could not be removed or
 * killed */
#pragma once

#include <stdbool.h>

struct cleanup;
struct host_directories;
struct loop;
struct loop_defer;
struct step_containment;
struct uplink;

/* turn: scheduled when the cleanup is done. NULL: no memory. */
struct cleanup *cleanup_create(struct loop *loop, struct loop_defer *turn,
                               struct step_containment *containment);
void cleanup_destroy(struct cleanup *c); /* NULL is fine */
/* Something stays behind: a sentence for mprun. */
void cleanup_add_stuck(struct cleanup *c, const char *text);
/* Remove cgroups and directories (NULL: none), again and again for CLEANUP_SECONDS at most. */
void cleanup_begin(struct cleanup *c, const struct host_directories *directories);
bool cleanup_is_done(const struct cleanup *c);
/* Tell the keeper and mprun (CLEANED) that all is removed, or what is not. Without a link it is
 * logged. */
void cleanup_report(const struct cleanup *c, int keeper_fd, struct uplink *up,
                    const char *hostname);
