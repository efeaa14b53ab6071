/* SPDX-License-Identifier: BSD-3-Clause */
/* mppmi-times - what mppmi costs: mppmi-times [--hosts N] [--env NAME=value]... RANKS PROGRAM
 * [ARG]...
 *
 * Prints milliseconds from the start of mppmi to PMI_READY, to the end of the last rank, and of its
 * own end, and the memory of mppmi when all ranks have ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/pmi-play.h"

#include "common/loop.h"
#include "common/processes/proc.h"

static void print_memory(const struct play_host *h)
{
    struct proc_memory m;
    if (h->mppmi > 0 && proc_memory_read(h->mppmi, &m) == 0)
        printf("mppmi %s: anonymous %.0f KiB, file %.0f KiB, shared %.0f KiB\n", h->name,
               (double)m.anonymous / 1024, (double)m.file / 1024, (double)m.shared / 1024);
}

static int run(struct play *p, char **argv)
{
    struct error err;
    play_begin(p);
    double begun = loop_now();
    if (play_until(p, play_is_ready) < 0)
        return -1;
    double ready = loop_now();
    if (play_spawn(p, argv, &err) < 0 || play_until(p, play_all_ended) < 0)
        return -1;
    double ended = loop_now();
    for (int i = 0; i < p->options.nhosts; i++)
        print_memory(&p->hosts[i]);
    if (play_end(p) < 0)
        return -1;
    printf("exec to begin %.2f, ready %.2f, spawned %.2f, ranks %.2f, end %.2f ms\n",
           (begun - p->started) * 1e3, (ready - begun) * 1e3, (p->spawned - ready) * 1e3,
           (ended - p->spawned) * 1e3, (p->ended - ended) * 1e3);
    return 0;
}

int main(int argc, char **argv)
{
    struct play_options o = {.nhosts = 1, .keep_output = getenv("SHOW") != NULL};
    struct error err;
    const char *env[32] = {NULL};
    int i = 1, nenv = 0;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (!strcmp(argv[i], "--hosts"))
            o.nhosts = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--bind"))
            o.bind = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--pmi1"))
            o.pmi1 = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--no-topology"))
            o.no_topology = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--env") && nenv < 31)
            env[nenv++] = argv[i + 1];
    }
    if (argc - i < 2)
        return fprintf(stderr, "usage: mppmi-times [--hosts N] RANKS PROGRAM [ARG]...\n"), 2;
    o.ranks_per_host = atoi(argv[i]);
    o.env = env;
    struct play *p = play_create(&o, &err);
    if (!p)
        return fprintf(stderr, "%s\n", err.text), 1;
    int rc = run(p, argv + i + 1);
    for (size_t k = 0; o.keep_output && k < p->hosts[0].nenv; k++)
        printf("%s\n", p->hosts[0].env[k]);
    for (int r = 0; o.keep_output && r < p->nranks; r++) {
        char *text = play_output(p, r);
        printf("[%d] status %d connects %d finalizes %d: %s\n", r, p->ranks[r].status,
               p->ranks[r].connects, p->ranks[r].finalizes, text);
        free(text);
    }
    printf("collects %d, requests %d, replies %d, leftovers %d, mppmi status %d, failed '%s'\n",
           p->collects, p->requests, p->replies, play_leftovers(p, 0), p->hosts[0].mppmi_status,
           p->hosts[0].failed);
    play_destroy(p);
    return rc ? 1 : 0;
}
