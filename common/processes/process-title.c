/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/processes/process-title.h"

#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

static char *words; /* one behind the other, as the kernel has placed them */
static size_t size;

void process_title_init(int argc, char **argv)
{
    words = argv[0];
    size = argc > 0 ? (size_t)(argv[argc - 1] - argv[0]) + strlen(argv[argc - 1]) : 0;
}

void process_title_set(const char *name)
{
    prctl(PR_SET_NAME, name);
    if (size > 0)
        strncpy(words, name, size);
}
