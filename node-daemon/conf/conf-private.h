/* SPDX-License-Identifier: BSD-3-Clause */
/* conf-private.h - what the files that read mprund.conf(5) know of each other: conf.c (what can be
 * in it, and what becomes of that), conf-checks.c (which values), conf-file.c (its text),
 * conf-gpus.c (the table of GPUs) */
#pragma once

#include <confuse.h>
#include <sys/types.h>

#include "node-daemon/conf/conf.h"

/* The text of a file, at most 1 MiB, without its comments; caller frees. Only root or the user of
 * this process may be able to write the file. NULL with err; errno ENOENT: it is not there. */
char *conf_file_text(const char *path, struct error *err);
/* The same of an open file, from its beginning, wherever others that share it have read to. */
char *conf_open_text(int fd, struct error *err);

/* gpus, gpu and gpu_files of it. 0, or -1 with err. */
int conf_take_gpus(cfg_t *cfg, struct conf *c, struct error *err);
void conf_free_gpus(struct conf *c);

/* Have values checked as they are read; cfg_error() gets the sentence. */
void conf_set_checks(cfg_t *cfg);

/* The same functions convert what the checks have found good. */
unsigned conf_choice(const char *name, const char *word); /* its number; that of no word: none */
unsigned conf_lend_bit(const char *word);                 /* LEND_CORES, LEND_GPUS; 0: neither */
int conf_memory(const char *word, uint64_t *ret, struct error *err); /* memory_per_slot */
int conf_find_user(const char *name, uid_t *ret);                    /* -1: there is none */
