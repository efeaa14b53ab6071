/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.h - LAUNCH: tells every host what to run
 *
 * All hosts get the same bytes, and each host finds its own place in them. */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "common/text/idset.h"
#include "model/step.h"

struct launch {
    struct step step;
    uint32_t world;
    bool has_parent; /* a rank has asked for the world: `parent` */
    struct rank_name parent;
    uint8_t *preput; /* bytes of LAUNCH that only mppmi reads */
    size_t npreput;
    struct placement *hosts; /* all hosts of the world */
    size_t nhosts;
    /* Only launch_unpack() sets these: the receiver's own place. */
    uint32_t host_index;
    bool granted_all; /* the host may use all threads that it is allowed; else those in `granted` */
    struct idset granted;
    char *slots;         /* of step.bind.slots; NULL: none */
    char *granted_cores; /* in place of `granted`: see struct placement; NULL: not stated */

    bool report_bindings;
    bool same_machine; /* hosts of this step share one machine */
};

/* Returns the receiver's own placement. */
static inline const struct placement *launch_here(const struct launch *l)
{
    return &l->hosts[l->host_index];
}

enum { LAUNCH_RANKS_MAX = IDSET_MAX }; /* of a world */

void launch_free(struct launch *l); /* frees what it holds, not l */
/* Takes grants from the placements; neither keeps nor changes l. The caller frees the message. */
uint8_t *launch_pack(const struct launch *l, size_t *ret_n);
/* Checks everything that a receiver relies on. -1 with err, which says what is wrong. */
int launch_unpack(const uint8_t *p, size_t n, uint32_t host_index, struct launch *ret,
                  struct error *err);

/* Packs the step's programs as messages, which borrow their texts; environments if with_env. */
struct packed_apps {
    size_t n;
    struct Mprun__App **list;
};
void apps_pack(const struct step *s, bool with_env, struct packed_apps *ret);
void packed_apps_free(struct packed_apps *p);
