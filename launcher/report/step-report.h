/* SPDX-License-Identifier: BSD-3-Clause */
/* step-report.h - the reports of a step that were asked for */
#pragma once

#include "common/error.h"
#include "launcher/step-plan.h"
#include "model/rank-end.h"

struct step_record;

/* Writes the reports that the command line asks for, with the user's umask. first: the rank's
 * failure that ended the step; text: the sentence on the step's end, "" for none. Returns 0, or -1
 * with one of the errors. */
int step_report_write(const struct step_plan *plan, const struct step_record *record,
                      const struct rank_end *first, const char *text, int exit_code,
                      struct error *err);
