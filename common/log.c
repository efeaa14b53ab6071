/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    char name[64];
    enum log_level level;
    log_escape_fn escape;
    log_sink_fn sink;
    void *arg;
} self = {.name = "mprun", .level = LOG_NOTE};

void log_open(const char *name, enum log_level level)
{
    snprintf(self.name, sizeof(self.name), "%s", name);
    self.level = level;
}

enum log_level log_level(void)
{
    return self.level;
}

void log_set_escape(log_escape_fn escape)
{
    self.escape = escape;
}

void log_set_sink(log_sink_fn sink, void *arg)
{
    self.sink = sink;
    self.arg = arg;
}

/* A line is one write, so that lines of several processes on one terminal stay whole. */
void log_msg(enum log_level level, const char *fmt, ...)
{
    if (level > self.level)
        return;
    int saved = errno;
    char raw[4096], line[4200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof(raw), fmt, ap);
    va_end(ap);
    char *text = line + snprintf(line, sizeof(line), "%s: ", self.name);
    if (self.escape)
        self.escape(raw, strlen(raw), text, (size_t)(line + sizeof(line) - text) - 1);
    else
        strcpy(text, raw);
    if (self.sink) {
        self.sink(self.arg, level, text);
    } else {
        ssize_t ignored = write(STDERR_FILENO, line, strlen(strcat(line, "\n")));
        (void)ignored;
    }
    errno = saved;
}
