/* SPDX-License-Identifier: BSD-3-Clause */
/* start-timeout.h - while hosts are being started: hosts whose --start-timeout is over end the
 * step, and progress is shown
 *
 * Time is counted in ticks of the loop, so that a suspended mprun or job loses none of it. */
#pragma once

struct start_timeout;
struct starters;

/* Begins at once; ends by itself when all hosts have their place, or the step is to end. NULL: out
 * of memory. */
struct start_timeout *start_timeout_create(struct starters *s);
void start_timeout_destroy(struct start_timeout *t); /* NULL is fine */
/* Removes the line of progress from the terminal. NULL is fine. */
void start_timeout_erase_progress(struct start_timeout *t);
