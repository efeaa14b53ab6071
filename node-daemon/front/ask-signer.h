/* SPDX-License-Identifier: BSD-3-Clause */
/* ask-signer.h - front asks the signer: it never waits for anything, so it is waited for */
#pragma once

#include "node-daemon/lib/start.h"
#include "node-daemon/signer/token.h"

/* When the signer has died, the next one is asked once more. All return 0, or -1 with err: what the
 * signer says against it, or EPIPE, there is none. */

/* The text of a grant from now on. ENOKEY: there is no key. */
int signer_sign(struct start *s, const struct token *t, char text[GRANT_TOKEN_MAX],
                struct error *err);
/* Read a grant that was signed with the key and holds now. The caller compares whose it is. */
int signer_open(struct start *s, const char *text, struct token *ret, struct error *err);
