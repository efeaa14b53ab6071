/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/simple-pmi/kvs.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"

struct pair {
    const char *key, *value; /* both in bytes */
    char bytes[];
};

static int pair_order(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static struct pair *pair_create(const char *key, const char *value)
{
    size_t nkey = strlen(key) + 1, nvalue = strlen(value) + 1;
    struct pair *p = must(malloc(sizeof(*p) + nkey + nvalue));
    p->key = memcpy(p->bytes, key, nkey);
    p->value = memcpy(p->bytes + nkey, value, nvalue);
    return p;
}

void kvs_free(struct kvs *k)
{
    tdestroy(k->root, free);
    k->root = NULL;
}

void kvs_put(struct kvs *k, const char *key, const char *value)
{
    struct pair *p = pair_create(key, value);
    struct pair **at = must(tsearch(p, &k->root, pair_order));
    if (*at != p) {
        free(*at);
        *at = p;
    }
}

const char *kvs_get(const struct kvs *k, const char *key)
{
    struct pair like = {.key = key};
    struct pair **at = tfind(&like, &k->root, pair_order);
    return at ? (*at)->value : NULL;
}

void kvs_pack(struct buffer *to, const char *key, const char *value)
{
    buffer_append(to, key, strlen(key) + 1);
    buffer_append(to, value, strlen(value) + 1);
}

int kvs_put_packed(struct kvs *k, const uint8_t *p, size_t n)
{
    while (n > 0) {
        const char *key = (const char *)p;
        const uint8_t *value = memchr(p, 0, n);
        const uint8_t *end =
            value && ++value < p + n ? memchr(value, 0, n - (size_t)(value - p)) : NULL;
        if (!end)
            return -1;
        kvs_put(k, key, (const char *)value);
        n -= (size_t)(end + 1 - p);
        p = end + 1;
    }
    return 0;
}
