/* SPDX-License-Identifier: BSD-3-Clause */
/* log.h - messages of a program, a line each */
#pragma once

#include <stddef.h>

enum log_level { LOG_ERROR_, LOG_WARN, LOG_NOTE, LOG_DEBUG };

/* Takes a line that would go to standard error; text has no newline. */
typedef void (*log_sink_fn)(void *arg, enum log_level level, const char *text);

/* Writes what may be shown of text[0..n) to to[size], as text_escape() (common/text/words.h). */
typedef size_t (*log_escape_fn)(const char *text, size_t n, char *to, size_t size);

/* name stands before every line ("mprun: ...") and is copied. level: the most verbose one shown. */
void log_open(const char *name, enum log_level level);
enum log_level log_level(void);
/* Escape every line by this function, because lines can have foreign text; NULL: do not escape. */
void log_set_escape(log_escape_fn escape);
void log_set_sink(log_sink_fn sink, void *arg); /* NULL: standard error again */

void log_msg(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_msg(LOG_ERROR_, __VA_ARGS__)
#define log_warn(...)  log_msg(LOG_WARN, __VA_ARGS__)
#define log_note(...)  log_msg(LOG_NOTE, __VA_ARGS__)
#define log_debug(...)                                                                             \
    do {                                                                                           \
        if (log_level() >= LOG_DEBUG)                                                              \
            log_msg(LOG_DEBUG, __VA_ARGS__);                                                       \
    } while (0)
