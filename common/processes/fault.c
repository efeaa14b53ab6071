/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/processes/fault.h"

#ifdef FAULT_INJECTION

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"

enum { PARTS = 8, VICTIMS = 2, WAIT_TURNS = 10000, WAIT_TURN_NS = 1000000 };

static struct {
    char name[16];
    pid_t pid;
} parts[PARTS];

void fault_register(const char *part, pid_t pid)
{
    for (int i = 0; i < PARTS; i++) {
        if (parts[i].name[0] && strcmp(parts[i].name, part) != 0)
            continue;
        snprintf(parts[i].name, sizeof(parts[i].name), "%s", part);
        parts[i].pid = pid;
        return;
    }
}

/* Only the rank knows what it left in the background. */
static pid_t find_grandchild(void)
{
    char text[32];
    const char *path = getenv("MPRUN_FAULT_GRANDCHILD");
    if (!path || file_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return 0;
    long pid = strtol(text, NULL, 10);
    return pid > 1 && pid <= 1 << 22 ? (pid_t)pid : 0;
}

static pid_t find(const char *part)
{
    if (strcmp(part, "grandchild") == 0)
        return find_grandchild();
    for (int i = 0; i < PARTS; i++)
        if (strcmp(parts[i].name, part) == 0)
            return parts[i].pid;
    return 0;
}

static long own_host = -1;

void fault_host(unsigned number)
{
    own_host = (long)number;
}

/* mprun is on no host that is asked for; it knows of none of the other victims. */
static int on_another_host(void)
{
    const char *wanted = getenv("MPRUN_FAULT_HOST");
    return wanted && own_host >= 0 && strtol(wanted, NULL, 10) != own_host;
}

/* The number of victims; 0 when one of them is not known here. The worker does harm to all below
 * it. */
static int find_victims(const char *name, pid_t ret[VICTIMS])
{
    if (strcmp(name, "mprun") != 0 && find("worker") <= 1)
        return 0;
    int both = strcmp(name, "both") == 0;
    ret[0] = find(both ? "keeper" : name);
    ret[1] = both ? find("worker") : ret[0];
    return ret[0] > 1 && ret[1] > 1 ? 1 + both : 0;
}

static void wait_for_file(void)
{
    const char *path = getenv("MPRUN_FAULT_WAIT");
    struct timespec turn = {.tv_nsec = WAIT_TURN_NS};
    for (int i = 0; path && i < WAIT_TURNS && access(path, F_OK) < 0; i++)
        nanosleep(&turn, NULL);
}

/* 1 for the one process that does the harm. */
static int claim(const pid_t *victims, int n)
{
    char text[64] = "";
    const char *path = getenv("MPRUN_FAULT_FILE");
    AUTO_CLOSE int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return 0;
    for (int i = 0; i < n; i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%d\n", (int)victims[i]);
    }
    return fd_write_all(fd, text, strlen(text)) == 0;
}

static void harm(pid_t pid, const char *action)
{
    int self = pid == getpid();
    if (strcmp(action, "exit") == 0 && self)
        _exit(3);
    if (strcmp(action, "kill") == 0) {
        kill(pid, SIGKILL);
    } else if (strcmp(action, "stop") == 0) {
        kill(pid, SIGSTOP);
    } else {
        if (self)
            signal(SIGSEGV, SIG_DFL);
        kill(pid, SIGSEGV);
    }
}

void fault_point(const char *phase)
{
    char victim[32], at[32], action[32];
    pid_t victims[VICTIMS];
    const char *spec = getenv("MPRUN_FAULT");
    if (!spec || sscanf(spec, "%31[^@]@%31[^:]:%31s", victim, at, action) != 3 ||
        strcmp(at, phase) != 0 || on_another_host())
        return;
    /* of a grandchild nothing is known yet; whoever has no victim here need not wait */
    if (!find_victims(strcmp(victim, "grandchild") == 0 ? "worker" : victim, victims))
        return;
    wait_for_file();
    int n = find_victims(victim, victims);
    if (n == 0 || !claim(victims, n))
        return;
    for (int i = 0; i < n; i++)
        harm(victims[i], action);
}

#endif
