/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - files that are brought to the hosts before the step (starter/preload/preload.h has
 * the rules)
 */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "launcher/preload/preload-files.h"
#include "wire/messages/values.h"

struct host;
struct preload;
struct host_table;
struct verdict;

/* Reads the files; *ret stays NULL when none were asked for. -1 with err, and, where there is no
 * program to bring, mprun's exit code in *ret_code; *ret is to be destroyed then, too. */
int preload_create(struct host_table *hosts, struct verdict *verdict,
                   const struct preload_request *what, struct preload **ret, int *ret_code,
                   struct error *err);
void preload_destroy(struct preload *pre); /* NULL is fine */
/* Every host has its place: offer the files to all. */
void preload_begin(struct preload *pre);
int preload_done(const struct preload *pre);
/* PRELOAD_WANTED and PRELOAD_TAKEN of a host. -1: a frame that cannot be; also with pre NULL. */
int preload_wanted(struct preload *pre, const struct host *h, const Mprun__PreloadWanted *m);
int preload_taken(struct preload *pre, const struct host *h, const Mprun__PreloadTaken *m);
