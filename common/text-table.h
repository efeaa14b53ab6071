/* SPDX-License-Identifier: BSD-3-Clause */
/* text-table.h - columns of text, aligned, for reports on a terminal or in a job's output */
#ifndef COMMON_TEXT_TABLE_H
#define COMMON_TEXT_TABLE_H

#include <stddef.h>

struct text_table;

/* headings: NULL-terminated; a heading that starts with '>' makes a right-aligned column. */
struct text_table *text_table_create(const char *const headings[]);
void text_table_destroy(struct text_table *t);
/* One cell after the other fills rows; NULL is an unknown value and prints as "-". */
void text_table_cell(struct text_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void text_table_unknown(struct text_table *t);
/* Drop columns in which every row is unknown. */
void text_table_drop_unknown(struct text_table *t);
/* Each line starts with indent. Caller frees. */
char *text_table_format(const struct text_table *t, const char *indent);

#endif
