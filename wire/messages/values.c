/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/messages/values.h"

#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "common/text/words.h"
#include "wire/tunables.h"

char *bytes_dup(const ProtobufCBinaryData *b)
{
    if (b->len && memchr(b->data, 0, b->len))
        return NULL;
    return must(strndup(b->data ? (const char *)b->data : "", b->len));
}

char **strings_unpack(const ProtobufCBinaryData *b, size_t n)
{
    char **s = must(calloc(n + 1, sizeof(*s)));
    for (size_t i = 0; i < n; i++)
        if (!(s[i] = bytes_dup(&b[i]))) {
            words_free(s);
            return NULL;
        }
    return s;
}

ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){.len = text ? strlen(text) : 0,
                                 .data = (uint8_t *)(uintptr_t)text};
}

void rank_name_pack(struct rank_name r, Mprun__RankName *ret)
{
    mprun__rank_name__init(ret);
    ret->world = r.world;
    ret->rank = r.rank;
    ret->incarnation = r.incarnation;
}

struct rank_name rank_name_unpack(const Mprun__RankName *m)
{
    if (!m)
        return (struct rank_name){0};
    return (struct rank_name){m->world, m->rank, m->incarnation};
}

void usage_pack(const struct usage *u, struct packed_usage *ret)
{
    mprun__usage__init(&ret->message);
    ret->message.known = u->known;
    ret->message.value = ret->values;
    for (int f = 0; f < USAGE_FIELD_COUNT; f++)
        if (usage_has(u, f))
            ret->values[ret->message.n_value++] = u->value[f];
}

void usage_unpack(const Mprun__Usage *m, struct usage *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!m)
        return;
    size_t at = 0;
    for (int f = 0; f < USAGE_FIELD_COUNT && at < m->n_value; f++)
        if ((m->known >> f) & 1)
            usage_set(ret, f, m->value[at++]);
}

void limits_pack(const struct limits *l, struct packed_limits *ret)
{
    mprun__limits__init(&ret->message);
    ret->message.limits = ret->list;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        if (!l->of[k].set)
            continue;
        Mprun__Limit *m = ret->list[ret->message.n_limits++] = &ret->each[k];
        mprun__limit__init(m);
        m->kind = (uint32_t)k;
        m->value = l->of[k].value;
        m->held_by = l->of[k].held_by;
    }
}

void limits_unpack(const Mprun__Limits *m, struct limits *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; m && i < m->n_limits; i++) {
        const Mprun__Limit *l = m->limits[i];
        if (l->kind < LIMIT_KIND_COUNT)
            ret->of[l->kind] = (struct limit){
                .set = 1,
                .value = l->value,
                .held_by = l->held_by <= HELD_BY_CGROUP ? l->held_by : HELD_BY_NONE,
            };
    }
}

double seconds_unpack(double s)
{
    if (!(s > 0)) /* NaN too */
        return 0;
    return s < MESSAGE_SECONDS_MAX ? s : MESSAGE_SECONDS_MAX;
}

void window_pack(const struct tty_size *size, Mprun__Window *ret)
{
    *ret = (Mprun__Window)MPRUN__WINDOW__INIT;
    ret->rows = size->rows;
    ret->columns = size->columns;
}

struct tty_size window_unpack(const Mprun__Window *m)
{
    return (struct tty_size){.rows = m->rows & 0xffff, .columns = m->columns & 0xffff};
}
