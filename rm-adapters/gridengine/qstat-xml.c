/* SPDX-License-Identifier: BSD-3-Clause */
/* qstat-xml.c - a simpler form of libxml2's events; the only file that includes it
 *
 * gridengine_clean() makes the bytes harmless first. If they are still no XML, the document is
 * damaged: an error rather than a guess, because half a job would have half its limits. */
#include "rm-adapters/gridengine/qstat-xml.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/words.h"

/* ---- harmless bytes -------------------------------------------------------------------------- */

/* Bytes of the longest replacement of one byte: "&amp;" */
enum { GROWTH = 5 };

static bool is_xml_char(unsigned code)
{
    return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code < 0xd800) ||
           (code >= 0xe000 && code < 0xfffe) || (code >= 0x10000 && code <= 0x10ffff);
}

/* Length of the XML character at p, or 0. */
static size_t character(const char *p, size_t n)
{
    size_t len = utf8_sequence(p, n);
    if (len == 1)
        return is_xml_char((unsigned char)*p) ? 1 : 0;
    /* of longer sequences, XML lacks only U+FFFE and U+FFFF */
    return len == 3 && (memcmp(p, "\xef\xbf\xbe", 3) == 0 || memcmp(p, "\xef\xbf\xbf", 3) == 0)
               ? 0
               : len;
}

/* "#65;", "#x41;": is it a reference to a character that XML has? */
static bool is_numeric_reference(const char *p, size_t n)
{
    int hex = n > 2 && p[1] == 'x';
    unsigned code = 0;
    size_t at = hex ? 2 : 1, first = at;
    for (; at < n && at < first + 7 && isxdigit((unsigned char)p[at]); at++) {
        if (!hex && !isdigit((unsigned char)p[at]))
            return false;
        int digit = isdigit((unsigned char)p[at]) ? p[at] - '0' : (p[at] | 0x20) - 'a' + 10;
        code = code * (hex ? 16 : 10) + (unsigned)digit;
    }
    return at > first && at < n && p[at] == ';' && is_xml_char(code);
}

static bool begins_with(const char *p, size_t n, const char *word)
{
    return n >= strlen(word) && memcmp(p, word, strlen(word)) == 0;
}

