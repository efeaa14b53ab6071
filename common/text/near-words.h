/* SPDX-License-Identifier: BSD-3-Clause */
/* near-words.h - finds the word that a user meant */
#pragma once

#include <stddef.h>

enum { NEAREST_MAX = 48 }; /* longer words are near nothing */

/* The distance of a candidate of n bytes from word; SIZE_MAX: too far to be meant. */
size_t word_badness(const char *word, const char *candidate, size_t n);
