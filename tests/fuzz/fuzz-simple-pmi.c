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
#include "pmix-server/simple-pmi/spawn-request.h"

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

/* Fields of a spawn, and a new program wherever PMI-2 has one. */
static int take_message(struct spawn_request *r, char *text)
{
    struct pmi_fields l;
    int rc = pmi2_cut(text, &l);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        if (strcmp(l.list[i].name, "subcmd") == 0)
            spawn_request_begin_program(r);
        rc = spawn_request_take(r, l.list[i].name, l.list[i].value);
    }
    return rc;
}

/* Lines of PMI-1, in which a line without '=' begins a program. */
static int take_lines(struct spawn_request *r, char *text)
{
    char *line;
    int rc = 0;
    while (rc == 0 && (line = strsep(&text, "\n"))) {
        char *value = strchr(line, '=');
        if (value)
            *value++ = 0;
        if (value)
            rc = spawn_request_take(r, line, value);
        else
            spawn_request_begin_program(r);
    }
    return rc;
}

static void try_spawn(int (*take)(struct spawn_request *, char *), const uint8_t *data, size_t size)
{
    char *line = fuzz_text(data, size);
    struct spawn_request *r = spawn_request_create();
    int rc = r ? take(r, line) : -1;
    const Mprun__Spawn *m = r && rc == 0 ? spawn_request_finish(r) : NULL;
    for (size_t i = 0; m && i < m->n_apps; i++)
        MUST(m->apps[i]->count > 0 && m->apps[i]->n_argv > 0);
    struct kvs k = {.root = NULL};
    MUST(!m || kvs_put_packed(&k, m->preput.data, m->preput.len) == 0);
    tdestroy(k.root, free);
    spawn_request_destroy(r);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        try_pairs(data + 1, size - 1);
    else if (data[0] & 4)
        try_spawn(data[0] & 2 ? take_lines : take_message, data + 1, size - 1);
    else
        try_request(data[0] & 2 ? pmi2_cut : pmi1_cut, data + 1, size - 1);
    return 0;
}
