/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/starter-side/task-lists.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/host-name-list.h"
#include "common/text/text.h"

enum { VALUE_MAX = 100000 }; /* bytes; the kernel takes 128 KiB with the name */

/* Slurm's list of the hosts, "n[1-4],m1". */
static char *list_hosts(const struct placement *hosts, size_t nhosts)
{
    AUTO_FREE const char **names = must(calloc(nhosts, sizeof(*names)));
    for (size_t i = 0; i < nhosts; i++)
        names[i] = hosts[i].host;
    return name_run_word(names, nhosts);
}

/* The ranks of each host as Slurm writes them, "4(x2),1". */
static char *list_counts(const struct placement *hosts, size_t nhosts)
{
    struct text_writer list;
    FILE *out = text_begin(&list);
    for (size_t i = 0, next; i < nhosts; i = next) {
        uint32_t n = rank_set_count(&hosts[i].ranks);
        for (next = i + 1; next < nhosts && rank_set_count(&hosts[next].ranks) == n; next++)
            ;
        fprintf(out, "%s%u", i ? "," : "", n);
        if (next - i > 1)
            fprintf(out, "(x%zu)", next - i);
    }
    return text_end(&list);
}

static char *list_ranks(const struct rank_set *ranks)
{
    struct text_writer list;
    FILE *out = text_begin(&list);
    for (uint32_t i = 0; i < rank_set_count(ranks); i++)
        fprintf(out, "%s%u", i ? "," : "", rank_set_at(ranks, i).rank);
    return text_end(&list);
}

void task_lists_make(const struct placement *hosts, size_t nhosts, size_t here,
                     char *ret[TASK_LISTS + 1])
{
    AUTO_FREE char *names = list_hosts(hosts, nhosts), *counts = list_counts(hosts, nhosts);
    AUTO_FREE char *ranks = list_ranks(&hosts[here].ranks);
    const char *const lists[TASK_LISTS][2] = {{"SLURM_STEP_NODELIST", names},
                                              {"SLURM_STEP_TASKS_PER_NODE", counts},
                                              {"SLURM_TASKS_PER_NODE", counts},
                                              {"SLURM_GTIDS", ranks}};
    size_t n = 0;
    for (size_t i = 0; i < TASK_LISTS; i++)
        if (strlen(lists[i][1]) < VALUE_MAX)
            ret[n++] = text_format("%s=%s", lists[i][0], lists[i][1]);
    ret[n] = NULL;
}
