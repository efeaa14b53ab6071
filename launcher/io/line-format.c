/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/io/line-format.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "common/buffer.h"
#include "common/text/words.h"
#include "launcher/io/output-lines.h"

bool line_format_is_set(const struct line_format *f)
{
    return f->tag || f->timestamp || f->pattern || f->whole || f->json;
}

static void put_bytes(struct buffer *to, const void *p, size_t n)
{
    buffer_append(to, p, n);
}

static void put(struct buffer *to, const char *text)
{
    put_bytes(to, text, strlen(text));
}

static void put_time(struct line_writer *w, uint64_t ns, bool utc, struct buffer *to)
{
    char time[LINE_TIME];
    line_clock_put(&w->clock, ns, utc, time);
    put_bytes(to, time, sizeof(time));
}

static void put_tag(const struct output_line *line, bool stream, const char *ranks,
                    struct buffer *to)
{
    char name[RANK_NAME_TEXT];
    put(to, "[");
    put(to, ranks ? ranks : rank_name_format(line->head.name, name));
    put(to, "]");
    if (stream)
        put(to, line->head.stream == 1 ? "<stdout>" : "<stderr>");
}

static void put_prefix(struct line_writer *w, const struct output_line *line, const char *ranks,
                       struct buffer *to)
{
    const struct line_format *f = w->format;
    bool tagged = f->tag || (ranks && !f->pattern);
    if (f->timestamp) {
        put_time(w, line->head.time_ns, false, to);
        put(to, tagged || f->pattern ? " " : "");
    }
    if (f->pattern) {
        output_pattern_expand(w->names, f->pattern, line->host, &line->head, ranks, &w->clock, to);
        return;
    }
    if (tagged)
        put_tag(line, f->tag, ranks, to);
    if (line->continues && (tagged || f->timestamp))
        put(to, "+ ");
    else
        put(to, f->tag || f->timestamp ? ": " : tagged ? " " : "");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_number(struct buffer *to, const char *key, int64_t n)
{
    char text[80];
    snprintf(text, sizeof(text), "\"%s\":%lld,", key, (long long)n);
    put(to, text);
}

/* One character at p[0..n), of which it returns the bytes; what is no UTF-8 becomes U+FFFD. */
static size_t escape(const char *p, size_t n, char to[8], bool *is_foreign)
{
    size_t len = utf8_sequence(p, n);
    unsigned char c = (unsigned char)p[0];
    if (len == 0) {
        *is_foreign = true;
        snprintf(to, 8, "\\ufffd");
    } else if (c == '"' || c == '\\') {
        snprintf(to, 8, "\\%c", c);
    } else if (c < 0x20 || c == 0x7f) {
        snprintf(to, 8, "\\u%04x", c);
    } else {
        memcpy(to, p, len);
        to[len] = 0;
    }
    return len ? len : 1;
}

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* "KEY":"TEXT"; whether the text has bytes that are no UTF-8 in *ret_foreign. */
static void put_string(struct buffer *to, const char *key, const char *p, size_t n,
                       bool *ret_foreign)
{
    char text[8];
    *ret_foreign = false;
    put(to, "\"");
    put(to, key);
    put(to, "\":\"");
    for (size_t at = 0; at < n;) {
        size_t plain = 0;
        while (at + plain < n && is_plain(p[at + plain]))
            plain++;
        put_bytes(to, p + at, plain);
        at += plain;
        if (at < n) {
            at += escape(p + at, n - at, text, ret_foreign);
            put(to, text);
        }
    }
    put(to, "\"");
}

static void put_base64(struct buffer *to, const uint8_t *p, size_t n)
{
    size_t size = sodium_base64_ENCODED_LEN(n, sodium_base64_VARIANT_ORIGINAL); /* with the NUL */
    char *at = (char *)buffer_reserve(to, size);
    sodium_bin2base64(at, size, p, n, sodium_base64_VARIANT_ORIGINAL);
    buffer_commit(to, size - 1);
}

static void put_source(struct line_writer *w, const struct output_line *line, struct buffer *to)
{
    const struct output_names *names = w->names;
    struct output_rank rank = {.app = -1};
    const char *host = names->hosts[line->host];
    bool foreign;
    if (names->describe)
        names->describe(names->arg, line->head.name, &rank);
    put(to, "{");
    put_number(to, "world", line->head.name.world);
    put_number(to, "rank", line->head.name.rank);
    put_string(to, "host", host, strlen(host), &foreign);
    put(to, ",");
    if (rank.pid)
        put_number(to, "pid", rank.pid);
    if (rank.app >= 0)
        put_number(to, "app", rank.app);
    if (rank.program) {
        put_string(to, "program", rank.program, strlen(rank.program), &foreign);
        put(to, ",");
    }
    put(to, line->head.stream == 1 ? "\"stream\":\"stdout\"," : "\"stream\":\"stderr\",");
}

static void write_json(struct line_writer *w, const struct output_line *line, struct buffer *to)
{
    bool foreign;
    put_source(w, line, to);
    put(to, "\"time\":\"");
    put_time(w, line->head.time_ns, true, to);
    put(to, "Z\",");
    put_string(to, "text", (const char *)line->text, line->n, &foreign);
    if (foreign) {
        put(to, ",\"base64\":\"");
        put_base64(to, line->text, line->n);
        put(to, "\"");
    }
    put(to, line->continues ? ",\"continues\":true" : "");
    put(to, line->has_newline ? "}\n" : ",\"newline\":false}\n");
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Six colours that can be read on black and on white. */
static void put_colored_prefix(struct line_writer *w, const struct output_line *line,
                               struct buffer *to)
{
    char color[16];
    const struct line_format *f = w->format;
    if (!f->tag && !f->timestamp && !f->pattern)
        return;
    snprintf(color, sizeof(color), "\033[3%um", 1 + line->head.name.rank % 6);
    put(to, color);
    put_prefix(w, line, NULL, to);
    put(to, "\033[0m");
}

void line_write(struct line_writer *w, const struct output_line *line, const char *ranks,
                bool is_colored, struct buffer *to)
{
    if (w->format->json) {
        write_json(w, line, to);
        return;
    }
    if (is_colored && !ranks)
        put_colored_prefix(w, line, to);
    else
        put_prefix(w, line, ranks, to);
    put_bytes(to, line->text, line->n);
    put(to, "\n");
}
