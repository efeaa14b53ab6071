/* SPDX-License-Identifier: BSD-3-Clause */
/* infos.h - growing arrays of pmix_info_t, as the library's calls want them
 *
 * The first failure stays in `status`, and later additions do nothing: a caller checks once, at the
 * end. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <pmix_common.h>

struct infos {
    pmix_info_t *v;
    size_t n, cap;
    pmix_status_t status;
};

void infos_free(struct infos *i); /* leaves an empty, usable array */
/* Copies value, which PMIx_Value_load() reads: a pointer to the number, or the string itself. */
void infos_add(struct infos *i, const char *key, const void *value, pmix_data_type_t type);
void infos_string(struct infos *i, const char *key, const char *value);
void infos_u16(struct infos *i, const char *key, uint16_t value);
void infos_u32(struct infos *i, const char *key, uint32_t value);
void infos_rank(struct infos *i, const char *key, pmix_rank_t value);
void infos_true(struct infos *i, const char *key);
/* Adds an array of infos as the value. Takes the contents of sub, and leaves it empty. */
void infos_array(struct infos *i, const char *key, struct infos *sub);
/* Takes n elements of `type`, which the library has allocated. */
void infos_elements(struct infos *i, const char *key, void *elements, size_t n,
                    pmix_data_type_t type);
/* Adds a pointer that the library uses as it is. infos_free() does not free the topology. */
void infos_topology(struct infos *i, const char *key, pmix_topology_t *topology);
