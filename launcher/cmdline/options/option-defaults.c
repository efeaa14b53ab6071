/* SPDX-License-Identifier: BSD-3-Clause */
/* option-defaults.c - the values of options that are not given; --help and mprun(1) name them */
#include "launcher/cmdline/options/option-functions.h"
#include "launcher/tunables.h"
#include "wire/tunables.h"

const struct cmdline option_defaults = {
    .links.transport = TRANSPORT_AUTO,
    .links.security = LINK_ENCRYPT,
    .place.oversubscribe = -1,
    .step = {.pmi = PMI_KIND_PMIX | PMI_KINDS_SIMPLE,
             .stdin_target = STDIN_RANK,
             .kill_grace = KILL_GRACE_SECONDS},
    .start.timeout = START_TIMEOUT_SECONDS,
    .links.fanout = TREE_FANOUT,
    .links.grace = LINK_GRACE_SECONDS,
    .links.heartbeat = HEARTBEAT_SECONDS,
    .start.keep = KEEP_AS_NEEDED,
    .start.tree = -1, /* the adapter's threshold */
    .preload.limit = (uint64_t)1 << 30,
};
