/* SPDX-License-Identifier: BSD-3-Clause */
/* nspace-keys.h - what ranks can ask PMIx about their world */
#ifndef PMIX_SERVER_NSPACE_KEYS_H
#define PMIX_SERVER_NSPACE_KEYS_H

#include "pmix-server/infos.h"
#include "pmix-server/world.h"

/* Everything that PMIx_server_register_nspace() shall know. tmpdir: the server's directory,
 * nsdir: the session directory of the local ranks. Check to->status afterwards. */
void nspace_keys(const struct world *w, const char *tmpdir, const char *nsdir, struct infos *to);

#endif
