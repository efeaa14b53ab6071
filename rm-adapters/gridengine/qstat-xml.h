/* SPDX-License-Identifier: BSD-3-Clause */
/* qstat-xml.h - walks through what Grid Engine's tools write with -xml
 *
 * It reports elements one by one as they begin and end, and builds no tree, so memory does not grow
 * with the job. It fetches nothing, and reads no document type and no entity. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

enum {
    GRIDENGINE_XML_MAX = 32 << 20,  /* bytes of a document */
    GRIDENGINE_XML_DEPTH = 16,      /* elements are reported down to this depth */
    GRIDENGINE_XML_TEXT_MAX = 4095, /* bytes of an element's text; the rest is dropped */
};

/* The place of an element: names[0] is the document's, names[depth - 1] its own. */
struct xml_place {
    size_t depth;
    const char *names[GRIDENGINE_XML_DEPTH];
};

struct xml_events {
    void (*begin)(void *arg, const struct xml_place *place);
    /* text is the element's own, without blanks at both ends; "" where it contains elements. 0, or
     * -1 with err, which ends the walk. */
    int (*end)(void *arg, const struct xml_place *place, const char *text, struct error *err);
};

/* Walk through the whole document. 0, or -1 with a sentence: what is no XML, where the document
 * ends too early, or an event's own. */
int gridengine_xml_walk(const char *bytes, size_t n, const struct xml_events *events, void *arg,
                        struct error *err);
/* The name of the element `up` levels above the place's own (0: its own), or "". */
const char *xml_name(const struct xml_place *place, size_t up);
bool xml_is(const struct xml_place *place, size_t up, const char *name);

/* Grid Engine's tools copy text as it is: bytes that are no UTF-8 (0xFF between the words of
 * QRSH_COMMAND), control characters, "&" and "<" in some texts, elements without a name. Copy
 * bytes[0..n) as characters of XML, NUL-terminated; the caller frees.
 *   bytes that are no UTF-8, characters that XML lacks    ->  U+FFFD
 *   "&" that begins no reference to a character           ->  "&amp;"
 *   "<" that begins no tag                                ->  "&lt;"
 *   "<>", "</>"                                           ->  "<_>", "</_>"
 * Only XML's five entities remain, so there is nothing to expand. Tags and their nesting stay as
 * they are; the parser refuses broken ones. NULL with err: the text declares a document type, or
 * memory is out. */
char *gridengine_clean(const char *bytes, size_t n, size_t *ret_len, struct error *err);
