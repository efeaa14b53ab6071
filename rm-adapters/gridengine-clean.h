/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine-clean.h - what Grid Engine calls XML, as XML
 *
 * Its tools write text as they have it: bytes that are no UTF-8 (the 0xFF between the words of
 * QRSH_COMMAND), control characters, "&" and "<" in some texts, elements without a name. */
#ifndef RM_ADAPTERS_GRIDENGINE_CLEAN_H
#define RM_ADAPTERS_GRIDENGINE_CLEAN_H

#include <stddef.h>

#include "common/error.h"

/* A copy of bytes[0..n) that is made of XML's characters only, NUL-terminated; caller frees.
 *   bytes that are no UTF-8, characters that XML has not  ->  U+FFFD
 *   "&" that begins no reference to a character           ->  "&amp;"
 *   "<" that begins no tag                                ->  "&lt;"
 *   "<>", "</>"                                           ->  "<_>", "</_>"
 * No entity but XML's five stays one, so nothing is left that could be expanded. Tags and their
 * nesting are as they were: what is broken there is for the parser to refuse. NULL with err: the
 * text declares a document type, or memory is out. */
char *gridengine_clean(const char *bytes, size_t n, size_t *ret_len, struct error *err);

#endif
