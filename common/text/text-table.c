/* SPDX-License-Identifier: BSD-3-Clause */
/* text-table.c - aligned columns: cells are kept in one row-major array and measured at the end */
#include "common/text/text-table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"

struct column {
    bool right, dropped;
};

struct text_table {
    struct column *columns;
    size_t ncolumns;
    char **cells; /* row after row, the headings first; NULL: unknown */
    size_t ncells, cap;
};

void text_table_destroy(struct text_table *t)
{
    for (size_t i = 0; i < t->ncells; i++)
        free(t->cells[i]);
    free(t->columns);
    free(t->cells);
    free(t);
}

struct text_table *text_table_create(const char *const headings[])
{
    struct text_table *t = must(calloc(1, sizeof(*t)));
    while (headings[t->ncolumns])
        t->ncolumns++;
    t->columns = must(calloc(t->ncolumns + 1, sizeof(*t->columns)));
    for (size_t i = 0; i < t->ncolumns; i++) {
        t->columns[i].right = headings[i][0] == '>';
        text_table_cell(t, "%s", headings[i] + t->columns[i].right);
    }
    return t;
}

/* Takes cell. */
static void add_cell(struct text_table *t, char *cell)
{
    if (t->ncells == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->cells = must(reallocarray(t->cells, t->cap, sizeof(*t->cells)));
    }
    t->cells[t->ncells++] = cell;
}

void text_table_cell(struct text_table *t, const char *fmt, ...)
{
    char *cell;
    va_list ap;
    va_start(ap, fmt);
    must_do(vasprintf(&cell, fmt, ap));
    va_end(ap);
    add_cell(t, cell);
}

void text_table_text(struct text_table *t, const char *text)
{
    add_cell(t, text && *text ? must(strdup(text)) : NULL);
}

void text_table_number(struct text_table *t, uint64_t n, uint64_t unknown)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, n);
    text_table_text(t, n == unknown ? NULL : text);
}

void text_table_drop_unknown(struct text_table *t)
{
    for (size_t c = 0; c < t->ncolumns; c++) {
        bool known = false;
        for (size_t i = c + t->ncolumns; i < t->ncells && !known; i += t->ncolumns)
            known = t->cells[i] != NULL;
        t->columns[c].dropped = !known && t->ncells > t->ncolumns;
    }
}

/* Columns on a terminal, for text in UTF-8 without double-wide characters. */
static size_t display_width(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static const char *cell_text(const struct text_table *t, size_t i)
{
    if (i >= t->ncells)
        return ""; /* the last row was not filled */
    return t->cells[i] ? t->cells[i] : "-";
}

static size_t column_width(const struct text_table *t, size_t c)
{
    size_t width = 0;
    for (size_t i = c; i < t->ncells; i += t->ncolumns) {
        size_t w = display_width(cell_text(t, i));
        if (w > width)
            width = w;
    }
    return width;
}

static void print_row(const struct text_table *t, FILE *out, const char *indent,
                      const size_t *widths, size_t row)
{
    size_t gap = 0; /* blanks that are owed: none are left at a line's end */
    fputs(indent, out);
    for (size_t c = 0; c < t->ncolumns; c++) {
        const struct column *col = &t->columns[c];
        if (col->dropped)
            continue;
        const char *text = cell_text(t, row * t->ncolumns + c);
        size_t pad = widths[c] - display_width(text);
        fprintf(out, "%*s%s", (int)(gap + (col->right ? pad : 0)), "", text);
        gap = 2 + (col->right ? 0 : pad);
    }
    fputc('\n', out);
}

char *text_table_format(const struct text_table *t, const char *indent)
{
    struct text_writer text;
    AUTO_FREE size_t *widths = must(calloc(t->ncolumns + 1, sizeof(*widths)));
    FILE *out = text_begin(&text);
    for (size_t c = 0; c < t->ncolumns; c++)
        widths[c] = column_width(t, c);
    size_t rows = t->ncolumns ? (t->ncells + t->ncolumns - 1) / t->ncolumns : 0;
    for (size_t row = 0; row < rows; row++)
        print_row(t, out, indent, widths, row);
    return text_end(&text);
}
