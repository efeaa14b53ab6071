/* SPDX-License-Identifier: BSD-3-Clause */
/* text-table.h - columns of text, aligned, for reports on a terminal or in a job's output */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct text_table;

/* headings: NULL-terminated; a heading that starts with '>' makes a right-aligned column. */
struct text_table *text_table_create(const char *const headings[]);
void text_table_destroy(struct text_table *t);
/* Add the next cell: cells fill row after row. */
void text_table_cell(struct text_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Add a text or a number; NULL, "" and the number `unknown` give a cell without a value, printed
 * "-". */
void text_table_text(struct text_table *t, const char *text);
void text_table_number(struct text_table *t, uint64_t n, uint64_t unknown);
/* Drop columns in which every row is unknown. */
void text_table_drop_unknown(struct text_table *t);
/* The table as text; each line starts with indent. The caller frees it. */
char *text_table_format(const struct text_table *t, const char *indent);
