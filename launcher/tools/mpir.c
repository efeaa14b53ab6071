/* SPDX-License-Identifier: BSD-3-Clause */
/* mpir.c - see mpir.h; names and types are the interface's, not ours */
#include "launcher/tools/mpir.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/words.h"
#include "launcher/preload/program-path.h"
#include "launcher/step/step-record.h"

enum { MPIR_NULL, MPIR_DEBUG_SPAWNED, MPIR_DEBUG_ABORTING };

typedef struct {
    char *host_name;
    char *executable_name;
    int pid;
} MPIR_PROCDESC;

void MPIR_Breakpoint(void);

MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
volatile int MPIR_being_debugged; /* the debugger writes it */
volatile int MPIR_debug_state;
const char *MPIR_debug_abort_string;
int MPIR_i_am_starter;      /* that it is there says: this process is no rank */
int MPIR_partial_attach_ok; /* that it is there: ranks that are left alone are continued */
int MPIR_acquired_pre_main; /* that it is there: ranks wait before main() */

static char **executables; /* of each program, which entries of the table share */

__attribute__((noinline)) void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory"); /* what the debugger has written is read again */
}

bool mpir_is_debugged(void)
{
    return MPIR_being_debugged;
}

/* The file that a rank's process executes, where this host has the same file; else the word of the
 * line. Caller frees. */
static char *find_executable(const struct app *app)
{
    char *found;
    return program_path(app, app->argv[0], false, &found, NULL) == 0 ? found
                                                                     : must(strdup(app->argv[0]));
}

static void fill_table(const struct step_record *r)
{
    const struct step *s = &r->plan->step;
    size_t app = 0;
    MPIR_PROCDESC *table = must(calloc(s->nranks, sizeof(*table)));
    executables = must(calloc(s->napps + 1, sizeof(*executables)));
    for (size_t i = 0; i < s->napps; i++)
        executables[i] = find_executable(&s->apps[i]);
    for (uint32_t i = 0; i < s->nranks; i++) {
        const struct report_rank *rank = step_record_rank(r, (struct rank_name){.rank = i});
        while (!rank_set_has(&s->apps[app].ranks, rank->name))
            app++; /* programs' ranks follow each other */
        table[i] = (MPIR_PROCDESC){
            .host_name = (char *)(uintptr_t)r->hosts[rank->host].name,
            .executable_name = executables[app],
            .pid = (int)rank->pid,
        };
    }
    MPIR_proctable = table;
    MPIR_proctable_size = (int)s->nranks;
}

void mpir_rank_restarted(uint32_t rank, pid_t pid)
{
    if ((int64_t)rank < MPIR_proctable_size)
        MPIR_proctable[rank].pid = (int)pid;
}

static void enter(int state)
{
    MPIR_debug_state = state;
    if (MPIR_being_debugged)
        MPIR_Breakpoint();
}

void mpir_ranks_are_running(const struct step_record *r)
{
    fill_table(r);
    enter(MPIR_DEBUG_SPAWNED);
}

void mpir_step_failed(const char *text)
{
    if (MPIR_debug_state == MPIR_DEBUG_ABORTING)
        return;
    MPIR_debug_abort_string = text;
    enter(MPIR_DEBUG_ABORTING);
}

void mpir_close(void)
{
    MPIR_proctable_size = 0;
    free(take_ptr(MPIR_proctable));
    words_free(take_ptr(executables));
}
