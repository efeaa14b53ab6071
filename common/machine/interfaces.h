/* SPDX-License-Identifier: BSD-3-Clause */
/* interfaces.h - the addresses of this machine */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

enum { INTERFACES_MAX = 128 }; /* more are not looked at */

struct interface {
    char name[24];
    char address[INET6_ADDRSTRLEN];
    bool loopback;
};

/* List the addresses of interfaces that are up, in the system's order: IPv4, and IPv6 but for
 * link-local ones. Their number, at most max, or -1 with err. */
int interfaces_list(struct interface *ret, size_t max, struct error *err);
/* List the addresses that other hosts can reach: all but loopback, or loopback where there is
 * nothing else. only: NULL, or a list of names, addresses and networks ("eth0,10.0.0.0/8") to take
 * instead, loopback included; a part of it that names nothing is an error that lists what is. */
int interfaces_choose(const char *only, struct interface *ret, size_t max, struct error *err);
/* Is one of the n this numeric address, however it is written? */
bool interfaces_have(const struct interface *all, size_t n, const char *address);
