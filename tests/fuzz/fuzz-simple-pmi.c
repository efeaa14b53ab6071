/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-simple-pmi.c - what a rank can write to its descriptor of PMI-1 or PMI-2, and what fences
 * bring from other hosts: taken as a whole or refused
 *
 * The first byte of the input chooses which. */
#include "tests/fuzz/fuzz.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "pmix-server/simple-pmi/fields.h"
#include "pmix-server/simple-pmi/kvs.h"

static void try_request(int (*cut)(char *, struct pmi_fields *), const uint8_t *data, size_t size)
{
    char *line = fuzz_text(data, size);
    size_t length = strlen(line);
    struct pmi_fields l;
    int number;
    if (cut(line, &l) == 0) {
        MUST(l.n > 0 && l.n <= PMI_FIELDS_MAX);
        for (size_t i = 0; i < l.n; i++) {
            MUST(l.list[i].name >= line && l.list[i].name[0]);
            MUST(l.list[i].value + strlen(l.list[i].value) <= line + length);
            MUST(pmi_field(&l, l.list[i].name));
            if (pmi_number(&l, l.list[i].name, 1000, &number) == 0)
                MUST(number >= -1000 && number <= 1000);
        }
    }
    free(line);
}

static void try_pairs(const uint8_t *data, size_t size)
{
    struct kvs k = {.root = NULL};
    if (kvs_put_packed(&k, data, size) == 0 && size > 0) {
        MUST(data[size - 1] == 0);
        MUST(kvs_get(&k, (const char *)data));
    }
    tdestroy(k.root, free);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        try_pairs(data + 1, size - 1);
    else
        try_request(data[0] & 2 ? pmi2_cut : pmi1_cut, data + 1, size - 1);
    return 0;
}
