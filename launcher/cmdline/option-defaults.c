/* SPDX-License-Identifier: BSD-3-Clause */
/* option-defaults.c - the values of options that are not given; --help and mprun(1) name them */
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/tunables.h"
#include "wire/tunables.h"

const struct cmdline option_defaults = {
    .transport = TRANSPORT_AUTO,
    .security = LINK_ENCRYPT,
    .place.oversubscribe = -1,
    .step = {.pmi = PMI_KIND_PMIX | PMI_KINDS_SIMPLE,
             .stdin_target = STDIN_RANK,
             .kill_grace = KILL_GRACE_SECONDS},
    .start_timeout = START_TIMEOUT_SECONDS,
    .fanout = TREE_FANOUT,
    .link_grace = LINK_GRACE_SECONDS,
    .heartbeat = HEARTBEAT_SECONDS,
    .keep = KEEP_AS_NEEDED,
    .start_tree = -1, /* the adapter's threshold */
    .preload_limit = (uint64_t)1 << 30,
};
