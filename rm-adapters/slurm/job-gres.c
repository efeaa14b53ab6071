/* SPDX-License-Identifier: BSD-3-Clause */
/* job-gres.c - GPUs that mprun's step has to ask for
 *
 * Slurm 22.05 gives a step what the job has asked for on each node. But of GPUs that the job has
 * for each task (--gpus-per-task) or altogether (--gpus) a step with one task on each node gets
 * only a part, unless it asks for them node by node. Where not all nodes have as many, Slurm
 * refuses that, and the step gets the part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "rm-adapters/hosts/hostlist.h"
#include "rm-adapters/processes/ask-manager.h"
#include "rm-adapters/slurm/slurm-private.h"
#include "rm-adapters/tunables.h"

enum { ANSWER_MAX = 1 << 18 }; /* bytes */
enum { STEPS_MAX = 64 };       /* steps for the nodes of a job; of more nodes a part has to do */

/* "gpu:a100:2(IDX:0-1),nvme:1(CNT:1)" of a node as --gres has it: "nvme:1,gpu:2". The caller frees
 * it. NULL: no GPU. */
static char *as_option(const char *at)
{
    struct text_writer list;
    FILE *out = text_begin(&list);
    unsigned long gpus = 0;
    for (size_t n; (n = strcspn(at, "(, \n")) > 0;) {
        const char *colon = memrchr(at, ':', n);
        if (strncmp(at, "gpu:", 4) == 0)
            gpus += strtoul(colon + 1, NULL, 10);
        else
            fprintf(out, "%.*s,", (int)n, at);
        at += n;
        at += *at == '(' ? strcspn(at, ")\n") : 0;
        at += *at == ')';
        at += *at == ',';
    }
    fprintf(out, "gpu:%lu", gpus);
    char *text = text_end(&list);
    if (!gpus)
        free(take_ptr(text));
    return text;
}

/* The hosts of a line "Nodes=n[1-2] ..." have these GPUs. */
static void add_nodes(struct step_gres *g, const struct allocation *a, const char *at,
                      const char *gres)
{
    AUTO(hostlist_free) struct hostlist nodes = {.stated = 0};
    AUTO_FREE char *list = must(strndup(at, strcspn(at, " \n")));
    uint32_t n = (uint32_t)strtoul(strrchr(gres, ':') + 1, NULL, 10);
    if (hostlist_parse(list, &nodes, NULL) < 0)
        return;
    for (size_t i = 0; i < a->nhosts; i++)
        if (hostlist_find(&nodes, a->hosts[i].name))
            g->gpus[i] = n;
}

/* The job's part of the answer, which the caller frees. The last task of an array has the array's
 * number, and of that scontrol shows all tasks. */
static char *own_part(const char *answer, const char *job_id)
{
    AUTO_FREE char *head = text_format("JobId=%s ", job_id);
    for (const char *at = answer, *next; at; at = next) {
        next = strstr(at, "\nJobId=");
        next = next ? next + 1 : NULL;
        if (strncmp(at, head, strlen(head)) == 0)
            return must(strndup(at, next ? (size_t)(next - at) : strlen(at)));
    }
    return must(strdup(answer));
}

void slurm_gres_of_answer(const char *answer, const struct allocation *a, struct step_gres *ret)
{
    static const char nodes[] = " Nodes=";
    AUTO_FREE char *own = own_part(answer, a->job_id);
    bool is_even = true, has_any = false;
    *ret = (struct step_gres){.gpus = must(calloc(a->nhosts + 1, sizeof(*ret->gpus)))};
    for (const char *at = own; (at = strstr(at, nodes)); at++) {
        const char *gres = strstr(at, " GRES="), *end = strchr(at, '\n');
        AUTO_FREE char *one = gres && (!end || gres < end) ? as_option(gres + 6) : NULL;
        is_even = is_even && one && (!ret->all || strcmp(one, ret->all) == 0);
        has_any |= one != NULL;
        if (one)
            add_nodes(ret, a, at + sizeof(nodes) - 1, one);
        if (!ret->all)
            ret->all = take_ptr(one);
    }
    if (is_even || !has_any || a->nhosts > STEPS_MAX)
        free(take_ptr(ret->gpus));
    if (!is_even)
        free(take_ptr(ret->all));
}

void step_gres_free(struct step_gres *g)
{
    free(g->all);
    free(g->gpus);
}

void slurm_step_gres(const struct allocation *a, struct step_gres *ret)
{
    static const char *const parts[] = {"SLURM_GPUS=", "SLURM_GPUS_HET", "SLURM_GPUS_PER_TASK",
                                        "SLURM_GPUS_PER_SOCKET", NULL};
    const char *const words[] = {"scontrol", "-d", "show", "job", a->job_id, NULL};
    AUTO_FREE char *path = NULL, *answer = must(malloc(ANSWER_MAX));
    struct error e;
    *ret = (struct step_gres){.all = NULL};
    char **entry = environ;
    while (*entry && !begins_with_any(*entry, parts))
        entry++;
    if (!*entry)
        return;
    if (spawn_resolve(words[0], environ, NULL, &path, &e) == 0 &&
        ask_command(path, (char *const *)(uintptr_t)words, SCONTROL_SECONDS, answer, ANSWER_MAX,
                    &e) == 0)
        slurm_gres_of_answer(answer, a, ret);
    else
        log_note(
            "ask scontrol which GPUs the job has: %s; ranks have those that Slurm gives a step "
            "with one task on each node",
            e.text);
}
