/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - what a file is that mprun brings to the hosts of a step (--preload-*) */
#ifndef MODEL_PRELOAD_H
#define MODEL_PRELOAD_H

enum preload_kind {
    PRELOAD_PROGRAM, /* executed instead of what the host has by that name */
    PRELOAD_LIBRARY, /* in a directory that is first in LD_LIBRARY_PATH */
    PRELOAD_DATA,    /* in the directory that MPRUN_PRELOAD_DIR names */
    PRELOAD_KIND_COUNT,
};

enum { PRELOAD_FILES_MAX = 4096 };

#endif
