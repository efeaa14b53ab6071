/* SPDX-License-Identifier: BSD-3-Clause */
/* suspension.h - to notice that the manager has stopped mprun, with its job, and not the ranks
 *
 * SIGSTOP cannot be caught, and whatever belongs to the job's script is stopped with mprun: what goes
 * on is the starters, as tasks of their own. The one on mprun's machine looks at its state once a
 * second, tells it, and lets it continue: mprun stops the ranks of all hosts, then itself. */
#ifndef STARTER_SUSPENSION_H
#define STARTER_SUSPENSION_H

struct worker;
struct suspension;

/* Only where the preamble asks for it. NULL: not asked for, or it cannot be done. */
struct suspension *suspension_watch(struct worker *w);
void suspension_end(struct suspension *s); /* NULL is fine */
/* mprun has stopped the ranks, or let them continue. */
void suspension_signal(struct suspension *s, int signo);

#endif
