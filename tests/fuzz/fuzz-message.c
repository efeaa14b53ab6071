/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-message.c - any bytes as a control message of each type, and the model's nouns out of it
 *
 * The first byte of the input is the type of frame that it came in. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "wire/messages/frame.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"

/* Packing it again reads every byte of what was taken in. (Not always to the same message: field
 * number 0 is taken in two bytes, but not in the one that the library makes of it.) */
static void try_message(enum frame_type type, const uint8_t *p, size_t n)
{
    ProtobufCMessage *m = frame_unpack(type, p, n);
    if (!m)
        return;
    MUST(protobuf_c_message_check(m));
    size_t size = protobuf_c_message_get_packed_size(m);
    uint8_t *packed = malloc(size + 1);
    MUST(packed && protobuf_c_message_pack(m, packed) == size);
    protobuf_c_message_free_unpacked(m, NULL);
    free(packed);
}

static void try_report(const uint8_t *p, size_t n)
{
    Mprun__Report *m = mprun__report__unpack(NULL, n, p);
    struct usage u, sum = {.known = 0};
    for (size_t i = 0; m && i < m->n_ranks; i++) {
        rank_name_unpack(m->ranks[i]->name);
        usage_unpack(m->ranks[i]->usage, &u);
        MUST(u.known >> USAGE_FIELD_COUNT == 0);
        usage_add(&sum, &u);
    }
    if (m)
        mprun__report__free_unpacked(m, NULL);
}

static void check_launch(const struct launch *l)
{
    uint64_t ranks = 0, placed = 0;
    MUST(l->host_index < l->nhosts && l->step.napps > 0);
    for (size_t i = 0; i < l->step.napps; i++) {
        const struct app *a = &l->step.apps[i];
        MUST(a->argv && a->argv[0] && a->envp && a->directory);
        MUST(rank_set_at(&a->ranks, 0).rank == ranks);
        ranks += rank_set_count(&a->ranks);
    }
    for (size_t i = 0; i < l->nhosts; i++) {
        MUST(l->hosts[i].host);
        placed += rank_set_count(&l->hosts[i].ranks);
    }
    MUST(ranks == l->step.nranks && placed == ranks);
    MUST(strlen(l->step.id) > 0 && !strchr(l->step.id, '/'));
}

static void try_launch(const uint8_t *p, size_t n)
{
    struct launch l;
    struct error err = {.text = ""};
    if (launch_unpack(p, n, 0, &l, &err) < 0) {
        MUST(err.text[0]);
        return;
    }
    check_launch(&l);
    launch_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned type = data[0] % FRAME_TYPE_COUNT;
    if (type == FRAME_LAUNCH)
        try_launch(data + 1, size - 1);
    else
        try_message(type, data + 1, size - 1);
    if (type == FRAME_REPORT)
        try_report(data + 1, size - 1);
    return 0;
}
