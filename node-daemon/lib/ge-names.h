/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-names.h - what an execd of Grid Engine calls the directories of its tasks */
#pragma once

/* "23.1": a job and task as directories are called. */
int ge_is_job(const char *name);
/* "1.n12": a slave task of it. */
int ge_is_task(const char *name);
