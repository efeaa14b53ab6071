/* SPDX-License-Identifier: BSD-3-Clause */
/* logging.c - where the daemon's lines go: journal, syslog or standard error */
#include "node-daemon/lib/logging.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "node-daemon/lib/ready.h"

static int priority(enum log_level level)
{
    return level == LOG_ERROR_ ? LOG_ERR
           : level == LOG_WARN ? LOG_WARNING
           : level == LOG_NOTE ? LOG_NOTICE
                               : 7; /* syslog's LOG_DEBUG, whose name log.h has, too */
}

static void to_syslog_line(void *arg, enum log_level level, const char *text)
{
    syslog(priority(level), "%s", text);
}

/* The journal reads a priority from the beginning of each line; it knows the program by itself. */
static void to_journal_line(void *arg, enum log_level level, const char *text)
{
    fprintf(stderr, "<%d>%s\n", priority(level), text);
}

/* JOURNAL_STREAM names the device and inode of the stream that the service manager connected. */
static int is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;
    return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void logging_open(enum log_level level, int to_syslog)
{
    log_open("mprund", level);
    if (to_syslog) {
        openlog("mprund", LOG_PID | LOG_NDELAY, LOG_DAEMON);
        log_set_sink(to_syslog_line, NULL);
        ready_release_standard(); /* who started the daemon may wait for their end */
    } else if (is_journal()) {
        log_set_sink(to_journal_line, NULL);
    }
}
