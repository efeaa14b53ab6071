/* SPDX-License-Identifier: BSD-3-Clause */
/* signal-mask.h - whether signals end or stop mprun at once, or wait for its loop */
#pragma once

/* INT, TERM, HUP and QUIT end mprun at once, and TSTP stops it, as any program: around work that
 * may take long, or wait, and that leaves nothing to clean up. */
void signal_mask_open(void);
/* They wait for the loop again. */
void signal_mask_close(void);
