/* SPDX-License-Identifier: BSD-3-Clause */
/* utf8.h - which bytes of foreign text are UTF-8 */
#pragma once

#include <stddef.h>

/* Length of the valid UTF-8 sequence at text[0..n) (no overlong form, no surrogate), or 0. */
size_t utf8_sequence(const char *text, size_t n);
