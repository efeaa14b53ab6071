/* SPDX-License-Identifier: BSD-3-Clause */
/* signer-protocol.h - signing and checking grants: the signer alone has the key
 *
 * It never waits for anything but a question, so it is asked and waited for. */
#pragma once

#include "node-daemon/lib/records.h"
#include "node-daemon/signer/token.h"

enum signer_op {
    SIGNER_SIGN, /* token; answer: text */
    SIGNER_OPEN, /* text; answer: token, which was signed with the key and is valid now */
};

struct signer_record {       /* both ways */
    struct record_head head; /* what: enum signer_op */
    int32_t code;            /* 0, or errno; then why is a sentence */
    uint32_t zero;
    struct token token;
    char text[GRANT_TOKEN_MAX + 7];
    char why[256];
};
