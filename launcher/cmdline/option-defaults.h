/* SPDX-License-Identifier: BSD-3-Clause */
/* option-defaults.h - what holds of an option that is not given
 *
 * --help and mprun(1) name these values, too. */
#pragma once

#include "launcher/cmdline/cmdline.h"
#include "wire/policy.h"

#define OPTION_DEFAULTS                                                                            \
    {                                                                                              \
        .transport = TRANSPORT_AUTO, .security = LINK_ENCRYPT, .oversubscribe = -1,                \
        .step = {.bind.policy = BIND_DEFAULT,                                                      \
                 .pmi = PMI_KIND_PMIX | PMI_KIND_PMI1,                                             \
                 .stdin_target = STDIN_RANK,                                                       \
                 .kill_grace = 10 /* s, --kill-grace */},                                          \
        .start_timeout = 120 /* s */, .fanout = TREE_FANOUT,                                       \
        .link_grace = 60 /* s: a switch that restarts */, .heartbeat = 15 /* s */,                 \
        .start_tree = -1 /* the adapter's threshold */, .preload_limit = (uint64_t)1 << 30,        \
    }
