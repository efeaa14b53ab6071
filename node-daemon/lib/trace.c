/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/lib/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/loop.h"

enum { LINE_MAX_ = 1024 };

static int trace_fd = -1; /* like the log: of the program */

static int open_file(const char *path, struct error *err)
{
    struct stat st;
    AUTO_CLOSE int fd = open(
        path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, errno, "open the trace '%s'", path);
    if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()))
        return error_set(err, EPERM, "open the trace '%s': not a file of root's", path);
    return take_fd(&fd);
}

void trace_to(int fd)
{
    if (trace_fd > STDERR_FILENO)
        close(trace_fd);
    trace_fd = fd;
}

int trace_file(const char *path, struct error *err)
{
    if (strcmp(path, "-") != 0)
        return open_file(path, err);
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? error_errno(err, errno, "open the trace") : fd;
}

void trace(const char *fmt, ...)
{
    char line[LINE_MAX_];
    struct tm tm;
    va_list ap;
    if (trace_fd < 0)
        return;
    unsigned long long ns = loop_wallclock_ns();
    time_t now = (time_t)(ns / 1000000000);
    size_t n = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &tm));
    n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03uZ ", (unsigned)(ns / 1000000 % 1000));
    va_start(ap, fmt);
    int len = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
    va_end(ap);
    n = len < 0 || (size_t)len >= sizeof(line) - n - 1 ? sizeof(line) - 2 : n + (size_t)len;
    line[n++] = '\n';
    if (write(trace_fd, line, n) < 0) { /* a full disk is no reason to stop */
    }
}
