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
#include "rm-adapters/processes/ask-manager.h"
#include "rm-adapters/slurm/slurm-private.h"
#include "rm-adapters/tunables.h"

enum { ANSWER_MAX = 1 << 18 }; /* bytes */

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

char *slurm_gres_of_answer(const char *answer)
{
    char *all = NULL;
    for (const char *at = answer; (at = strstr(at, " Nodes=")); at++) {
        const char *gres = strstr(at, " GRES="), *end = strchr(at, '\n');
        AUTO_FREE char *one = gres && (!end || gres < end) ? as_option(gres + 6) : NULL;
        if (!one || (all && strcmp(one, all) != 0)) {
            free(all);
            return NULL;
        }
        if (!all)
            all = take_ptr(one);
    }
    return all;
}

char *slurm_step_gres(const char *job)
{
    static const char *const parts[] = {"SLURM_GPUS=", "SLURM_GPUS_HET", "SLURM_GPUS_PER_TASK",
                                        "SLURM_GPUS_PER_SOCKET", NULL};
    const char *const words[] = {"scontrol", "-d", "show", "job", job, NULL};
    AUTO_FREE char *path = NULL, *answer = must(malloc(ANSWER_MAX));
    struct error e;
    char **entry = environ;
    while (*entry && !begins_with_any(*entry, parts))
        entry++;
    if (!*entry)
        return NULL;
    if (spawn_resolve(words[0], environ, NULL, &path, &e) == 0 &&
        ask_command(path, (char *const *)(uintptr_t)words, SCONTROL_SECONDS, answer, ANSWER_MAX,
                    &e) == 0)
        return slurm_gres_of_answer(answer);
    log_note("ask scontrol which GPUs the job has: %s; ranks have those that Slurm gives a step "
             "with one task on each node",
             e.text);
    return NULL;
}
