/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-options.c - any words as mprun's command line: one word per line of the input */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "launcher/cmdline/cmdline.h"

enum { WORDS_MAX = 64 };

static void check_line(const struct cmdline *c, int argc, char *const argv[])
{
    uint64_t ranks = 0;
    MUST(c->napps > 0);
    for (size_t i = 0; i < c->napps; i++) {
        const struct cmdline_app *app = &c->apps[i];
        MUST(app->argc > 0 && app->argv >= argv && app->argv + app->argc <= argv + argc);
        MUST(c->napps == 1 || app->nranks > 0);
        ranks += app->nranks;
    }
    MUST(ranks == c->nranks && ranks <= CMDLINE_RANKS_MAX);
    MUST(c->step.stdin_target != STDIN_RANK || c->nranks == 0 || c->step.stdin_rank < c->nranks);
    MUST(c->timeout >= 0 && c->step.kill_grace >= 0);
    MUST(!(c->quiet && c->verbose));
}

static void check_environ(const struct cmdline_app *app)
{
    char *const base[] = {"A=1", "PATH=/bin", "odd", NULL};
    char **envp = cmdline_app_environ(app, base);
    MUST(envp);
    for (size_t i = 0; envp[i]; i++)
        free(envp[i]);
    free(envp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *argv[WORDS_MAX + 1] = {"mprun"};
    int argc = 1;
    struct cmdline c;
    struct error err = {.text = ""};
    while (argc < WORDS_MAX && rest)
        argv[argc++] = strsep(&rest, "\n");
    if (cmdline_parse(argc, argv, &c, &err) < 0) {
        MUST(err.text[0] && strlen(err.text) < 480); /* six lines */
        MUST(c.napps == 0);
    } else if (!c.help && !c.version) {
        check_line(&c, argc, argv);
        check_environ(&c.apps[c.napps - 1]);
    }
    cmdline_free(&c);
    free(text);
    return 0;
}
