/* SPDX-License-Identifier: BSD-3-Clause */
/* usage-reports.h - tells mprun what the ranks of this host use now, and what they have used */
#pragma once

#include <stdint.h>

struct ranks;
struct starter_services;

/* Send REPORT: what the ranks, and the starter itself, have used. Nothing is sent without a link,
 * or when memory is out. */
void usage_report_send(const struct starter_services *s);
/* Send WORLD_REPORT of one rank, which is started again. local: as in ranks_pids(). */
void usage_rank_report_send(struct ranks *ranks, uint32_t local);
/* Send WORLD_REPORT: what the ranks of a spawned world, whose services these are, have used. */
void usage_world_report_send(const struct starter_services *world);
/* PRESENT_ASK has come: answer by PRESENT.
 *
 * Where the step's cgroup counts CPU time or memory, its numbers are the answer. What it does not
 * count is added up from the processes that are there, and from what the kernel has told of those
 * that were waited for. */
void usage_present_send(const struct starter_services *s, uint32_t turn);
/* The same with `amounts`: what counts against limits of the whole step. */
void usage_amounts_send(const struct starter_services *s, uint32_t turn, uint32_t kinds);
