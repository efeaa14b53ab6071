/* SPDX-License-Identifier: BSD-3-Clause */
/* dis.h - "data is strings", the encoding of numbers and bytes in PBS's protocols
 *
 * A number is a chain of counts, a sign, and digits: 5 is "+5", 42 is "2+42", 1073741825 is
 * "210+1073741825". A string is its length as such a number, and its bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buffer.h"

/* Append. */
void dis_put_number(struct buffer *to, int64_t value);
void dis_put_bytes(struct buffer *to, const void *p, size_t n);
void dis_put_string(struct buffer *to, const char *text);

/* Read an item from the beginning of n bytes. Return its length in bytes; 0: it is incomplete; -1:
 * the bytes are no such item. */
ssize_t dis_get_number(const uint8_t *p, size_t n, int64_t *ret);
/* At most max bytes; *ret is in p. */
ssize_t dis_get_bytes(const uint8_t *p, size_t n, size_t max, const uint8_t **ret, size_t *ret_n);
