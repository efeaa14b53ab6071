/* SPDX-License-Identifier: BSD-3-Clause */
/* start-links.c - waiting for what the supervisor gives, in the processes that ask others */
#include <poll.h>

#include "node-daemon/lib/start.h"

bool start_has_gift(void)
{
    struct pollfd p = {.fd = START_CONTROL, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

int start_await_link(struct start *s, enum role other, double seconds)
{
    struct pollfd p = {.fd = START_CONTROL, .events = POLLIN};
    enum gift gift;
    unsigned which;
    while (poll(&p, 1, (int)(seconds * 1000)) == 1) {
        if (start_take(s, &gift, &which) < 0)
            return -1;
        if (gift == GIFT_LINK && which == (unsigned)other)
            return 0;
    }
    return -1;
}
