/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-message.c - any bytes as a control message of each type, and the model's nouns out of it
 *
 * The first byte of the input is the type of frame that it came in. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "wire/messages/frame.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"

static const ProtobufCMessageDescriptor *const descriptors[FRAME_TYPE_COUNT] = {
    [FRAME_HELLO] = &mprun__hello__descriptor,
    [FRAME_PLACE] = &mprun__place__descriptor,
    [FRAME_DOOR] = &mprun__door__descriptor,
    [FRAME_JOINED] = &mprun__joined__descriptor,
    [FRAME_LOST] = &mprun__lost__descriptor,
    [FRAME_READY] = &mprun__ready__descriptor,
    [FRAME_CANNOT_RUN] = &mprun__cannot_run__descriptor,
    [FRAME_STARTED] = &mprun__started__descriptor,
    [FRAME_EXITED] = &mprun__exited__descriptor,
    [FRAME_ABORTED] = &mprun__aborted__descriptor,
    [FRAME_KILL] = &mprun__kill__descriptor,
    [FRAME_SIGNAL] = &mprun__signal__descriptor,
    [FRAME_OUTPUT_CREDIT] = &mprun__output_credit__descriptor,
    [FRAME_INPUT_CREDIT] = &mprun__input_credit__descriptor,
    [FRAME_REPORT] = &mprun__report__descriptor,
    [FRAME_CLEANED] = &mprun__cleaned__descriptor,
    [FRAME_LOG] = &mprun__log__descriptor,
    [FRAME_COLLECT] = &mprun__collect__descriptor,
    [FRAME_COLLECTED] = &mprun__collected__descriptor,
    [FRAME_MODEX_REQUEST] = &mprun__modex_request__descriptor,
    [FRAME_MODEX_REPLY] = &mprun__modex_reply__descriptor,
    [FRAME_PMI_INIT] = &mprun__pmi_init__descriptor,
    [FRAME_PMI_WORLD] = &mprun__pmi_world__descriptor,
    [FRAME_PMI_READY] = &mprun__pmi_ready__descriptor,
    [FRAME_STATUS_REPLY] = &mprun__status_reply__descriptor,
    [FRAME_PRELOAD_OFFER] = &mprun__preload_offer__descriptor,
    [FRAME_PRELOAD_WANTED] = &mprun__preload_wanted__descriptor,
    [FRAME_PRELOAD_TAKEN] = &mprun__preload_taken__descriptor,
    [FRAME_WINDOW] = &mprun__window__descriptor,
    [FRAME_ERRAND] = &mprun__errand__descriptor,
    [FRAME_ERRAND_NEWS] = &mprun__errand_news__descriptor,
    [FRAME_PRESENT_ASK] = &mprun__present_ask__descriptor,
    [FRAME_PRESENT] = &mprun__present__descriptor,
    [FRAME_KILL_RANK] = &mprun__kill_rank__descriptor,
    [FRAME_RESTART_RANK] = &mprun__restart_rank__descriptor,
    [FRAME_SPAWN] = &mprun__spawn__descriptor,
    [FRAME_SPAWNED] = &mprun__spawned__descriptor,
    [FRAME_STACKS_ASK] = &mprun__stacks_ask__descriptor,
    [FRAME_STACKS] = &mprun__stacks__descriptor,
    [FRAME_IDLE] = &mprun__idle__descriptor,
    [FRAME_DEBUG_DAEMON] = &mprun__debug_daemon__descriptor,
    [FRAME_NAME_REQUEST] = &mprun__name_request__descriptor,
    [FRAME_NAME_REPLY] = &mprun__name_reply__descriptor,
    [FRAME_PMI_EVENT] = &mprun__pmi_event__descriptor,
    [FRAME_RANK_TABLE] = &mprun__rank_table__descriptor,
    [FRAME_HOSTS_USAGE] = &mprun__hosts_usage__descriptor,
};

/* Packing it again reads every byte of what was taken in. (Not always to the same message: field
 * number 0 is taken in two bytes, but not in the one that the library makes of it.) */
static void try_message(const ProtobufCMessageDescriptor *d, const uint8_t *p, size_t n)
{
    ProtobufCMessage *m = protobuf_c_message_unpack(d, NULL, n, p);
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
    else if (descriptors[type])
        try_message(descriptors[type], data + 1, size - 1);
    if (type == FRAME_REPORT)
        try_report(data + 1, size - 1);
    return 0;
}
