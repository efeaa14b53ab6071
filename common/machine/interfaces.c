/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/machine/interfaces.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "common/text/number.h"

/* ---- what there is --------------------------------------------------------------------------- */

/* False: not an address that a peer could be given. */
static bool take(const struct ifaddrs *i, struct interface *ret)
{
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP))
        return 0;
    const void *raw = NULL;
    if (i->ifa_addr->sa_family == AF_INET)
        raw = &((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
    if (i->ifa_addr->sa_family == AF_INET6)
        raw = &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;
    if (!raw || (i->ifa_addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(raw)))
        return 0;
    inet_ntop(i->ifa_addr->sa_family, raw, ret->address, sizeof(ret->address));
    snprintf(ret->name, sizeof(ret->name), "%s", i->ifa_name);
    ret->loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
    return 1;
}

int interfaces_list(struct interface *ret, size_t max, struct error *err)
{
    struct ifaddrs *all;
    size_t n = 0;
    if (getifaddrs(&all) < 0)
        return error_errno(err, errno, "list the network interfaces");
    for (const struct ifaddrs *i = all; i && n < max; i = i->ifa_next)
        n += (size_t)take(i, &ret[n]);
    freeifaddrs(all);
    return (int)n;
}

/* ---- what is meant --------------------------------------------------------------------------- */

/* The bytes of a numeric address: their number, or 0. */
static size_t address_bytes(const char *text, unsigned char ret[16])
{
    if (inet_pton(AF_INET, text, ret) == 1)
        return 4;
    return inet_pton(AF_INET6, text, ret) == 1 ? 16 : 0;
}

static bool are_same_bits(const unsigned char *a, const unsigned char *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, whole) != 0)
        return 0;
    return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

/* Is the interface named by one word: "eth0", "10.0.0.1", "10.0.0.0/8"? */
static bool is_named(const struct interface *i, const char *word)
{
    char network[64];
    unsigned char want[16], have[16];
    int64_t bits = -1;
    size_t len = strcspn(word, "/");
    if (strcmp(i->name, word) == 0)
        return 1;
    if (len >= sizeof(network))
        return 0;
    memcpy(network, word, len);
    network[len] = 0;
    size_t n = address_bytes(network, want);
    if (n == 0 || address_bytes(i->address, have) != n)
        return 0;
    if (!word[len])
        bits = (int64_t)n * 8;
    else if (number_parse(word + len + 1, NULL, 0, (int64_t)n * 8, &bits, NULL) < 0)
        return 0;
    return are_same_bits(want, have, (unsigned)bits);
}

static int names_nothing(const char *word, const struct interface *all, size_t n, struct error *err)
{
    char list[400] = "";
    for (size_t i = 0; i < n && strlen(list) + 100 < sizeof(list); i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s %s", i ? ", " : "",
                 all[i].name, all[i].address);
    return error_set(err, ENODEV,
                     "'%.60s' is no interface, address or network of this machine, which has: %s",
                     word, list);
}

static int choose_named(const char *only, const struct interface *all, size_t n, unsigned char *on,
                        struct error *err)
{
    while (*only) {
        char word[64];
        size_t len = strcspn(only, ","), hits = 0;
        snprintf(word, sizeof(word), "%.*s", (int)(len < 60 ? len : 60), only);
        for (size_t i = 0; i < n; i++)
            if (is_named(&all[i], word))
                hits += on[i] = 1;
        if (hits == 0)
            return names_nothing(word, all, n, err);
        only += len;
        only += *only == ',';
    }
    return 0;
}

int interfaces_choose(const char *only, struct interface *ret, size_t max, struct error *err)
{
    struct interface all[INTERFACES_MAX];
    unsigned char on[INTERFACES_MAX] = {0};
    size_t chosen = 0, outside = 0;
    int n = interfaces_list(all, INTERFACES_MAX, err);
    if (n < 0)
        return -1;
    for (int i = 0; i < n; i++)
        outside += !all[i].loopback;
    for (int i = 0; !only && i < n; i++)
        on[i] = outside == 0 || !all[i].loopback;
    if (only && choose_named(only, all, (size_t)n, on, err) < 0)
        return -1;
    for (int i = 0; i < n && chosen < max; i++)
        if (on[i])
            ret[chosen++] = all[i];
    if (chosen == 0)
        return error_set(err, ENODEV, "this machine has no network interface that is up");
    return (int)chosen;
}

bool interfaces_have(const struct interface *all, size_t n, const char *address)
{
    unsigned char want[16], have[16];
    size_t len = address_bytes(address, want);
    for (size_t i = 0; len && i < n; i++)
        if (address_bytes(all[i].address, have) == len && memcmp(want, have, len) == 0)
            return 1;
    return 0;
}
