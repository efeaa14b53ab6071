/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/processes/job-command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int job_command_words(struct job_command *c, char **words)
{
    c->file = words[0];
    c->words = words;
    return 0;
}

int job_command_shell(struct job_command *c, const char *shell, char *option, char **words)
{
    char *name;
    size_t n = 0;
    const char *slash = strrchr(shell, '/');
    while (words[n])
        n++;
    if (asprintf(&name, "%s%s", c->is_login ? "-" : "", slash ? slash + 1 : shell) < 0 ||
        !(c->words = calloc(n + 3, sizeof(*c->words))))
        return -1;
    char **to = c->words;
    *to++ = name;
    if (option)
        *to++ = option;
    memcpy(to, words, n * sizeof(*words));
    c->file = shell;
    return 0;
}

int job_command_line(struct job_command *c, const char *shell, char *line)
{
    static char option[] = "-c";
    char *words[] = {line, NULL};
    return line ? job_command_shell(c, shell, option, words) : -1;
}

bool job_command_is_line(char *const *words)
{
    if (words[1] || !strpbrk(words[0], " \t\n|&;<>()$`\\\"'*?[#~"))
        return false;
    return !strchr(words[0], '/') || access(words[0], X_OK) < 0;
}
