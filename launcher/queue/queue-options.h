/* SPDX-License-Identifier: BSD-3-Clause */
/* queue-options.h - what users say of many commands in one step (queue.h) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct queue_options {
    const char *from; /* file, "-": standard input, ":::": words of the line; NULL: no queue */
    const char *log;  /* --joblog; NULL: none */
    uint32_t retries; /* of a command that fails */
    bool resume, progress;
};
