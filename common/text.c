/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/text.h"

#include <stdarg.h>
#include <stdlib.h>

static char *format(const char *fmt, va_list ap)
{
    char *text;
    return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

char *text_format(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = format(fmt, ap);
    va_end(ap);
    return text;
}

int text_append(char **list, const char *separator, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *more = format(fmt, ap);
    va_end(ap);
    char *longer =
        more ? text_format("%s%s%s", *list ? *list : "", *list ? separator : "", more) : NULL;
    free(more);
    if (!longer)
        return -1;
    free(*list);
    *list = longer;
    return 0;
}

FILE *text_begin(struct text_writer *w)
{
    *w = (struct text_writer){.text = NULL};
    return w->out = open_memstream(&w->text, &w->size);
}

char *text_end(struct text_writer *w)
{
    if (w->out && fclose(w->out) == 0)
        return w->text;
    free(w->text);
    return NULL;
}
