/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static struct {
    char name[64];
    enum log_level level;
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

void log_set_sink(log_sink_fn sink, void *arg)
{
    self.sink = sink;
    self.arg = arg;
}

/* A line is one write, so that lines of several processes on one terminal stay whole. */
static void to_stderr(const char *text)
{
    char line[4200];
    int n = snprintf(line, sizeof(line) - 1, "%s: %s", self.name, text);
    if (n < 0)
        return;
    if ((size_t)n > sizeof(line) - 2)
        n = sizeof(line) - 2;
    line[n++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)n);
    (void)ignored;
}

void log_msg(enum log_level level, const char *fmt, ...)
{
    if (level > self.level)
        return;
    int saved = errno;
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (self.sink)
        self.sink(self.arg, level, text);
    else
        to_stderr(text);
    errno = saved;
}
