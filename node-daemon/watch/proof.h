/* SPDX-License-Identifier: BSD-3-Clause */
/* proof.h - what /proc shows of a process that did not ask: a claim, of which the reader then says
 * whether it agrees with what the manager wrote
 *
 * A manager's own process runs the program that the configuration names (that file, whatever it is
 * called), with the real uid of root, as a child of the manager's daemon, which is known the same
 * way. Only root can have started it, so what it says of its job comes from root. */
#pragma once

#include "common/error.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/reader-protocol.h"
#include "node-daemon/watch/process.h"

/* A process of a rule's: job and owner are what its environment names. 0, or -1 with err. */
int proof_by_rule(const struct conf_rule *rule, const struct program *daemon,
                  const struct process *p, struct reader_request *ret, struct error *err);
/* A shepherd of Grid Engine's: it is in the directory of its task, which the execd made. Where the
 * execd was started again meanwhile it is no child any more: then its number counts, which has to
 * be in the directory. 0, or -1 with err. */
int proof_of_shepherd(const struct program *execd, const struct process *p,
                      struct reader_request *ret, struct error *err);
/* A process with the group of this task: its owner's uid has to be one of the process's. */
void proof_by_group(const char *job, const char *task, const struct process *p,
                    struct reader_request *ret);
