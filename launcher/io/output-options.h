/* SPDX-License-Identifier: BSD-3-Clause */
/* output-options.h - what users say of the output of ranks: where it goes and how it looks */
#pragma once

#include <stdbool.h>

#include "launcher/io/output-files.h"
#include "launcher/io/line-format.h"

/* The strings belong to the command line. */
struct output_options {
    struct line_format lines;
    struct output_files_options files;
    bool says_errors;   /* the line has an option for standard error alone */
    bool merge_streams; /* stderr goes where stdout goes */
    bool first_failure; /* the last lines of the rank that failed first are shown at the end */
    bool merge_lines;   /* of many ranks that are the same become one, but in files */
};
