/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/gridengine/task-spool.h"

#include <envz.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/text/number.h"
#include "common/text/text.h"

enum { CONFIG_MAX = 8 << 20 }; /* bytes; the arguments of a job stand in it, too */

static int open_directory(void)
{
    const char *path = getenv("SGE_JOB_SPOOL_DIR");
    return path && path[0] == '/' ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

void task_spool_read(struct task_spool *s)
{
    AUTO_CLOSE int dir = open_directory();
    *s = (struct task_spool){0};
    if (dir >= 0)
        s->text = file_slurp_at(dir, "config", CONFIG_MAX, &s->len);
    for (size_t i = 0; s->text && i < s->len; i++)
        if (s->text[i] == '\n')
            s->text[i] = '\0';
}

void task_spool_free(struct task_spool *s)
{
    free(s->text);
    *s = (struct task_spool){0};
}

const char *task_spool_value(const struct task_spool *s, const char *name)
{
    return s->text ? envz_get(s->text, s->len, name) : NULL;
}

static bool have_group(gid_t group)
{
    int n = getgroups(0, NULL);
    AUTO_FREE gid_t *groups = n > 0 ? calloc((size_t)n, sizeof(*groups)) : NULL;
    n = groups ? getgroups(n, groups) : 0;
    for (int i = 0; i < n; i++)
        if (groups[i] == group)
            return true;
    return false;
}

unsigned task_spool_group(void)
{
    char text[32];
    int64_t group;
    struct stat st;
    AUTO_CLOSE int dir = open_directory();
    if (dir < 0 || fstat(dir, &st) < 0 || (st.st_uid == getuid() && st.st_uid != 0) ||
        file_read_at(dir, "addgrpid", text, sizeof(text)) <= 0)
        return 0;
    text[strcspn(text, "\n")] = 0;
    if (number_parse(text, NULL, 1, INT32_MAX, &group, NULL) < 0 || !have_group((gid_t)group))
        return 0;
    return (unsigned)group;
}

/* ---- the job's directory --------------------------------------------------------------------- */

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
    AUTO_FREE char *path = directory ? text_format("%s/mprun-look.XXXXXX", directory) : NULL;
    if (!path)
        return 0;
    AUTO_CLOSE int fd = mkostemp(path, O_CLOEXEC);
    int code = fd < 0 || write(fd, text, sizeof(text) - 1) < 0 ? errno : 0;
    if (fd >= 0)
        unlink(path);
    return code == 0 ? 0 : error_errno(err, code, "write into the job's directory '%s'", directory);
}
