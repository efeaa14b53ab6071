/* SPDX-License-Identifier: BSD-3-Clause */
/* claims.h - claims under way: processes whose job front is asked for
 *
 * There is room for so many only; who finds none is found again by a look at everything. */
#pragma once

#include "common/loop.h"
#include "node-daemon/lib/watch-protocol.h"
#include "node-daemon/watch/process.h"

enum { CLAIMS_MAX = 128 };

struct claim {
    uint64_t id; /* 0: free */
    struct process p;
    struct reader_request what;
    const char *how; /* it was found */
    double since;
    bool is_of_look;
};

struct claims {
    struct claim of[CLAIMS_MAX];
    size_t n;
    uint64_t last;
};

/* A new one, which takes p. NULL: there is no room. */
struct claim *claims_add(struct claims *c, const struct process *p,
                         const struct reader_request *what, const char *how, bool is_of_look);
struct claim *claims_find(struct claims *c, uint64_t id);
/* Is this process claimed already? */
bool claims_have(const struct claims *c, pid_t pid);
/* A claim that nobody has answered for so many seconds. NULL: there is none. */
struct claim *claims_old(struct claims *c, double seconds);
void claims_end(struct claims *c, struct claim *one);
void claims_clear(struct claims *c);
