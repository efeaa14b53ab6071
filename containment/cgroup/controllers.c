/* SPDX-License-Identifier: BSD-3-Clause */
#include "containment/cgroup/controllers.h"

#include <fcntl.h>
#include <string.h>

#include "common/files/fdio.h"

const char *cgroup_controller_text(enum cgroup_controller c)
{
    static const char *const names[CGROUP_CONTROLLER_COUNT] = {
        [CGROUP_MEMORY] = "memory", [CGROUP_CPUSET] = "cpuset",   [CGROUP_CPU] = "cpu",
        [CGROUP_PIDS] = "pids",     [CGROUP_DEVICES] = "devices", [CGROUP_FREEZER] = "freezer",
        [CGROUP_IO] = "io",         [CGROUP_NET_CLS] = "net_cls",
    };
    return c < CGROUP_CONTROLLER_COUNT ? names[c] : "unknown";
}

bool cgroup_list_has(const char *list, const char *word)
{
    static const char between[] = " ,\n";
    for (list += strspn(list, between); *list; list += strspn(list, between)) {
        size_t len = strcspn(list, between);
        if (len == strlen(word) && memcmp(list, word, len) == 0)
            return true;
        list += len;
    }
    return false;
}

unsigned cgroup_controllers_in(const char *list, unsigned among)
{
    unsigned found = 0;
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        if ((among & CGROUP_BIT(c)) && cgroup_list_has(list, cgroup_controller_text(c)))
            found |= CGROUP_BIT(c);
    return found;
}

bool machine_has_swap(void)
{
    char text[1024]; /* a line of headings, then a line for each device */
    return file_read_at(AT_FDCWD, "/proc/swaps", text, sizeof(text)) > 0 && strchr(text, '\n');
}
