/* SPDX-License-Identifier: BSD-3-Clause */
/* launcher-home.h - mprun's directory of sockets, which hosts of its machine remove when mprun was
 * killed */
#pragma once

#include <stdbool.h>

/* Remove the directory that mprun's addresses name, if it is the directory of a step of this user's
 * and mprun does not hold its lock. mprun_has_gone: that is known, so the lock does not count.
 * Several hosts of a machine may try it. What cannot be removed is logged. */
void launcher_home_remove(const char *addresses, const char *hostname, bool mprun_has_gone);
