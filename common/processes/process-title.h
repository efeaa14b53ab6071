/* SPDX-License-Identifier: BSD-3-Clause */
/* process-title.h - what ps shows of a process that goes on as another program */
#pragma once

/* Notes the words that main() was given. */
void process_title_init(int argc, char **argv);
/* Has ps show this name, cut to the length of the words so far, and no arguments. They are gone. */
void process_title_set(const char *name);
