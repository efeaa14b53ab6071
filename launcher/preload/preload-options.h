/* SPDX-License-Identifier: BSD-3-Clause */
/* preload-options.h - what users say of files that are brought to the hosts */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct preload_options {
    bool binary, libs, clean;
    const char *const *files; /* nfiles lists with commas, of the argv that was parsed */
    size_t nfiles;
    uint64_t limit; /* bytes that a host keeps */
};
