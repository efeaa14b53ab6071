/* SPDX-License-Identifier: BSD-3-Clause */
/* usage-reports.h - tells mprun what the ranks of this host use now, and what they have used */
#pragma once

#include <stdint.h>

#include "wire/mprun.pb-c.h"

struct ranks;
struct starter_services;

/* Sends REPORT: what the ranks, and the starter itself, have used. Sends nothing without a link, or
 * when memory is out. */
void usage_report_send(const struct starter_services *s);
/* Sends WORLD_REPORT of one rank that starts again. local: as in ranks_pids(). */
void usage_rank_report_send(struct ranks *ranks, uint32_t local);
/* Sends WORLD_REPORT: what the ranks of a spawned world, whose services these are, have used. */
void usage_world_report_send(const struct starter_services *world);
/* PRESENT_ASK has come: answers by PRESENT.
 *
 * The use of some ranks is the sum over their processes. Where the step's cgroup counts CPU time or
 * memory, its numbers are the answer. Other numbers are sums over the present processes, and over
 * what the kernel has told of reaped ones. */
void usage_present_send(const struct starter_services *s, const Mprun__PresentAsk *question);
/* Answers by PRESENT with `amounts`: what counts against limits of the whole step. */
void usage_amounts_send(const struct starter_services *s, uint32_t turn, uint32_t kinds);
