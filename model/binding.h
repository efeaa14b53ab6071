/* SPDX-License-Identifier: BSD-3-Clause */
/* binding.h - what ranks are bound to */
#ifndef MODEL_BINDING_H
#define MODEL_BINDING_H

#include <stdint.h>

enum bind_policy {
    BIND_DEFAULT, /* to cores when there are enough, else not at all */
    BIND_NONE,
    BIND_CORE, /* asked for: sharing a core is an error unless overload is allowed */
};

struct binding_request {
    enum bind_policy policy;
    uint32_t cores; /* of each rank; 0 is one: binding_cores() */
};

static inline uint32_t binding_cores(const struct binding_request *b)
{
    return b->cores ? b->cores : 1;
}

#endif
