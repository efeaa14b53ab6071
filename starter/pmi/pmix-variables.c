/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/pmi/pmix-variables.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"

/* ---- is it the library of that time, as it was? ---------------------------------------------- */

/* Returns whether a directory of LD_LIBRARY_PATH has a library of this name. */
static bool is_shadowed(const char *library)
{
    const char *directory = getenv("LD_LIBRARY_PATH"), *name = strrchr(library, '/');
    while (directory && *directory && name) {
        size_t n = strcspn(directory, ":");
        AUTO_FREE char *path = text_format("%.*s%s", (int)n, directory, name);
        if (access(path, F_OK) == 0)
            return true;
        directory += n + (directory[n] == ':');
    }
    return false;
}

/* "library PATH SIZE TIME": as stat(2) has them. */
static bool is_same_library(const char *line)
{
    struct stat st;
    char path[4096];
    int64_t size, time;
    return sscanf(line, "library %4095s %" SCNd64 " %" SCNd64, path, &size, &time) == 3 &&
           stat(path, &st) == 0 && st.st_size == size && st.st_mtime == time && !is_shadowed(path);
}

/* The user may set parameters of the library that change what ranks are told. Without room for
 * files the library shares its data in another way (pmix-server/pmix/library.c). */
static bool is_told_something_special(void)
{
    const char *home = getenv("HOME"), *preload = getenv("LD_PRELOAD");
    struct rlimit size;
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "PMIX_MCA_", 9) == 0)
            return true;
    if (preload && strstr(preload, "pmix"))
        return true;
    AUTO_FREE char *file = text_format("%s/.pmix/mca-params.conf", home ? home : "");
    return access(file, F_OK) == 0 || getrlimit(RLIMIT_FSIZE, &size) < 0 ||
           size.rlim_cur != RLIM_INFINITY;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Replaces @NSPACE@ and the other names. */
static char *filled_in(const char *line, const struct pmix_world *w)
{
    struct text_writer to;
    FILE *f = text_begin(&to);
    char port[16];
    snprintf(port, sizeof(port), "%u", w->port);
    const struct {
        const char *name, *value;
    } blanks[] = {{"@NSPACE@", w->nspace},
                  {"@HOST@", w->host},
                  {"@DIRECTORY@", w->directory},
                  {"@PORT@", port}};
    while (*line) {
        size_t n = sizeof(blanks) / sizeof(blanks[0]), i = *line == '@' ? 0 : n;
        while (i < n && strncmp(line, blanks[i].name, strlen(blanks[i].name)) != 0)
            i++;
        if (i < n) {
            fputs(blanks[i].value, f);
            line += strlen(blanks[i].name);
        } else {
            fputc(*line++, f);
        }
    }
    return text_end(&to);
}

static char **read_variables(FILE *f, const struct pmix_world *w)
{
    enum { MAX = 64 };
    AUTO_FREE char *line = NULL;
    size_t size = 0, n = 0;
    char **list = must(calloc(MAX + 1, sizeof(*list)));
    while (n < MAX && getline(&line, &size, f) > 0) {
        line[strcspn(line, "\n")] = 0;
        list[n++] = filled_in(line, w);
    }
    if (n > 0)
        return list;
    free(list);
    return NULL;
}

char **pmix_variables_foresee(const char *mppmi, const struct pmix_world *world)
{
    const char *slash = strrchr(mppmi, '/');
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    AUTO_FREE char *path =
        text_format("%.*spmix-variables", slash ? (int)(slash + 1 - mppmi) : 0, mppmi);
    AUTO_FILE FILE *f = fopen(path, "re");
    if (!f || is_told_something_special() || getline(&line, &size, f) <= 0 ||
        !is_same_library(line))
        return NULL;
    return read_variables(f, world);
}
