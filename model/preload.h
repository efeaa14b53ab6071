/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - the kinds of files that mprun brings to a step's hosts (--preload-*) */
#pragma once

enum preload_kind {
    PRELOAD_PROGRAM, /* executed instead of the host's program of that name */
    PRELOAD_LIBRARY, /* in a directory that is first in LD_LIBRARY_PATH */
    PRELOAD_DATA,    /* in the directory that MPRUN_PRELOAD_DIR names */
    PRELOAD_KIND_COUNT,
};

enum { PRELOAD_FILES_MAX = 4096 };
