/* SPDX-License-Identifier: BSD-3-Clause */
/* job-command.h - what to execute for a job's words: the words themselves, or a shell with them */
#pragma once

#include <stdbool.h>

struct job_command {    /* filled by the functions below; nothing of it is freed: exec follows */
    bool is_login;      /* a shell is called as a login shell; set by the caller, before */
    const char *file;   /* a path, or a name that is looked up in PATH */
    char **words;       /* NULL-terminated; words[0] is not `file` where that is a shell */
    const char *script; /* file that the shell is to read; NULL: none; set by the caller */
};

/* Execute the words, which the command keeps. Returns 0. */
int job_command_words(struct job_command *c, char **words);
/* Have the shell run `option` (NULL: none) and these words. 0, or -1: out of memory. */
int job_command_shell(struct job_command *c, const char *shell, char *option, char **words);
/* Have the shell run one command line (NULL: memory was out when it was made). 0, or -1: out of
 * memory. */
int job_command_line(struct job_command *c, const char *shell, char *line);
/* Is this one word, in which only a shell sees more than one, and which names no program? */
bool job_command_is_line(char *const *words);
