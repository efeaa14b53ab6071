/* SPDX-License-Identifier: BSD-3-Clause */
/* host-gpus.h - the GPUs that ranks of this host can have, and which of its cores are near them */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/idset.h"

/* Whose GPUs: that decides which variable names them. HIP counts those of CUDA_VISIBLE_DEVICES
 * among those of ROCR_VISIBLE_DEVICES, so that no more should be set than a host has use for. */
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
    int gpu; /* index of the GPU; -1: of one that ranks cannot have */
};

struct host_gpus { /* as zero there are none */
    struct host_gpu *gpu;
    size_t n;
    struct gpu_file *file; /* as the drivers tell; those that all GPUs share are not among them */
    size_t nfiles;
    unsigned kinds; /* bits 1 << kind: whose variables are to name them; all, where no driver says
                       whose they are */
};

/* The GPUs of the list (ids with commas between them, blanks around them), or with NULL those of
 * this machine, by their drivers. numbers: those that drivers have for the numbers in `list`, where
 * a container or cgroup has given ranks numbers of their own; NULL: the same. root: a descriptor of
 * the directory below which proc and sys are looked for. */
void host_gpus_read(int root, const char *list, const char *numbers, struct host_gpus *ret);
void host_gpus_free(struct host_gpus *g);
