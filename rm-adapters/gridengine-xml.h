/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine-xml.h - a walk over what Grid Engine's tools write with -xml
 *
 * Elements are told one by one as they begin and end; no tree is built, so memory does not grow
 * with the job. Nothing is fetched, no document type and no entity is read. */
#ifndef RM_ADAPTERS_GRIDENGINE_XML_H
#define RM_ADAPTERS_GRIDENGINE_XML_H

#include <stddef.h>

#include "common/error.h"

enum {
    GRIDENGINE_XML_MAX = 32 << 20,  /* bytes of a document */
    GRIDENGINE_XML_DEPTH = 16,      /* elements that deep are told; those within them are not */
    GRIDENGINE_XML_TEXT_MAX = 4095, /* bytes of an element's text; the rest is dropped */
};

/* Where an element is. names[0] is the document's, names[depth - 1] its own. */
struct xml_place {
    size_t depth;
    const char *names[GRIDENGINE_XML_DEPTH];
};

struct xml_events {
    void (*begin)(void *arg, const struct xml_place *place);
    /* text: its own, without blanks at both ends; "" where it has elements within. 0, or -1 with
     * err, which ends the walk. */
    int (*end)(void *arg, const struct xml_place *place, const char *text, struct error *err);
};

/* 0, or -1 with a sentence: what is no XML, where it ends too early, or what an event said. */
int gridengine_xml_walk(const char *bytes, size_t n, const struct xml_events *events, void *arg,
                        struct error *err);
/* The name of the element `up` levels above the place's own (0: its own), or "". */
const char *xml_name(const struct xml_place *place, size_t up);

#endif
