/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-pmi1.c - what a rank can write to its PMI-1 descriptor, and what barriers bring from other
 * hosts: taken as a whole or refused
 *
 * The first byte of the input chooses which. */
#include "tests/fuzz/fuzz.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "pmix-server/pmi1/pairs.h"

static void try_line(const uint8_t *data, size_t size)
{
    char *line = fuzz_text(data, size);
    size_t length = strlen(line);
    struct pmi1_line l;
    int number;
    if (pmi1_parse(line, &l) == 0) {
        MUST(l.n > 0 && l.n <= PMI1_FIELDS_MAX);
        for (size_t i = 0; i < l.n; i++) {
            MUST(l.fields[i].name >= line && l.fields[i].name[0]);
            MUST(l.fields[i].value + strlen(l.fields[i].value) <= line + length);
            MUST(pmi1_field(&l, l.fields[i].name));
            if (pmi1_number(&l, l.fields[i].name, 1000, &number) == 0)
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
        try_line(data + 1, size - 1);
    return 0;
}
