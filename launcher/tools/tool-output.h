/* SPDX-License-Identifier: BSD-3-Clause */
/* tool-output.h - what ranks write, for tools that have asked for it (PMIx_IOF_pull)
 *
 * A copy of it goes to each host on which a tool has asked, until the step ends; mppmi there knows
 * which tool wants what. A tool never slows ranks: of what its host has not taken, no more than
 * TOOL_OUTPUT_MAX bytes are under way, and the rest is lost to it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/hosts/host-table.h"

struct tool_output { /* tool-output.c's; zero: nobody has asked */
    struct tool_host *hosts;
    size_t n; /* hosts whose tools want the output */
};

void tool_output_free(struct tool_output *t);
/* A tool of this host asks, maybe again. */
void tool_output_want(struct tool_output *t, struct host *h);
/* A rank writes n bytes. */
void tool_output_put(struct tool_output *t, const struct bulk_header *bh, const void *data,
                     size_t n);
/* mppmi of this host has taken n bytes. */
void tool_output_taken(struct tool_output *t, const struct host *h, uint64_t n);
