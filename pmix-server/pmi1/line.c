/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmi1/line.h"

#include <string.h>

#include "common/number.h"

int pmi1_parse(char *line, struct pmi1_line *ret)
{
    char *rest = line, *word;
    ret->n = 0;
    while ((word = strsep(&rest, " "))) {
        char *equals = strchr(word, '=');
        if (!*word) /* several blanks */
            continue;
        if (!equals || equals == word || ret->n == PMI1_FIELDS_MAX)
            return -1;
        *equals = 0;
        ret->fields[ret->n].name = word;
        ret->fields[ret->n++].value = equals + 1;
    }
    return ret->n ? 0 : -1;
}

const char *pmi1_field(const struct pmi1_line *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->fields[i].name, name))
            return l->fields[i].value;
    return NULL;
}

int pmi1_number(const struct pmi1_line *l, const char *name, int max, int *ret)
{
    const char *text = pmi1_field(l, name);
    int64_t v;
    if (!text || number_parse(text, NULL, -max, max, &v, NULL) < 0)
        return -1;
    *ret = (int)v;
    return 0;
}
