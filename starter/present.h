/* SPDX-License-Identifier: BSD-3-Clause */
/* present.h - what the ranks of this host use now, when mprun asks for it */
#ifndef STARTER_PRESENT_H
#define STARTER_PRESENT_H

#include <stddef.h>
#include <stdint.h>

struct worker;

/* PRESENT_ASK has come: it is answered by PRESENT at once, in whatever state the host is. -1: it
 * cannot be read. */
int present_asked(struct worker *w, const uint8_t *p, size_t n);

#endif
