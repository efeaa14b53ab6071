/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.h - prints --dry-run and --explain: what mprun found, what it would do, and why
 *
 * Both print the record of the step. With --explain the hosts have filled it, in a start that ends
 * before the programs' first instructions; with --dry-run foresee() has filled it alone. */
#pragma once

#include "launcher/hosts/host-table.h"
#include "launcher/step/step-record.h"

struct starters;

/* --display: what is to be printed before the ranks start. */
void display_before_start(const struct host_table *hosts);
/* For people, to standard output. starters: NULL with --dry-run. */
void explain_print(const struct host_table *hosts, const struct step_record *record,
                   const struct starters *starters);
/* For programs, to standard output, as share/plan-schema.json has it. would_fail: why a start would
 * fail, NULL: nothing says so. Returns 0, or -1 with err. */
int explain_print_json(const struct host_table *hosts, const struct step_record *record,
                       const struct starters *starters, const char *would_fail, struct error *err);

/* How the host's starter gets there, in words; "" where the adapter has none. */
void explain_start(const struct step_plan *p, const struct host *h, const struct starters *starters,
                   char *buf, size_t n);
/* The program's file on this machine, which may be another one elsewhere. NULL with err: there is
 * none. The caller frees it. */
char *explain_file(const struct app *a, struct error *err);
/* Is the variable of mprun's own environment kept from the program's ranks? */
bool explain_is_removed(const struct app *a, const char *variable);
