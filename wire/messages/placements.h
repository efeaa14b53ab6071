/* SPDX-License-Identifier: BSD-3-Clause */
/* placements.h - hosts and their ranks as messages and back
 *
 * Consecutive hosts go into one message if their names count up (common/text/host-name-list.h),
 * each has the ranks of the host before plus a fixed number (blocks in order, or ranks dealt in
 * turn), and their grants are the same. So a message to all hosts hardly grows with their number.
 */
#pragma once

#include "common/error.h"
#include "model/rank-set.h"
#include "model/step.h"
#include "wire/mprun.pb-c.h"

struct packed_placements {
    size_t n;
    Mprun__Placement **list;
};
/* The messages borrow the placements' texts. */
void placements_pack(const struct placement *hosts, size_t n, struct packed_placements *ret);
void packed_placements_free(struct packed_placements *p);

/* Unpacks all hosts, without their grants, and fills the empty map: which host has which rank.
 * Refuses hosts that do not hold each rank of the map's world once: -1 with err. The caller frees
 * *ret with placements_free(). */
int placements_unpack(Mprun__Placement *const *list, size_t n, struct rank_map *map,
                      struct placement **ret, size_t *ret_n, struct error *err);
void placements_free(struct placement *hosts, size_t n);
