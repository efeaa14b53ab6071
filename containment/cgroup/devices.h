/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.h - which devices the processes of a cgroup, and of all below it, can open */
#pragma once

#include "containment/cgroup/dir.h"

enum { CGROUP_DEVICES_MAX = 256 };

struct cgroup_device { /* a character device */
    uint32_t major, minor;
    uint32_t is_denied; /* opening it fails with EPERM, whatever its file is called */
};

/* Hold a cgroup to these; what is not among them is as it is above. A later call puts its devices
 * in place of those. version: of the hierarchy; v1: with the controller devices, and a device that
 * is left out later stays as it was; v2: by a program of the kernel's that goes with the cgroup,
 * which takes root and Linux 5.8. 0, or -1 with errno. */
int at_hold_devices(struct cgroup_at d, int version, const struct cgroup_device *device, size_t n);
