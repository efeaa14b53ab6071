/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/cmdline/other-launchers/dialect.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/must.h"

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
    {"orterun", DIALECT_MPIRUN},         {"prterun", DIALECT_MPIRUN},
    {"oshrun", DIALECT_MPIRUN},          {"mpirun.openmpi", DIALECT_MPIRUN},
    {"mpiexec.openmpi", DIALECT_MPIRUN}, {"mpiexec.hydra", DIALECT_MPIEXEC},
    {"mpiexec.mpich", DIALECT_MPIEXEC},  {"mpirun.mpich", DIALECT_MPIEXEC},
    {"mpirun_rsh", DIALECT_MPIEXEC},     {"mpiexec_mpt", DIALECT_MPIEXEC},
    {"mpiexec.pals", DIALECT_MPIEXEC},   {"mpirun.intel", DIALECT_MPIEXEC},
    {"ibrun", DIALECT_MPIEXEC},
};

bool dialect_named(const char *name, enum dialect *ret)
{
    for (int d = 0; dialect_words[d]; d++)
        if (strcasecmp(name, dialect_words[d]) == 0) {
            *ret = (enum dialect)d;
            return true;
        }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i].name) == 0) {
            *ret = names[i].dialect;
            return true;
        }
    return false;
}

static const char *program_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int dialect_find(int argc, char *const argv[], struct dialect_use *ret, struct error *err)
{
    const char *name = program_name(argc > 0 ? argv[0] : "");
    *ret = (struct dialect_use){.dialect = DIALECT_MPRUN};
    (void)dialect_named(name, &ret->dialect);
    for (int i = 1; i < argc && strncmp(argv[i], "--", 2) == 0 && argv[i][2]; i++) {
        if (strcmp(argv[i], "--as") != 0 && strncmp(argv[i], "--as=", 5) != 0)
            continue;
        const char *word = argv[i][4] ? argv[i] + 5 : i + 1 < argc ? argv[i + 1] : "";
        if (!dialect_named(word, &ret->dialect)) {
            (void)option_word(word, strlen(word), dialect_words, err);
            return error_context(err, "option '--as'");
        }
        name = word;
        break;
    }
    ret->has_bare_hosts = strcmp(name, "mpirun_rsh") == 0;
    return 0;
}

static size_t count(const struct option_def *defs)
{
    size_t n = 0;
    while (defs && defs[n].names)
        n++;
    return n;
}

/* The entries that are the dialect's own, or those that are of no dialect: how many. */
static size_t copy(struct option_def *to, const struct option_def *from, bool own, enum dialect d)
{
    size_t n = 0;
    for (; from && from->names; from++) {
        if (own ? !(from->variants & 1U << d) : from->variants != 0)
            continue;
        to[n] = *from;
        to[n++].apart = d == DIALECT_MPIRUN || d == DIALECT_MPIEXEC;
    }
    return n;
}

struct option_def *dialect_options(const struct option_def *own, const struct option_def *peers,
                                   enum dialect d)
{
    /* not all are of this dialect, and what is not written to costs no page */
    struct option_def *defs = must(malloc((count(own) + count(peers) + 1) * sizeof(*defs)));
    size_t n = 0;
    for (int is_own = 1; is_own >= 0; is_own--) {
        n += copy(defs + n, own, is_own, d);
        n += copy(defs + n, peers, is_own, d);
    }
    defs[n] = (struct option_def){.help = own[count(own)].help};
    return defs;
}
