/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/slurm/srun-words.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"

/* "12: text", right-aligned among many tasks. NULL: the line is no task's. */
static const char *label_end(const char *line, size_t *ret_task)
{
    const char *number = line + strspn(line, " ");
    size_t n = strspn(number, "0123456789");
    if (n == 0 || n > 9 || strncmp(number + n, ": ", 2) != 0)
        return NULL;
    *ret_task = strtoul(number, NULL, 10);
    return number + n + 2;
}

/* srun writes how a task has ended in strsignal()'s words. -1: it is no such word. */
static int status_of(const char *word)
{
    static const char exited[] = "Exited with exit code ";
    if (strncmp(word, exited, sizeof(exited) - 1) == 0)
        return (atoi(word + sizeof(exited) - 1) & 0xff) << 8;
    if (strncmp(word, "Out Of Memory", 13) == 0)
        return SIGKILL;
    for (int signo = 1; signo < SIGRTMIN; signo++) {
        const char *description = sigdescr_np(signo);
        if (description && strncmp(word, description, strlen(description)) == 0)
            return signo;
    }
    return -1;
}

/* "n[1-2]: tasks 0-1: Killed" */
static int read_ended(const char *text, struct srun_line *ret)
{
    const char *at = strstr(text, ": task");
    if (!at)
        return -1;
    at += strlen(": task");
    at += *at == 's';
    const char *word = *at == ' ' ? strstr(at, ": ") : NULL;
    if (!word || (ret->status = status_of(word + 2)) < 0)
        return -1;
    AUTO_FREE char *list = must(strndup(at + 1, (size_t)(word - at - 1)));
    if (idset_parse(list, &ret->tasks, NULL) < 0)
        return -1;
    ret->text = word + 2;
    return 0;
}

void srun_line_read(const char *line, struct srun_line *ret)
{
    static const char *const heads[] = {"srun: error: ", "srun: "};
    *ret = (struct srun_line){.says = SRUN_SAID, .text = line};
    const char *text = label_end(line, &ret->task);
    if (text) {
        ret->says = SRUN_TASK_SAID;
        ret->text = text;
        return;
    }
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        if (strncmp(line, heads[i], strlen(heads[i])) == 0) {
            ret->text = line + strlen(heads[i]);
            break;
        }
    }
    if (read_ended(ret->text, ret) == 0)
        ret->says = SRUN_TASKS_ENDED;
}

int srun_text_has_name(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text; n && (at = strstr(at, name)); at++) {
        int starts = at == text || !(isalnum((unsigned char)at[-1]) || strchr("-_.", at[-1]));
        if (starts && !isalnum((unsigned char)at[n]) && !strchr("-_", at[n] ? at[n] : ' '))
            return 1;
    }
    return 0;
}
