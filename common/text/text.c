/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/text/text.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/must.h"

static char *format(const char *fmt, va_list ap)
{
    char *text;
    must_do(vasprintf(&text, fmt, ap));
    return text;
}

char *text_format(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = format(fmt, ap);
    va_end(ap);
    return text;
}

void text_append(char **list, const char *separator, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *more = format(fmt, ap);
    va_end(ap);
    char *longer = text_format("%s%s%s", *list ? *list : "", *list ? separator : "", more);
    free(more);
    free(*list);
    *list = longer;
}

FILE *text_begin(struct text_writer *w)
{
    *w = (struct text_writer){.text = NULL};
    return w->out = must(open_memstream(&w->text, &w->size));
}

char *text_end(struct text_writer *w)
{
    must_do(fclose(w->out));
    return w->text;
}
