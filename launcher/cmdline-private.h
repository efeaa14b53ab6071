/* SPDX-License-Identifier: BSD-3-Clause */
/* cmdline-private.h - between the table of options and the parser that uses it */
#ifndef LAUNCHER_CMDLINE_PRIVATE_H
#define LAUNCHER_CMDLINE_PRIVATE_H

#include "common/options.h"
#include "launcher/cmdline.h"

/* What an option is applied to. */
struct cmdline_target {
    struct cmdline *line;
    struct cmdline_app *app; /* the program whose part of the line is read */
};

/* Does this option belong to one program, and not to the whole step? */
int cmdline_is_app_option(const struct option_def *def);

#endif
