/* SPDX-License-Identifier: BSD-3-Clause */
/* spool.c - the execd's `config`, read once */
#include "starter/spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/fdio.h"

enum { CONFIG_MAX = 8 << 20 }; /* the arguments of a job stand in it, too */

void spool_read(struct spool *s)
{
    AUTO_FREE char *path = NULL;
    const char *directory = getenv("SGE_JOB_SPOOL_DIR");
    *s = (struct spool){0};
    if (!directory || directory[0] != '/' || asprintf(&path, "%s/config", directory) < 0)
        return;
    s->text = file_slurp_at(AT_FDCWD, path, CONFIG_MAX, &s->len);
    for (size_t i = 0; s->text && i < s->len; i++)
        if (s->text[i] == '\n')
            s->text[i] = '\0';
}

const char *spool_value(const struct spool *s, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = s->text; line && line < s->text + s->len; line += strlen(line) + 1)
        if (strncmp(line, name, n) == 0 && line[n] == '=')
            return line + n + 1;
    return NULL;
}
