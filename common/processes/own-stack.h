/* SPDX-License-Identifier: BSD-3-Clause */
/* own-stack.h - a stack for a program itself where `ulimit -s`, which is meant for ranks, leaves
 * too little */
#pragma once

/* Calls run(argc, argv), on a stack of its own if the limit is small, and returns what it returns.
 * Threads that start later have as much, whatever the limit is. Once in a process. */
int own_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);
