/* SPDX-License-Identifier: BSD-3-Clause */
/* unread-output.h - the step is to end whether its output is read or not */
#pragma once

struct loop;
struct loop_defer;
struct output;
struct unread_output;

/* turn: what gives the step machine a turn after each look. NULL: out of memory. */
struct unread_output *unread_output_create(struct loop *loop, struct output *o,
                                           struct loop_defer *turn);
void unread_output_destroy(struct unread_output *u); /* NULL is fine */

/* From `grace` seconds on, drop what nobody takes for UNREAD_SECONDS, with a warning. */
void unread_output_drop(struct unread_output *u, double grace);
