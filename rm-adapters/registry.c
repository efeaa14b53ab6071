/* SPDX-License-Identifier: BSD-3-Clause */
/* registry.c - the resource managers that mprun knows: one line each */
#include "rm-adapters/adapter.h"

const struct rm_adapter *const rm_adapters[] = {
    &rm_adapter_gridengine,
    &rm_adapter_slurm,
    &rm_adapter_pbs,
    &rm_adapter_lsf,
    &rm_adapter_ssh,   /* where hosts are given */
    &rm_adapter_local, /* detects itself everywhere: last */
    NULL,
};
