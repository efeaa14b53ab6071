/* SPDX-License-Identifier: BSD-3-Clause */
/* qstat-clean.h - makes XML of what Grid Engine's tools write with -xml
 *
 * They copy text as it is: bytes that are no UTF-8 (0xFF between the words of QRSH_COMMAND),
 * control characters, "&" and "<" in some texts, elements without a name. */
#pragma once

#include <stddef.h>

#include "common/error.h"

/* Copy bytes[0..n) as characters of XML, NUL-terminated; the caller frees.
 *   bytes that are no UTF-8, characters that XML lacks    ->  U+FFFD
 *   "&" that begins no reference to a character           ->  "&amp;"
 *   "<" that begins no tag                                ->  "&lt;"
 *   "<>", "</>"                                           ->  "<_>", "</_>"
 * Only XML's five entities remain, so there is nothing to expand. Tags and their nesting stay as
 * they are; the parser refuses broken ones. NULL with err: the text declares a document type, or
 * memory is out. */
char *gridengine_clean(const char *bytes, size_t n, size_t *ret_len, struct error *err);
