/* SPDX-License-Identifier: BSD-3-Clause */
/* command-list.h - the commands of --queue: the lines of a file, or a program with arguments in it
 *
 * A line of a file is a command by itself. It is run by /bin/sh if it has characters that only a
 * shell understands, else directly, as make does. With a program on mprun's command line the lines
 * of the file, or the words behind ":::", are its arguments, as GNU parallel has it: they replace
 * "{}" in its words, or follow them. Each ":::" begins a list; of several lists each combination is
 * a command, and the last list changes fastest.
 *
 *     {}   the argument (of several lists: all, with blanks between)   {#}  the command's number
 *     {2}  the argument of the second list                            {.}  without its suffix
 *     {/}  without directories    {//}  its directory                 {/.} without both */
#pragma once

#include <stddef.h>

#include "common/error.h"

struct command_list {
    struct listed_command {
        char **argv; /* NULL-terminated */
        char *text;  /* for people and logs: the line, or the words, quoted where needed */
    } * commands;
    size_t n;
};

/* from: a file, "-" (standard input), or ":::" (the words have the lists). words: nwords of mprun's
 * command line, from the program on; 0: none. 0, or -1 with err; free *ret in both cases. */
int command_list_read(const char *from, char *const *words, size_t nwords, struct command_list *ret,
                      struct error *err);
void command_list_free(struct command_list *l); /* what it holds; zero is fine */
