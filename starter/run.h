/* SPDX-License-Identifier: BSD-3-Clause */
/* run.h - the starter: one host's part of a step */
#pragma once

/* Runs as a starter: mprun has started this process, itself or by the manager. What there is to
 * know comes on standard input and in the environment. Returns the exit code. */
int starter_run(void);