/* Does what follows "&" make it a reference? */
static bool is_reference(const char *p, size_t n)
{
    static const char *const names[] = {"amp;", "lt;", "gt;", "quot;", "apos;"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (begins_with(p, n, names[i]))
            return true;
    return n > 2 && *p == '#' && is_numeric_reference(p, n);
}

static bool begins_name(const char *p, size_t n)
{
    return n > 0 && (isalpha((unsigned char)*p) || *p == '_' || *p == ':');
}

/* The text to write for the "<" at p, and how many bytes of the input that takes up. */
static char *clean_less(char *out, const char *p, size_t n, size_t *ret_used)
{
    *ret_used = 1;
    if (begins_with(p, n, "<>")) {
        *ret_used = 2;
        return stpcpy(out, "<_>");
    }
    if (begins_with(p, n, "</>")) {
        *ret_used = 3;
        return stpcpy(out, "</_>");
    }
    size_t slash = begins_with(p, n, "</") ? 2 : 1;
    if (begins_name(p + slash, n - slash) || begins_with(p, n, "<?") || begins_with(p, n, "<!--") ||
        begins_with(p, n, "<![CDATA["))
        return stpcpy(out, "<");
    return stpcpy(out, "&lt;");
}

static char *clean_one(char *out, const char *p, size_t n, size_t *ret_used)
{
    if (*p == '<')
        return clean_less(out, p, n, ret_used);
    *ret_used = 1;
    if (*p == '&')
        return stpcpy(out, is_reference(p + 1, n - 1) ? "&" : "&amp;");
    size_t len = character(p, n);
    if (len == 0)
        return stpcpy(out, "\xef\xbf\xbd");
    *ret_used = len;
    return mempcpy(out, p, len);
}

char *gridengine_clean(const char *bytes, size_t n, size_t *ret_len, struct error *err)
{
    AUTO_FREE char *clean = must(malloc(GROWTH * n + 1));
    char *out = clean;
    for (size_t at = 0, used; at < n; at += used) {
        if (begins_with(bytes + at, n - at, "<!DOCTYPE"))
            return error_null(
                error_set(err, EBADMSG, "it declares a document type, which qstat never does"));
        out = clean_one(out, bytes + at, n - at, &used);
    }
    *out = 0;
    *ret_len = (size_t)(out - clean);
    return take_ptr(clean);
}

/* ---- libxml2's events ------------------------------------------------------------------------ */

struct walk {
    const struct xml_events *events;
    void *arg;
    xmlParserCtxtPtr parser;
    struct xml_place place;
    size_t depth; /* place.depth, and the elements that are too deep to be reported */
    char text[GRIDENGINE_XML_TEXT_MAX + 1];
    size_t text_len;
    int last; /* nothing comes after what the parser has */
    int failed;
    struct error *err;
};

const char *xml_name(const struct xml_place *place, size_t up)
{
    return up < place->depth ? place->names[place->depth - 1 - up] : "";
}

bool xml_is(const struct xml_place *place, size_t up, const char *name)
{
    return strcmp(xml_name(place, up), name) == 0;
}

static void element_begins(void *arg, const xmlChar *name, const xmlChar *prefix,
                           const xmlChar *uri, int nb_namespaces, const xmlChar **namespaces,
                           int nb_attributes, int nb_defaulted, const xmlChar **attributes)
{
    struct walk *w = arg;
    w->text_len = 0;
    if (w->depth++ >= GRIDENGINE_XML_DEPTH)
        return;
    w->place.names[w->place.depth++] = (const char *)name; /* the parser's until it goes */
    if (w->events->begin)
        w->events->begin(w->arg, &w->place);
}

static void text_comes(void *arg, const xmlChar *text, int n)
{
    struct walk *w = arg;
    size_t room = GRIDENGINE_XML_TEXT_MAX - w->text_len;
    size_t len = n > 0 && (size_t)n < room ? (size_t)n : n > 0 ? room : 0;
    memcpy(w->text + w->text_len, text, len);
    w->text_len += len;
}

static const char *trimmed(struct walk *w)
{
    static const char blanks[] = " \t\r\n";
    while (w->text_len > 0 && strchr(blanks, w->text[w->text_len - 1]))
        w->text_len--;
    w->text[w->text_len] = 0;
    return w->text + strspn(w->text, blanks);
}

static void element_ends(void *arg, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    struct walk *w = arg;
    if (w->depth-- > GRIDENGINE_XML_DEPTH)
        return;
    if (!w->failed && w->events->end(w->arg, &w->place, trimmed(w), w->err) < 0) {
        w->failed = 1;
        xmlStopParser(w->parser);
    }
    w->text_len = 0;
    w->place.depth--;
}

/* The first error is the cause of the others. */
static void error_comes(void *arg, xmlErrorPtr e)
{
    struct walk *w = arg;
    if (w->failed || e->level < XML_ERR_ERROR || e->domain == XML_FROM_NAMESPACE)
        return;
    w->failed = 1;
    if (w->last && w->depth > 0) {
        error_set(w->err, EBADMSG, "it breaks off within <%.60s>", xml_name(&w->place, 0));
        return;
    }
    size_t n = e->message ? strcspn(e->message, "\n") : 0;
    error_set(w->err, EBADMSG, "line %d: %.*s", e->line, (int)(n < 200 ? n : 200),
              e->message ? e->message : "");
}

/* ---- the walk -------------------------------------------------------------------------------- */

static int feed(struct walk *w, const char *text, size_t n)
{
    enum { CHUNK = 1 << 16 };
    xmlSAXHandler sax = {
        .startElementNs = element_begins,
        .endElementNs = element_ends,
        .characters = text_comes,
        .cdataBlock = text_comes,
        .serror = error_comes,
        .initialized = XML_SAX2_MAGIC,
    };
    w->parser = must(xmlCreatePushParserCtxt(&sax, w, NULL, 0, NULL));
    xmlCtxtUseOptions(w->parser, XML_PARSE_NONET);
    for (size_t at = 0; at < n && !w->failed; at += CHUNK)
        if (xmlParseChunk(w->parser, text + at, (int)(n - at < CHUNK ? n - at : CHUNK), 0) != 0)
            break;
    w->last = 1;
    if (!w->failed)
        xmlParseChunk(w->parser, "", 0, 1);
    int well = w->parser->wellFormed;
    xmlFreeParserCtxt(w->parser);
    if (w->failed)
        return -1;
    return well ? 0 : error_set(w->err, EBADMSG, "it is no XML");
}

/* Leftovers of a command that was interrupted, or of a full file system. */
static int check_end(const char *text, size_t n, struct error *err)
{
    size_t lines = 1, end = n;
    while (end > 0 && strchr(" \t\r\n", text[end - 1]))
        end--;
    if (end == 0)
        return error_set(err, ENODATA, "it is empty");
    size_t last = end;
    while (last > 0 && text[last - 1] != '<')
        last--;
    if (text[end - 1] == '>' && last > 0 && (text[last] == '/' || text[end - 2] == '/'))
        return 0;
    for (size_t i = 0; i < end; i++)
        lines += text[i] == '\n';
    return error_set(err, EBADMSG, "it breaks off after %zu bytes, in line %zu", end, lines);
}

int gridengine_xml_walk(const char *bytes, size_t n, const struct xml_events *events, void *arg,
                        struct error *err)
{
    struct error own = {.text = ""};
    struct walk w = {.events = events, .arg = arg, .err = err ? err : &own};
    size_t len;
    if (n > GRIDENGINE_XML_MAX)
        return error_set(err, EFBIG, "it is longer than %d MiB", GRIDENGINE_XML_MAX >> 20);
    AUTO_FREE char *clean = gridengine_clean(bytes, n, &len, err);
    if (!clean || check_end(clean, len, err) < 0)
        return -1;
    return feed(&w, clean, len);
}
