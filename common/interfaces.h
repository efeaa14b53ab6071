/* SPDX-License-Identifier: BSD-3-Clause */
/* interfaces.h - the addresses of this machine */
#ifndef COMMON_INTERFACES_H
#define COMMON_INTERFACES_H

#include <netinet/in.h>
#include <stddef.h>

#include "common/error.h"

enum { INTERFACES_MAX = 128 }; /* that are looked at */

struct interface {
    char name[24];
    char address[INET6_ADDRSTRLEN];
    int loopback;
};

/* Addresses of interfaces that are up, in the system's order, IPv4 and IPv6 without link-local
 * ones: their number, at most max, or -1. */
int interfaces_list(struct interface *ret, size_t max, struct error *err);
/* Those that other hosts can reach: all but loopback, or loopback where there is nothing else. With
 * `only`, a list of names, addresses and networks ("eth0,10.0.0.0/8"), what it names, loopback
 * included; a part that names nothing is an error that lists what there is. */
int interfaces_choose(const char *only, struct interface *ret, size_t max, struct error *err);
/* Is this, as a number, one of these addresses? */
int interfaces_have(const struct interface *all, size_t n, const char *address);

#endif
