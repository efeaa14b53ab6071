/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/queue/joblog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

static const char heading[] =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

enum { NUMBER, CODE = 6, SIGNAL, COMMAND, FIELDS };

/* False: that is no line of a joblog. */
static bool parse_line(char *line, struct joblog_line *ret)
{
    char *field[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        field[i] = line;
        line += strcspn(line, i < COMMAND ? "\t\n" : "\n");
        if (i < COMMAND && *line != '\t')
            return false;
        if (*line)
            *line++ = 0;
    }
    *ret = (struct joblog_line){
        .number = strtoul(field[NUMBER], NULL, 10),
        .code = (int)strtol(field[CODE], NULL, 10),
        .signal = (int)strtol(field[SIGNAL], NULL, 10),
        .command = field[COMMAND],
    };
    return ret->number > 0;
}

int joblog_read(const char *path,
                int (*take)(void *arg, const struct joblog_line *l, struct error *err), void *arg,
                long *ret_size, struct error *err)
{
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    ssize_t length;
    AUTO_FILE FILE *f = fopen(path, "re");
    *ret_size = 0;
    if (!f)
        return errno == ENOENT ? 0 : error_errno(err, errno, "open '%.200s'", path);
    for (size_t n = 1; (length = getline(&line, &size, f)) > 0; n++) {
        struct joblog_line l;
        if (line[length - 1] != '\n')
            break;
        *ret_size += length;
        if (n == 1 && strcmp(line, heading) == 0)
            continue;
        int rc = parse_line(line, &l) ? take(arg, &l, err)
                                      : error_set(err, EINVAL, "it is no line of a joblog");
        if (rc < 0)
            return error_context(err, "'%.200s' line %zu", path, n);
    }
    return ferror(f) ? error_errno(err, errno, "read '%.200s'", path) : 0;
}

FILE *joblog_open(const char *path, long size, struct error *err)
{
    FILE *f = fopen(path, size ? "ae" : "we");
    if (f && (!size || ftell(f) <= size || ftruncate(fileno(f), size) == 0) &&
        (size || (fputs(heading, f) >= 0 && fflush(f) == 0)))
        return f;
    error_errno(err, errno, "write '%.200s'", path);
    if (f)
        fclose(f);
    return NULL;
}

int joblog_write(FILE *f, const struct joblog_line *l)
{
    double seconds = l->end_ns > l->start_ns ? (double)(l->end_ns - l->start_ns) / 1e9 : 0;
    int n = fprintf(f, "%zu\t%s\t%.3f\t%10.3f\t0\t0\t%d\t%d\t%s\n", l->number, l->host,
                    (double)l->start_ns / 1e9, seconds, l->code, l->signal, l->command);
    return n < 0 || fflush(f) != 0 ? -1 : 0;
}
