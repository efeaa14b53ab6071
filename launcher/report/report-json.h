/* SPDX-License-Identifier: BSD-3-Clause */
/* report-json.h - the report for programs: share/report-schema.json, explained in doc/report.md */
#pragma once

#include "common/error.h"
#include "launcher/report/report.h"

/* Write to a file, replaced in one go ("-": standard output). 0, or -1. */
int report_write_json(const struct report *r, const char *path, struct error *err);
