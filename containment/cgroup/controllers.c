/* SPDX-License-Identifier: BSD-3-Clause */
#include "containment/cgroup/controllers.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

const char *cgroup_controller_text(enum cgroup_controller c)
{
    static const char *const names[CGROUP_CONTROLLER_COUNT] = {
        [CGROUP_MEMORY] = "memory", [CGROUP_CPUSET] = "cpuset",   [CGROUP_CPU] = "cpu",
        [CGROUP_PIDS] = "pids",     [CGROUP_DEVICES] = "devices", [CGROUP_FREEZER] = "freezer",
    };
    return c < CGROUP_CONTROLLER_COUNT ? names[c] : "unknown";
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += len)
        if ((p == list || p[-1] == ' ') && (p[len] == 0 || p[len] == ' ' || p[len] == '\n'))
            return true;
    return false;
}

unsigned cgroup_controllers_in(const char *list, unsigned among)
{
    unsigned found = 0;
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        if ((among & CGROUP_BIT(c)) && has_word(list, cgroup_controller_text(c)))
            found |= CGROUP_BIT(c);
    return found;
}

unsigned cgroup_limit_controller(enum limit_kind k)
{
    return cgroup_controllers_in(limit_words(k)->controller, ~0u);
}

unsigned cgroup_limits_controllers(const struct limits *l)
{
    unsigned controllers = 0;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        controllers |= l->of[k].set ? cgroup_limit_controller(k) : 0;
    return controllers;
}
