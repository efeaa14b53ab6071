/* SPDX-License-Identifier: BSD-3-Clause */
/* start-failure-advice.c - see start-failure-advice.h */
#include "starter/ranks/start-failure-advice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

static void add(struct error *err, const char *text)
{
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof(err->text) - n, "%s", text);
}

/* The program that a script's first line names, '#!/bin/sh -e'. */
static void add_interpreter(struct error *err, char *line)
{
    char text[400];
    line += 2 + strspn(line + 2, " \t");
    line[strcspn(line, " \t\n")] = 0;
    char *end = strchr(line, '\r');
    if (end)
        *end = 0;
    snprintf(
        text, sizeof(text), "; it is there, but not the program '%.200s%s' of its first line%s",
        line, end ? "\\r" : "",
        end ? ", which ends with a carriage return as on Windows: dos2unix takes them out" : "");
    add(err, text);
}

/* The kernel says ENOENT of a file that is there, too, when the one that should read it is missing.
 * Is that so? */
static int add_missing_reader(struct error *err, const char *program, const char *directory)
{
    char head[256] = "";
    AUTO_CLOSE int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int fd = openat(at, program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || read(fd, head, sizeof(head) - 1) < 2)
        return 0;
    if (head[0] == '#' && head[1] == '!')
        add_interpreter(err, head);
    else
        add(err, "; it is there, but not the dynamic loader that it names (see 'file' and 'ldd'): "
                 "it was made for another system");
    return 1;
}

void start_failure_advice(struct spawn_failure *f, const char *program, const char *directory,
                          struct error *err)
{
    if (f->step == SPAWN_EXEC && f->code == ENOENT && program) {
        if (add_missing_reader(err, program, directory))
            f->code = ENOEXEC;
    } else if (f->step == SPAWN_EXEC && f->code == E2BIG)
        add(err,
            "; arguments and environment together are larger than the kernel takes (ulimit -s)");
    else if (f->step == SPAWN_EXEC && f->code == ENOEXEC)
        add(err, "; a script needs a first line such as '#!/bin/sh'");
    else if (f->step == SPAWN_FORK && f->code == EAGAIN)
        add(err, "; the user's limit of processes (ulimit -u) or the cgroup's is reached");
    else if (f->step == SPAWN_DIRECTORY)
        add(err, "; every host needs it: start mprun in a directory that all of them have, or name "
                 "one with --wdir");
}
