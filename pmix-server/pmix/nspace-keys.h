/* SPDX-License-Identifier: BSD-3-Clause */
/* nspace-keys.h - the keys that ranks can read about their world */
#pragma once

#include "pmix-server/pmix/infos.h"
#include "pmix-server/world.h"

/* Adds everything that PMIx_server_register_nspace() needs. tmpdir: the server's directory; nsdir:
 * the session directory of the local ranks. The caller checks to->status. */
void nspace_keys(const struct world *w, const char *tmpdir, const char *nsdir, struct infos *to);
