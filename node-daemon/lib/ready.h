/* SPDX-License-Identifier: BSD-3-Clause */
/* ready.h - telling when the daemon serves */
#pragma once

#include "common/error.h"

/* Standard input, output and error lead nowhere from now on. */
void ready_release_standard(void);
/* The daemon serves: let the process that started it go on. ready: from daemonize(), or -1. */
void ready_tell(int ready);
/* Write this process's number into a new file, in place of an old one. */
int pidfile_write(const char *path, struct error *err);
