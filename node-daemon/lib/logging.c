/* SPDX-License-Identifier: BSD-3-Clause */
/* logging.c - where the daemon's lines go: journal, syslog or standard error */
#include "node-daemon/lib/logging.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "node-daemon/lib/ready.h"

enum sink { TO_STANDARD_ERROR, TO_SYSLOG, TO_JOURNAL };
enum { TEXT_MAX = 4096 };

/* The priorities of enum log_level; 7 is syslog's LOG_DEBUG, whose name log.h has, too. */
static const int priority[] = {LOG_ERR, LOG_WARNING, LOG_NOTICE, 7};

/* Words of others, a user among them, make no line of their own and steer no terminal. */
static void put_line(void *arg, enum log_level level, const char *text)
{
    const enum sink *to = arg;
    char line[TEXT_MAX];
    snprintf(line, sizeof(line), "%s", text);
    for (char *c = line; *c; c++)
        *c = iscntrl((unsigned char)*c) ? '?' : *c;
    if (*to == TO_SYSLOG)
        syslog(priority[level], "%s", line);
    else if (*to == TO_JOURNAL) /* it knows the program, and reads the priority */
        fprintf(stderr, "<%d>%s\n", priority[level], line);
    else
        fprintf(stderr, "mprund: %s\n", line);
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
    static enum sink to;
    to = to_syslog ? TO_SYSLOG : is_journal() ? TO_JOURNAL : TO_STANDARD_ERROR;
    log_open("mprund", level);
    log_set_sink(put_line, &to);
    if (to == TO_SYSLOG) {
        openlog("mprund", LOG_PID | LOG_NDELAY, LOG_DAEMON);
        ready_release_standard(); /* who started the daemon may wait for their end */
    }
}
