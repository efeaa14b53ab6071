/* SPDX-License-Identifier: BSD-3-Clause */
/* start-progress.h - while hosts are being started: how many have reported back, who is awaited
 *
 * On a terminal one line is drawn again and again, and erased at the end or before anything else is
 * written. Where nothing happens for a while, a note names the hosts that are awaited. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct host;
struct start_progress;
struct step_plan;

/* hosts: the plan's used ones. NULL: out of memory. The functions below take NULL. */
struct start_progress *start_progress_create(const struct step_plan *plan,
                                             struct host *const *hosts);
void start_progress_destroy(struct start_progress *p);
/* START_TICK_SECONDS are over, and so many hosts have reported back by now. True: the hosts that
 * are awaited have been named. */
bool start_progress_tick(struct start_progress *p, size_t nreported);
void start_progress_draw(struct start_progress *p);
void start_progress_erase(struct start_progress *p);
