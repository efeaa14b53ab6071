/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-node-grants.c - what mprund takes of a job from elsewhere: grants, also such as were signed
 * by somebody who has the key, mprund-qstat's record, a pe_hostfile */
#include "tests/fuzz/fuzz.h"

#include <sodium.h>
#include <string.h>

#include "node-daemon/reader/ge-spool.h"
#include "node-daemon/reader/inquiry.h"
#include "node-daemon/lib/share.h"
#include "node-daemon/signer/token.h"

enum { RECORD = 304, SIGNED = RECORD + crypto_auth_BYTES };
static const struct token_key key = {.set = 1, .bytes = {7}};
#define NOW INT64_C(1795219657)

static void try_demand(const struct demand *d)
{
    uint8_t buf[DEMAND_BYTES];
    struct demand again;
    struct share s = {.slots = 7, .is_master = 1, .written = *d};
    struct limits l = share_limits(&s, d);
    MUST(d->n <= DEMAND_PARTS);
    demand_put(d, buf);
    MUST(demand_get(buf, &again) == 0 && again.n == d->n);
    MUST(!l.memory.set || (l.memory.value > 0 && !(l.memory.value >> 62)));
    MUST(l.swap.set == l.memory.set && !(l.swap.value >> 62));
    MUST(share_gpus(&s, d) <= UINT16_MAX);
}

static void try_text(const char *text, int may_be_one)
{
    struct token t = {.uid = 1};
    struct error err = {.text = ""};
    if (token_open(&key, text, NOW, &t, &err) < 0) {
        MUST(err.text[0] && t.uid == 1 && !t.job[0]);
        return;
    }
    MUST(may_be_one); /* nobody guesses a MAC */
    MUST(memchr(t.job, 0, sizeof(t.job)) && memchr(t.cell, 0, sizeof(t.cell)) &&
         memchr(t.host, 0, sizeof(t.host)));
    MUST(t.issued <= NOW + TOKEN_SKEW_S && t.expires >= t.issued);
    (void)token_is_for(&t, "23.1", 1001, "default", "n1.example.org");
    try_demand(&t.demand);
}

static void try_signed(const uint8_t *data, size_t size)
{
    unsigned char buf[SIGNED] = {0};
    char text[GRANT_TOKEN_MAX];
    memcpy(buf, data, size < RECORD ? size : RECORD);
    crypto_auth(buf + RECORD, buf, RECORD, key.bytes);
    sodium_bin2base64(text, sizeof(text), buf, sizeof(buf),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    try_text(text, 1);
}

static void try_record(const uint8_t *data, size_t size)
{
    struct inquiry_record r;
    struct demand d;
    memset(&r, 0x5a, sizeof(r));
    memcpy(&r, data, size < sizeof(r) ? size : sizeof(r));
    if (inquiry_fault(&r, size) || r.failed)
        return;
    MUST(size == sizeof(r) && demand_get(r.demand, &d) == 0);
    try_demand(&d);
}

static void try_hosts(const char *text)
{
    size_t n = 0;
    struct ge_host *h = ge_hosts_of_several(text, &n);
    for (size_t i = 0; h && i < n; i++) {
        MUST(h[i].name[0] && memchr(h[i].name, 0, sizeof(h[i].name)));
        MUST(h[i].lines > 1 && h[i].slots > 0 && h[i].slots <= 2 * GE_SLOTS_MAX);
        MUST(i == 0 || strcmp(h[i - 1].name, h[i].name) < 0);
    }
    free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[65536];
    if (size >= sizeof(text))
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    try_text(text, 0);
    try_signed(data, size);
    try_record(data, size);
    try_hosts(text);
    return 0;
}
