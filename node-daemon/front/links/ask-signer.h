/* SPDX-License-Identifier: BSD-3-Clause */
/* ask-signer.h - front has the signer sign grants and open them */
#pragma once

#include "node-daemon/lib/start.h"
#include "node-daemon/signer/token.h"

/* When the signer has died, the next one is asked once more. All return 0, or -1 with err: the
 * signer's refusal, or EPIPE: there is no signer. */

/* The text of a grant from now on. ENOKEY: there is no key. */
int signer_sign(struct start *s, const struct token *t, char text[GRANT_TOKEN_MAX],
                struct error *err);
/* Read a grant that was signed with the key and is valid now. The caller checks whose it is. */
int signer_open(struct start *s, const char *text, struct token *ret, struct error *err);
