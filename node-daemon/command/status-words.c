/* SPDX-License-Identifier: BSD-3-Clause */
/* status-words.c - words for the numbers of an answer */
#include "node-daemon/command/command.h"

#include <pwd.h>

static const char *const managers[] = {[GRANT_ANY] = "?",
                                       [GRANT_SITE] = "site",
                                       [GRANT_GRIDENGINE] = "gridengine",
                                       [GRANT_SLURM] = "slurm",
                                       [GRANT_PBS] = "pbs"};
static const char *const states[] = {[GRANT_RUNNING] = "running",
                                     [GRANT_ENDING] = "ending",
                                     [GRANT_STUCK] = "stuck",
                                     [GRANT_EXPECTED] = "expected"};

static const char *const cores[] = {[GRANT_CORES_ALL] = "all",
                                    [GRANT_CORES_CHOSEN] = "own",
                                    [GRANT_CORES_MANAGER] = "manager",
                                    [GRANT_CORES_SHARED] = "shared"};

static const char *word(const char *const *words, size_t n, uint32_t i)
{
    return i < n && words[i] ? words[i] : "?";
}

const char *status_manager(uint32_t manager)
{
    return word(managers, sizeof(managers) / sizeof(managers[0]), manager);
}

const char *status_cores(uint32_t how)
{
    return word(cores, sizeof(cores) / sizeof(cores[0]), how);
}

const char *status_state(uint32_t state)
{
    return word(states, sizeof(states) / sizeof(states[0]), state);
}

const char *status_user(const struct grant_answer *a)
{
    const struct passwd *pw = a->uid ? getpwuid(a->uid) : NULL;
    return pw ? pw->pw_name : "";
}
