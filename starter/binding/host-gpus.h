/* SPDX-License-Identifier: BSD-3-Clause */
/* host-gpus.h - the GPUs that ranks of this host can have, and which of its cores are near them */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/text/idset.h"

/* The vendor decides which variable names a GPU. HIP counts the GPUs of CUDA_VISIBLE_DEVICES within
 * those of ROCR_VISIBLE_DEVICES, so set no variable that the host has no use for. */
enum gpu_kind {
    GPU_NVIDIA,
    GPU_AMD,
    GPU_INTEL,
    GPU_KINDS,
};
extern const char *const gpu_variables[GPU_KINDS]; /* their names */

struct host_gpu {
    char *id;          /* as the variables have it: a number, a UUID */
    struct idset near; /* hardware threads; empty: not known */
};

struct gpu_file { /* a character device of a GPU of this machine */
    uint32_t major, minor;
    int gpu; /* index of the GPU; -1: ranks cannot have this GPU */
};

struct host_gpus { /* all zero: no GPUs */
    struct host_gpu *gpu;
    size_t n;
    struct gpu_file *file; /* as the drivers tell; without the files that all GPUs share */
    size_t nfiles;
    unsigned kinds; /* bits 1 << kind: the variables that are to name the GPUs; all bits where no
                       driver tells the vendor */
};

/* Reads the GPUs that `list` names (ids separated by commas, with blanks around them); list NULL:
 * the GPUs of this machine that the drivers tell. numbers: the drivers' numbers for the numbers in
 * `list`, where a container or cgroup has renumbered the GPUs; NULL: they are the same. root: a
 * descriptor of the directory that has proc and sys. The caller frees *ret by host_gpus_free(). */
void host_gpus_read(int root, const char *list, const char *numbers, struct host_gpus *ret);
void host_gpus_free(struct host_gpus *g);
