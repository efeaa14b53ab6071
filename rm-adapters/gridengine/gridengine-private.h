/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine-private.h - what the files of the adapter share */
#pragma once

#include <stdlib.h>

#include "rm-adapters/adapter.h"

/* The value of a variable of the environment; NULL: it is not set, or empty. */
static inline const char *gridengine_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* ---- qrsh.c: functions of the adapter's table, as adapter.h describes them ------------------- */

struct starting *qrsh_start(const struct start_request *request, struct error *err);
bool qrsh_hand_over(struct starting *s, size_t host, int *ret_fd);
enum start_again qrsh_again(struct starting *s, size_t host, int status, const char *words);
size_t qrsh_remote_command(struct starting *s, size_t host,
                           const char *words[REMOTE_COMMAND_WORDS]);
void qrsh_describe(const struct start_request *request, const struct alloc_host *host, char *buf,
                   size_t n);
void qrsh_advise(const char *words, char *buf, size_t n);
bool qrsh_is_noise(const char *line);
