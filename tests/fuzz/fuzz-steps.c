/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-steps.c - what the mprun of another step of the job can send about its ranks, and ours
 *
 * The input is cut into messages by their lengths (two bytes). The first byte of each says what it
 * is; that of our own hosts comes in between. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "launcher/hosts/host-links.h"
#include "launcher/tunables.h"
#include "launcher/worlds/job-worlds.h"
#include "launcher/worlds/worlds.h"
#include "wire/little-endian.h"

/* ---- the rest of mprun ----------------------------------------------------------------------- */

static struct host_table table;
static struct host host = {.table = &table};
static uint32_t foreign; /* the world of the other step that was learned last */

void hosts_broadcast(struct host_table *t, enum frame_type type, const ProtobufCMessage *m)
{
    uint32_t number = type == FRAME_PMI_WORLD ? ((const Mprun__PmiWorld *)m)->world
                                              : ((const Mprun__WorldEnd *)m)->world;
    MUST(type == FRAME_PMI_WORLD || type == FRAME_WORLD_END);
    MUST(number & WORLD_OF_OTHER_STEP);
    if (type == FRAME_PMI_WORLD)
        foreign = number;
}

bool host_send(struct host *h, enum frame_type type, const ProtobufCMessage *m)
{
    MUST(h == &host && (type == FRAME_MODEX_REQUEST || type == FRAME_MODEX_REPLY));
    return true;
}

struct host *host_of_rank(const struct host_table *t, struct rank_name name)
{
    return name.world == 0 && name.rank < 4 ? &host : NULL;
}

struct host *host_at(const struct host_table *t, uint32_t launch_index)
{
    return launch_index == 0 ? &host : NULL;
}

struct world *worlds_find(const struct worlds *w, uint32_t number)
{
    return number == 0 ? w->first : NULL;
}

void worlds_mark_told(struct worlds *w, uint32_t number)
{
    MUST(number == 0);
}

uint32_t step_plan_universe(const struct step_plan *p, uint32_t nranks)
{
    return nranks;
}

static void send(void *arg, uint32_t step, enum frame_type type, const ProtobufCMessage *m)
{
    MUST(protobuf_c_message_check(m));
}

static void answer(void *arg, const Mprun__Collect *m, int status, const uint8_t *data, size_t n)
{
    MUST(status == 0 || n == 0);
}

/* ---- one input ------------------------------------------------------------------------------- */

/* A part of our hosts: all ranks of world 0, and those of the world that was learned. */
static void collect(struct job_worlds *j, const uint8_t *data, size_t n)
{
    Mprun__Collect m = MPRUN__COLLECT__INIT;
    uint8_t signature[17] = {'C'};
    put32(signature + 5, RANK_ALL);
    put32(signature + 9, foreign);
    put32(signature + 13, RANK_ALL);
    m.signature = (ProtobufCBinaryData){sizeof(signature), signature};
    m.turn = n;
    job_worlds_collect(j, &m, data, n);
}

static void take(struct job_worlds *j, const uint8_t *data, size_t n)
{
    static const enum frame_type types[] = {FRAME_COLLECT, FRAME_MODEX_REQUEST, FRAME_MODEX_REPLY,
                                            FRAME_WORLD_END};
    uint32_t step = 1 + (data[0] >> 7);
    switch (data[0] & 7) {
    case 0:
    case 1:
    case 2:
    case 3:
        job_worlds_frame(j, step, types[data[0] & 3], data + 1, n - 1);
        break;
    case 4:
    case 5: {
        char name[] = "a";
        name[0] = (char)('a' + (data[0] >> 3 & 3));
        job_worlds_learn(j, step, name, (ProtobufCBinaryData){n - 1, (uint8_t *)data + 1});
        break;
    }
    case 6:
        collect(j, data + 1, n - 1);
        break;
    default:
        job_worlds_step_gone(j, step);
    }
    MUST(j->bytes <= EARLY_PARTS_MAX && j->nothers <= OTHER_WORLDS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world own = {.nranks = 4, .nspace = "own"};
    struct worlds worlds = {.first = &own};
    struct job_worlds j;
    foreign = WORLD_OF_OTHER_STEP;
    job_worlds_init(&j, &table, &worlds);
    job_worlds_on_send(&j, send, NULL);
    job_worlds_on_answer(&j, answer, NULL);
    while (size > 2) {
        size_t n = data[0] | (size_t)data[1] << 8;
        data += 2;
        size -= 2;
        n = n > size ? size : n;
        if (n)
            take(&j, data, n);
        data += n;
        size -= n;
    }
    MUST(!job_worlds_step_gone(&j, 99));
    job_worlds_step_gone(&j, 1);
    job_worlds_step_gone(&j, 2);
    MUST(j.nothers == 0 && j.bytes == 0);
    job_worlds_free(&j);
    return 0;
}
