/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/simple-pmi/fields.h"

#include <string.h>

#include "common/text/number.h"

static int add_field(struct pmi_fields *f, char *word)
{
    char *equals = strchr(word, '=');
    if (!equals || equals == word || f->n == PMI_FIELDS_MAX)
        return -1;
    *equals = 0;
    f->list[f->n].name = word;
    f->list[f->n++].value = equals + 1;
    return 0;
}

int pmi1_cut(char *text, struct pmi_fields *ret)
{
    char *rest = text, *word;
    ret->n = 0;
    while ((word = strsep(&rest, " ")))
        if (*word && add_field(ret, word) < 0) /* several blanks may follow each other */
            return -1;
    return ret->n ? 0 : -1;
}

/* Ends the first field, replaces doubled semicolons in its value, and returns the rest. NULL: the
 * field has no end. */
static char *end_field(char *text)
{
    char *to = text;
    for (; *text; text++) {
        if (*text == ';' && *++text != ';') {
            *to = 0;
            return text;
        }
        *to++ = *text;
    }
    return NULL;
}

int pmi2_cut(char *text, struct pmi_fields *ret)
{
    ret->n = 0;
    for (char *word = text; *word; word = text)
        if (!(text = end_field(word)) || add_field(ret, word) < 0)
            return -1;
    return ret->n ? 0 : -1;
}

const char *pmi_field(const struct pmi_fields *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->list[i].name, name))
            return f->list[i].value;
    return NULL;
}

int pmi_number(const struct pmi_fields *f, const char *name, int max, int *ret)
{
    const char *text = pmi_field(f, name);
    int64_t v;
    if (!text || number_parse(text, NULL, -max, max, &v, NULL) < 0)
        return -1;
    *ret = (int)v;
    return 0;
}
