/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "common/files/tty.h"
#include "config.h"

int tool_parse(const struct tool *t, int argc, char **argv, void *request, struct error *err)
{
    const struct tool_request *r = request;
    size_t words = 0;
    int at = 1;
    while (at < argc) { /* options may stand behind words, as getopt's */
        at = options_parse(t->options, argc, argv, at, request, err);
        if (at < 0 || (at < argc && t->take_word(request, words++, argv[at++], err) < 0))
            return -1;
    }
    return r->help || r->version ? 0 : t->check(request, words, err);
}

char *tool_help(const struct tool *t, size_t width)
{
    AUTO_FREE char *options = options_help(t->options, width);
    return text_format("%s\n%s\n%s", t->usage, options, t->exit_codes);
}

static int tell(const struct tool *t, bool help)
{
    AUTO_FREE char *text = help ? tool_help(t, tty_get_size(STDOUT_FILENO).columns) : NULL;
    if (help)
        fputs(text, stdout);
    else
        printf("%s %s\n", t->name, PACKAGE_VERSION);
    return fflush(stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}

int tool_main(const struct tool *t, int argc, char **argv, void *request,
              int (*run)(const void *request, struct error *err))
{
    const struct tool_request *r = request;
    struct error e = {.text = ""};
    fd_open_standard();
    log_open(t->name, LOG_NOTE);
    log_set_escape(text_escape);
    if (tool_parse(t, argc, argv, request, &e) < 0) {
        log_error("%s (%s --help shows how)", e.text, t->name);
        return TOOL_USAGE;
    }
    if (r->help || r->version)
        return tell(t, r->help);
    int code = run(request, &e);
    if (code == TOOL_OK && fflush(stdout) != 0) {
        error_errno(&e, errno, "write to standard output");
        code = TOOL_FAILED;
    }
    if (code != TOOL_OK)
        log_error("%s", e.text);
    return code;
}
