/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-frame.c - headers, handshakes and preambles from any bytes: what is taken is written again
 * as the same bytes, and nobody without the key is believed */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "wire/link/key-proof.h"
#include "wire/messages/frame.h"
#include "wire/start-channel/preamble.h"

static void try_frame_header(const uint8_t *data, size_t size)
{
    uint8_t again[FRAME_HEADER];
    struct frame_header h;
    struct error err = {.text = ""};
    if (size < FRAME_HEADER)
        return;
    if (frame_header_unpack(data, &h, &err) < 0) {
        MUST(err.text[0]);
        return;
    }
    MUST(h.length <= FRAME_PAYLOAD_MAX && h.type > FRAME_NONE && h.type < FRAME_TYPE_COUNT);
    MUST(frame_type_text(h.type)[0]);
    frame_header_pack(&h, again);
    MUST(memcmp(again, data, FRAME_HEADER) == 0);
}

static void try_bulk_header(const uint8_t *data, size_t size)
{
    uint8_t again[BULK_HEADER];
    struct bulk_header h;
    struct error err = {.text = ""};
    if (bulk_header_unpack(data, size, &h, &err) < 0) {
        MUST(err.text[0]);
        return;
    }
    MUST(size >= BULK_HEADER && h.stream <= 2);
    bulk_header_pack(&h, again);
    MUST(memcmp(again, data, BULK_HEADER) == 0);
}

static const uint8_t key[HANDSHAKE_KEY] = "a key that no input can know";

static void try_acceptor(const uint8_t *data, size_t size)
{
    struct handshake h;
    struct handshake_session claim;
    struct error err = {.text = ""};
    uint8_t a1[HANDSHAKE_A1];
    handshake_init(&h, key, 0, data[0] & HANDSHAKE_ENCRYPT);
    if (size >= HANDSHAKE_C1 && handshake_take_c1(&h, data, a1, &err) == 0) {
        data += HANDSHAKE_C1;
        size -= HANDSHAKE_C1;
        if (size >= HANDSHAKE_C2)
            MUST(handshake_take_c2(&h, data, &claim, &err) < 0 && err.text[0]);
    }
    handshake_wipe(&h);
}

static void try_connector(const uint8_t *data, size_t size)
{
    struct handshake h;
    struct error err = {.text = ""};
    struct handshake_session theirs;
    enum handshake_answer answer;
    uint8_t c1[HANDSHAKE_C1];
    handshake_init(&h, key, 1, data[0] & HANDSHAKE_ENCRYPT);
    handshake_c1(&h, c1);
    if (size >= HANDSHAKE_A1)
        MUST(handshake_take_a1(&h, data, &err) < 0 && err.text[0]);
    if (size >= HANDSHAKE_A2)
        MUST(handshake_take_a2(&h, data, &answer, &theirs, &err) < 0 && err.text[0]);
    handshake_wipe(&h);
}

/* The bytes read, or -1 with err. */
static int preamble_from(const uint8_t *data, size_t size, struct preamble *ret, struct error *err)
{
    AUTO_CLOSE int fd = memfd_create("preamble", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    return preamble_read(fd, ret, err) < 0 ? -1 : (int)lseek(fd, 0, SEEK_CUR);
}

static void try_preamble(const uint8_t *data, size_t size)
{
    struct preamble p, again;
    struct error err = {.text = ""};
    uint8_t out[PREAMBLE_MAX];
    int used = preamble_from(data, size, &p, &err);
    if (used < 0) {
        MUST(err.text[0]);
        return;
    }
    MUST((size_t)used <= size);
    int n = preamble_pack(&p, out, &err);
    MUST(n > 0 && n <= PREAMBLE_MAX && preamble_from(out, (size_t)n, &again, &err) == n);
    MUST(memcmp(p.key, again.key, sizeof(p.key)) == 0 && p.host_id == again.host_id &&
         p.flags == again.flags && p.launcher == again.launcher &&
         strcmp(p.addresses, again.addresses) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int ready;
    struct error err;
    if (!ready)
        MUST(handshake_library_init(&err) == 0);
    ready = 1;
    if (size == 0)
        return 0;
    try_frame_header(data, size);
    try_bulk_header(data, size);
    try_acceptor(data, size);
    try_connector(data, size);
    try_preamble(data, size);
    return 0;
}
