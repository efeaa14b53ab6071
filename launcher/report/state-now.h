/* SPDX-License-Identifier: BSD-3-Clause */
/* state-now.h - which ranks run, and which have ended (--report-state-on-timeout) */
#pragma once

struct step_record;

/* Say it: a line for each host, or the sum of more than STATE_HOSTS_MAX hosts. */
void state_now_say(const struct step_record *r);
