/* SPDX-License-Identifier: BSD-3-Clause */
/* requested-hosts.h - the hosts that the user names with --host and --hostfile, and which of them
 * are this machine */
#pragma once

#include "rm-adapters/adapter.h"
#include "rm-adapters/hosts/hostlist.h"

/* Read all of them; with both options, those hosts of the files that --host names. 0 with *ret,
 * which hostlist_free() empties, or -1. */
int named_read(const struct host_request *request, struct hostlist *ret, struct error *err);
/* Remove from `granted`, the hosts of a job, those that the request does not choose with --host or
 * --hostfile, but for those behind a list of fewer than nhosts_min. A host that is named without a
 * number keeps its slots. 0, or -1. */
int named_cut(const struct host_request *request, struct hostlist *granted, const char *job,
              struct error *err);
/* The hosts that the request names, in their order and as often as they stand there: a line of a
 * file is one, however many slots it has, and so is a word of --host where there is no file.
 * Indices of a's hosts, *ret_n of them; the caller frees *ret. -1 with err. */
int named_sequence(const struct host_request *request, const struct allocation *a, uint32_t **ret,
                   size_t *ret_n, struct error *err);
/* The host that the user calls so: by its name, with or without a domain, or as this machine.
 * NULL: there is none, or several have that name without a domain. */
const struct alloc_host *named_find(const struct allocation *a, const char *name);
/* For each mention in l the index of its host in a; the caller frees *ret. 0, or -1 with err. */
int named_indices(const struct hostlist *l, const struct allocation *a, uint32_t **ret,
                  struct error *err);
/* The name of this machine. 0, or -1: it has none. */
int named_self(char *buf, size_t n, struct error *err);
/* Mark the hosts that are this machine, known by its name, the name's first part, "localhost" or an
 * address; several such names become one host. */
void named_mark_here(struct allocation *a);

/* For adapters whose hosts cannot be named: 0, or -1 where the request names any. */
int named_refuse(const struct host_request *request, const char *adapter, struct error *err);
