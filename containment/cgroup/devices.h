/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.h - which devices the processes of a cgroup, and of all below it, can open */
#pragma once

#include "containment/cgroup/dir.h"

enum { CGROUP_DEVICES_MAX = 256 };

struct cgroup_device { /* a character device */
    uint32_t major, minor;
    uint32_t is_denied; /* opening it fails with EPERM, under whatever file name */
};

/* Denies or allows these devices to a cgroup; other devices stay as in the parent cgroup. A later
 * call replaces the list. version: of the hierarchy. v1 uses the controller devices, and a device
 * that a later call leaves out stays as it was. v2 uses a kernel program (BPF) attached to the
 * cgroup, which takes root and Linux 5.8. Returns 0, or -1 with errno. */
int at_hold_devices(struct cgroup_at d, int version, const struct cgroup_device *device, size_t n);
