/* SPDX-License-Identifier: BSD-3-Clause */
/* controllers.h - the controllers of cgroups that mprun uses, and sets of them */
#pragma once

#include <stdbool.h>

#include "model/limits.h"

enum cgroup_controller {
    CGROUP_MEMORY,
    CGROUP_CPUSET,
    CGROUP_CPU, /* v2: cpu; v1: cpuacct */
    CGROUP_PIDS,
    CGROUP_DEVICES, /* v1 only */
    CGROUP_FREEZER, /* v1 only */
    CGROUP_IO,      /* v1: blkio */
    CGROUP_NET_CLS, /* v1 only */
    CGROUP_CONTROLLER_COUNT,
};

/* A set of controllers is an unsigned with a bit for each. */
#define CGROUP_BIT(c) (1u << (c))
#define CGROUP_LIMITS (CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_PIDS)) /* hold limits */

/* Returns the name that v2's files use. */
const char *cgroup_controller_text(enum cgroup_controller c);
/* Returns whether the word is in a list separated by blanks or commas. */
bool cgroup_list_has(const char *list, const char *word);
/* Returns the controllers of `among` that such a list names. */
unsigned cgroup_controllers_in(const char *list, unsigned among);
/* Return the controller that holds this kind of limit; those that hold all limits set in *l. */
unsigned cgroup_limit_controller(enum limit_kind k);
unsigned cgroup_limits_controllers(const struct limits *l);

/* Returns whether there is swap space. Without it a limit of swap holds by itself. */
bool machine_has_swap(void);
