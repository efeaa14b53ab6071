/* SPDX-License-Identifier: BSD-3-Clause */
/* agreement.c - options that exclude each other, or need each other */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text/idset.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "launcher/cmdline/cmdline-private.h"

/* The limits of a program's ranks, or of those of all. */
static int check_memory_of(const struct cmdline *c, const struct limits *ranks, struct error *err)
{
    const struct limit *rank = &ranks->memory, *host = &c->step.host_limits.memory;
    char a[16], b[16];
    const struct limits *const levels[] = {&c->step_limits, &c->step.host_limits, ranks};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (levels[i]->memory.set && levels[i]->memory_swap.set &&
            levels[i]->memory.value > levels[i]->memory_swap.value)
            return error_set(err, EINVAL,
                             "--limit: memsw, which is memory and swap together, is less than mem");
    if (!rank->set || !host->set || rank->value <= host->value)
        return 0;
    return error_set(
        err, EINVAL, "--mem-per-rank %s is more than --mem %s, which all ranks of a host share",
        size_format(rank->value, a, sizeof(a)), size_format(host->value, b, sizeof(b)));
}

static int check_memory(const struct cmdline *c, struct error *err)
{
    int rc = check_memory_of(c, &c->step.rank_limits, err);
    for (size_t i = 0; rc == 0 && i < c->napps; i++)
        if (c->apps[i].limits && (rc = check_memory_of(c, c->apps[i].limits, err)) < 0)
            error_context(err, "program %zu of the line", i + 1);
    return rc;
}

static int check_debugging(const struct cmdline *c, struct error *err)
{
    AUTO(idset_free) struct idset ranks = {0};
    if (c->debug.stop_on_exec && c->debug.stop_in_init)
        return error_set(err, EINVAL,
                         "--stop-on-exec and --stop-in-init: a rank stops once; keep one");
    if (!c->debug.wrapped_ranks)
        return 0;
    if (!c->debug.wrap)
        return error_set(err, EINVAL,
                         "--ranks says which ranks --wrap is for, but there is no --wrap");
    if (idset_parse(c->debug.wrapped_ranks, &ranks, err) < 0)
        return -1;
    int beyond = c->nranks ? idset_next(&ranks, c->nranks) : -1;
    return beyond < 0 ? 0
                      : error_set(err, EINVAL, "--ranks names rank %d, but the ranks are 0 to %u",
                                  beyond, c->nranks - 1);
}

/* The host of each rank is named: what would choose hosts otherwise is a contradiction. */
static int check_named_places(const struct placement_options *p, struct error *err)
{
    const char *other = p->per_host                     ? "the number of ranks on a host"
                        : p->turn                       ? "'--map-by node' or '--distribution'"
                        : p->rank_by != RANK_BY_DEFAULT ? "--rank-by"
                        : p->nodes_max                  ? "--nodes"
                                                        : NULL;
    const char *cores = p->bind.cores                        ? "the number of cores of a rank"
                        : p->bind.list_kind != CPU_LIST_NONE ? "the list of hardware threads"
                        : p->bind.map != LEVEL_NONE          ? "'--map-by' of a part of a host"
                        : p->bind.to != LEVEL_NONE           ? "'--bind-to', but for core or none"
                        : p->bind.threads                    ? "'hwtcpus'"
                        : p->in_sequence                     ? "'--map-by seq'"
                                                             : NULL;
    if (p->by_slot && p->turn)
        return error_set(err, EINVAL,
                         "hosts are filled in order ('--byslot', '--map-by slot', block), or get "
                         "ranks in turn ('--bynode', '--map-by node', cyclic); keep one");
    if (p->bind.list_kind == CPU_LIST_EACH && p->bind.policy == BIND_NONE)
        return error_set(err, EINVAL,
                         "'--bind-to none' and a list of what each rank is bound to contradict "
                         "each other; keep one");
    if (p->needs_rank_file && !p->rank_file)
        return error_set(err, EINVAL,
                         "'--map-by rankfile' needs a file; write '--rankfile FILE', or '--map-by "
                         "rankfile:file=FILE'");
    if (p->rank_file && (other || cores))
        return error_set(err, EINVAL,
                         "a rank file says the host and the cores of each rank; leave %s out",
                         other ? other : cores);
    if (p->in_sequence && other)
        return error_set(err, EINVAL,
                         "'--map-by seq' starts one rank for each host that is named, in their "
                         "order; leave %s out",
                         other);
    return 0;
}

int cmdline_check_agreement(const struct cmdline *c, struct error *err)
{
    if (c->quiet && c->verbose)
        return error_set(err, EINVAL, "--quiet and --verbose contradict each other; keep one");
    if (c->dry_run && c->explain)
        return error_set(err, EINVAL,
                         "--dry-run starts nothing and --explain looks at every host; keep one");
    if (c->recovery && c->reading.no_recovery)
        return error_set(err, EINVAL,
                         "--enable-recovery and --kill-on-bad-exit (or --disable-recovery) "
                         "contradict each other; keep one");
    if (c->json && !c->dry_run && !c->explain)
        return error_set(err, EINVAL,
                         "--json is for --dry-run and --explain; write '--report-json FILE' for "
                         "what a step used, '--output json' for lines of output");
    if (c->place.topology && !c->dry_run)
        return error_set(err, EINVAL, "--topology is for --dry-run alone; add that");
    if (c->place.short_per_host && c->nranks > 0 && c->napps == 1)
        return error_set(
            err, EINVAL,
            "'-N %.20s' and '-n %u': -N is the number of ranks on each host to mpirun, "
            "and the number of hosts to srun; write '--npernode %.20s' or '--nodes "
            "%.20s', or '--as mpirun' or '--as srun' first on the line",
            c->place.short_per_host, c->nranks, c->place.short_per_host, c->place.short_per_host);
    if (check_named_places(&c->place, err) < 0)
        return -1;
    if (c->step.stdin_target == STDIN_RANK && c->nranks > 0 && c->step.stdin_rank >= c->nranks)
        return error_set(err, EINVAL, "--stdin names rank %u, but the ranks are 0 to %u",
                         c->step.stdin_rank, c->nranks - 1);
    if (c->input_of_tools && c->stdin_file)
        return error_set(err, EINVAL,
                         "--stdin tool: tools push the input, and '%.60s' would not be read; leave "
                         "one of them out",
                         c->stdin_file);
    if (c->step.terminal && c->step.stdin_target != STDIN_RANK)
        return error_set(err, EINVAL,
                         "--pty gives a terminal to the one rank that reads the input, but --stdin "
                         "names %s; name a rank, or leave --pty out",
                         c->step.stdin_target == STDIN_ALL    ? "all"
                         : c->step.stdin_target == STDIN_FILE ? "a file"
                                                              : "none");
    if (cmdline_check_output(c, err) < 0)
        return -1;
    return check_debugging(c, err) < 0 ? -1 : check_memory(c, err);
}
