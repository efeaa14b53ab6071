/* SPDX-License-Identifier: BSD-3-Clause */
/* logging.h - chooses where the daemon's log goes */
#pragma once

#include "common/log.h"

/* To the journal when standard error is connected to it, to syslog when to_syslog
 * (standard input, output and error lead nowhere then), else to standard
 * error as it is. */
void logging_open(enum log_level level, int to_syslog);
