/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-hostfile.c - host files, lists of hosts and commands from any text: hosts with names that
 * are safe as words and slots in range, or a sentence that names the file */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/text/words.h"
#include "rm-adapters/hosts/hostlist.h"

static void check_hosts(const struct hostlist *l)
{
    MUST(l->allocation.nhosts > 0);
    for (size_t i = 0; i < l->allocation.nhosts; i++) {
        const struct alloc_host *h = &l->allocation.hosts[i];
        MUST(h->name[0] && h->name[0] != '-' && strlen(h->name) <= HOSTLIST_NAME_MAX);
        MUST(strspn(h->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             ".-_@:%") == strlen(h->name));
        MUST(h->slots.value > 0 && h->slots.value <= HOSTLIST_SLOTS_MAX && h->slots.source[0]);
        MUST(hostlist_find(l, h->name) == h);
        MUST(!h->core_list || strspn(h->core_list, "0123456789,:") == strlen(h->core_list));
    }
}

static void try_file(const char *text, size_t size)
{
    struct hostlist l = {.stated = 0};
    struct error err = {.text = ""};
    if (hostfile_parse(text, size, "f", &l, &err) == 0)
        check_hosts(&l);
    else
        MUST(strncmp(err.text, "host file 'f'", 13) == 0 && strlen(err.text) < 600);
    hostlist_free(&l);
}

static void try_list(const char *text)
{
    struct hostlist l = {.stated = 0};
    struct error err = {.text = ""};
    if (hostlist_parse(text, &l, &err) == 0)
        check_hosts(&l);
    else
        MUST(err.text[0] && strlen(err.text) < 600);
    hostlist_free(&l);
}

static void try_words(const char *text)
{
    char **words = words_split(text, NULL), *quoted = word_quote(text);
    words_free(words);
    words = words_split(quoted, NULL);
    MUST(words && strcmp(words[0], text) == 0 && !words[1]);
    words_free(words);
    free(quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    try_file(text, size);
    try_list(text);
    try_words(text);
    free(text);
    return 0;
}
