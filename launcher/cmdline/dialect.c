/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/cmdline/dialect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const dialect_words[] = {
    [DIALECT_MPRUN] = "mprun",     [DIALECT_MPIRUN] = "mpirun",
    [DIALECT_MPIEXEC] = "mpiexec", [DIALECT_SRUN] = "srun",
    [DIALECT_APRUN] = "aprun",     [DIALECT_JSRUN] = "jsrun",
    [DIALECT_FLUX] = "flux",       NULL,
};

/* Names of programs besides the words. */
static const struct {
    const char *name;
    enum dialect dialect;
} names[] = {
    {"orterun", DIALECT_MPIRUN},        {"prterun", DIALECT_MPIRUN},
    {"mpirun.openmpi", DIALECT_MPIRUN}, {"mpiexec.openmpi", DIALECT_MPIRUN},
    {"mpiexec.hydra", DIALECT_MPIEXEC}, {"mpiexec.mpich", DIALECT_MPIEXEC},
    {"mpirun.mpich", DIALECT_MPIEXEC},  {"mpirun_rsh", DIALECT_MPIEXEC},
};

static enum dialect of_program(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (int d = 0; dialect_words[d]; d++)
        if (strcmp(name, dialect_words[d]) == 0)
            return (enum dialect)d;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].dialect;
    return DIALECT_MPRUN;
}

int dialect_find(int argc, char *const argv[], enum dialect *ret, int *ret_from, struct error *err)
{
    const char *word = NULL;
    *ret = of_program(argc > 0 ? argv[0] : "");
    *ret_from = 1;
    if (argc > 1 && strcmp(argv[1], "--as") == 0) {
        word = argc > 2 ? argv[2] : "";
        *ret_from = argc > 2 ? 3 : 2;
    } else if (argc > 1 && strncmp(argv[1], "--as=", 5) == 0) {
        word = argv[1] + 5;
        *ret_from = 2;
    }
    if (!word)
        return 0;
    int d = option_word(word, strlen(word), dialect_words, err);
    if (d < 0)
        return error_context(err, "option '--as'");
    *ret = (enum dialect)d;
    return 0;
}

struct option_def *dialect_options(const struct option_def *all, enum dialect d)
{
    size_t n = 0, used = 0;
    while (all[n].names)
        n++;
    struct option_def *defs = calloc(n + 1, sizeof(*defs));
    for (int own = 1; defs && own >= 0; own--)
        for (size_t i = 0; i < n; i++)
            if (own ? all[i].variants & 1U << d : !all[i].variants)
                defs[used++] = all[i];
    return defs;
}
