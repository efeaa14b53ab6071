/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/lib/ge-names.h"

#include <ctype.h>
#include <string.h>

enum { DIGITS_MAX = 10, HOST_MAX = 64 };

static size_t digits(const char *s)
{
    size_t n = strspn(s, "0123456789");
    return n <= DIGITS_MAX ? n : 0;
}

int ge_is_job(const char *name)
{
    size_t n = digits(name);
    if (n == 0 || name[n] != '.')
        return 0;
    size_t m = digits(name + n + 1);
    return m > 0 && name[n + 1 + m] == 0;
}

int ge_is_task(const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = digits(name);
    if (n == 0 || name[n] != '.' || !isalnum((unsigned char)name[n + 1]))
        return 0;
    size_t m = strspn(name + n + 1, letters);
    return m <= HOST_MAX && name[n + 1 + m] == 0;
}
