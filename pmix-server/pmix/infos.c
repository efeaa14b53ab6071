/* SPDX-License-Identifier: BSD-3-Clause */
/* infos.c - hands arrays in arrays over without a copy: a world has one for each of its ranks. */
#include "pmix-server/pmix/infos.h"

#include <stdbool.h>
#include <stdlib.h>

#include <pmix.h>

#include "common/must.h"

void infos_free(struct infos *i)
{
    for (size_t k = 0; k < i->n; k++) {
        if (i->v[k].value.type == PMIX_TOPO)
            i->v[k].value.type = PMIX_UNDEF;
        PMIX_INFO_DESTRUCT(&i->v[k]);
    }
    free(i->v);
    *i = (struct infos){.v = NULL};
}

/* Returns the next free element, with its key; NULL with i->status set. */
static pmix_info_t *infos_next(struct infos *i, const char *key)
{
    if (i->status != PMIX_SUCCESS)
        return NULL;
    if (i->n == i->cap) {
        i->cap = i->cap ? i->cap * 2 : 16;
        i->v = must(realloc(i->v, i->cap * sizeof(*i->v)));
    }
    pmix_info_t *info = &i->v[i->n];
    PMIX_INFO_CONSTRUCT(info);
    PMIX_LOAD_KEY(info->key, key);
    return info;
}

void infos_add(struct infos *i, const char *key, const void *value, pmix_data_type_t type)
{
    pmix_info_t *info = infos_next(i, key);
    if (!info)
        return;
    i->status = PMIx_Value_load(&info->value, value, type);
    if (i->status == PMIX_SUCCESS)
        i->n++;
}

void infos_string(struct infos *i, const char *key, const char *value)
{
    infos_add(i, key, value, PMIX_STRING);
}

void infos_u16(struct infos *i, const char *key, uint16_t value)
{
    infos_add(i, key, &value, PMIX_UINT16);
}

void infos_u32(struct infos *i, const char *key, uint32_t value)
{
    infos_add(i, key, &value, PMIX_UINT32);
}

void infos_rank(struct infos *i, const char *key, pmix_rank_t value)
{
    infos_add(i, key, &value, PMIX_PROC_RANK);
}

void infos_true(struct infos *i, const char *key)
{
    bool yes = true;
    infos_add(i, key, &yes, PMIX_BOOL);
}

void infos_array(struct infos *i, const char *key, struct infos *sub)
{
    pmix_info_t *info = sub->status == PMIX_SUCCESS ? infos_next(i, key) : NULL;
    if (!info) {
        if (i->status == PMIX_SUCCESS)
            i->status = sub->status;
        infos_free(sub);
        return;
    }
    pmix_data_array_t *array = must(malloc(sizeof(*array)));
    *array = (pmix_data_array_t){.type = PMIX_INFO, .size = sub->n, .array = sub->v};
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = array;
    i->n++;
    *sub = (struct infos){.v = NULL};
}

void infos_elements(struct infos *i, const char *key, void *elements, size_t n,
                    pmix_data_type_t type)
{
    pmix_data_array_t *array = must(malloc(sizeof(*array)));
    pmix_info_t *info = infos_next(i, key);
    *array = (pmix_data_array_t){.type = type, .size = n, .array = elements};
    if (!info) {
        PMIX_DATA_ARRAY_FREE(array);
        return;
    }
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = array;
    i->n++;
}

void infos_topology(struct infos *i, const char *key, pmix_topology_t *topology)
{
    pmix_info_t *info = infos_next(i, key);
    if (!info)
        return;
    info->value.type = PMIX_TOPO;
    info->value.data.topo = topology;
    i->n++;
}
