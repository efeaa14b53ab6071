/* SPDX-License-Identifier: BSD-3-Clause */
/* binding.h - the user's request for binding ranks to cores */
#pragma once

#include <stdint.h>

enum bind_policy {
    BIND_DEFAULT, /* to cores when there are enough; else ranks are not bound */
    BIND_NONE,
    BIND_CORE, /* asked for: cores of other steps may be shared; too few cores are an error */
};

struct binding_request {
    enum bind_policy policy;
    uint32_t cores; /* of each rank; 0 is one: binding_cores() */
};

static inline uint32_t binding_cores(const struct binding_request *b)
{
    return b->cores ? b->cores : 1;
}
