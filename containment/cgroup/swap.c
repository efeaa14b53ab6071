/* SPDX-License-Identifier: BSD-3-Clause */
/* swap.c - whether this machine can swap at all: where it cannot, a limit of swap always holds */
#include "containment/cgroup/driver.h"

#include <fcntl.h>
#include <string.h>

#include "common/fdio.h"

int machine_has_swap(void)
{
    char text[1024]; /* a line of headings, then a line for each device */
    ssize_t n = file_read_at(AT_FDCWD, "/proc/swaps", text, sizeof(text));
    return n > 0 && strchr(text, '\n') != NULL;
}
