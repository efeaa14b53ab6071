/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/utf8.h"

size_t utf8_sequence(const char *text, size_t n)
{
    static const unsigned smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0)
        return 0;
    size_t len = s[0] < 0x80       ? 1
                 : s[0] >> 5 == 6  ? 2
                 : s[0] >> 4 == 14 ? 3
                 : s[0] >> 3 == 30 ? 4
                                   : 0;
    if (len < 2 || len > n)
        return len < 2 ? len : 0;
    unsigned code = s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    int surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < smallest[len] || code > 0x10ffff || surrogate ? 0 : len;
}
