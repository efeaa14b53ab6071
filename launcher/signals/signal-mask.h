/* SPDX-License-Identifier: BSD-3-Clause */
/* signal-mask.h - whether INT, TERM, HUP and QUIT wait for mprun's loop, or end mprun at once */
#pragma once

/* They do what they do to any program: around work that may take long, or wait, and that leaves
 * nothing to clean up. */
void signal_mask_open(void);
/* They wait for the loop again. */
void signal_mask_close(void);
