/* SPDX-License-Identifier: BSD-3-Clause */
/* report-options.h - which reports users want */
#pragma once

#include <stdbool.h>

enum report_usage {
    REPORT_USAGE_NONE,
    REPORT_USAGE,     /* many ranks are summarised */
    REPORT_USAGE_ALL, /* a row for every rank */
};

struct report_options {
    enum report_usage usage;
    bool launch, containment;
    const char *json; /* file, "-": standard output; NULL: none */
};
