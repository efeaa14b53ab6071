/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/gridengine/task-directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

/* The execd's directory is called JOB.TASK.QUEUE; a job that is no array has task 1. */
static const char *own_directory(void)
{
    static const char *const names[] = {"TMPDIR", "TMP"};
    const char *job = getenv("JOB_ID"), *task = getenv("SGE_TASK_ID"), *queue = getenv("QUEUE");
    char name[256];
    if (!job || !task || !queue)
        return NULL;
    snprintf(name, sizeof(name), "%s.%s.%s", job, strcmp(task, "undefined") == 0 ? "1" : task,
             queue);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        const char *last = value && value[0] == '/' ? strrchr(value, '/') + 1 : NULL;
        if (last && strcmp(last, name) == 0)
            return value;
    }
    return NULL;
}

/* A full file system, or a quota, shows only when something is written. */
int gridengine_directory_takes_tasks(struct error *err)
{
    static const char text[] = "mprun looks whether a task of the job can write here\n";
    const char *directory = own_directory();
    AUTO_FREE char *path = NULL;
    if (!directory)
        return 0;
    if (asprintf(&path, "%s/mprun-look.XXXXXX", directory) < 0) {
        path = NULL;
        return 0;
    }
    AUTO_CLOSE int fd = mkostemp(path, O_CLOEXEC);
    int code = fd < 0 || write(fd, text, sizeof(text) - 1) < 0 ? errno : 0;
    if (fd >= 0)
        unlink(path);
    return code == 0 ? 0 : error_errno(err, code, "write into the job's directory '%s'", directory);
}
