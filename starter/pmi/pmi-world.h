/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-world.h - what mppmi is told of its host and of the world: PMI_INIT and PMI_WORLD */
#pragma once

struct launch;
struct link;
struct rank_binding;

/* Make mppmi's directories in the step's, and send both messages. Sends less when memory is out;
 * the server is then not ready in time. */
void pmi_world_send(struct link *server, const struct launch *launch,
                    const struct rank_binding *binding, const char *directory);
