/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h - JSON documents through jansson, loaded when the first one is made
 *
 * A step that writes no JSON does not pay for the library. Objects own what is put into them.
 * Text that is not UTF-8 is written with U+FFFD for every byte that is not. */
#pragma once

#include <stdint.h>

#include "common/error.h"

struct json;

int json_available(struct error *err); /* 0: the library is loaded; -1 with err */
struct json *json_new_object(void);
struct json *json_new_array(void);
void json_free(struct json *j);
/* Put a member into an object, or append to an array (key NULL). */
void json_put(struct json *in, const char *key, struct json *value); /* takes value */
void json_put_string(struct json *in, const char *key, const char *value);
void json_put_int(struct json *in, const char *key, int64_t value);
void json_put_real(struct json *in, const char *key, double value);
void json_put_bool(struct json *in, const char *key, int value);
/* Write to a file ("-": standard output), which has either its old content or all of the new. Takes
 * j (NULL: there is no library). 0, or -1 with err. */
int json_write_file(struct json *j, const char *path, struct error *err);
/* Could that be done now, as far as can be known without writing? 0, or -1 with err. */
int json_may_write(const char *path, struct error *err);
