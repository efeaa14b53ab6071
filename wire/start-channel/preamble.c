/* SPDX-License-Identifier: BSD-3-Clause */
/* preamble.c - writes the preamble at once, reads it byte by byte: it takes nothing after it */
#include "wire/start-channel/preamble.h"

#include <errno.h>
#include <string.h>

#include "common/files/fdio.h"
#include "wire/little-endian.h"

enum { MAGIC = 16, FIXED = LINK_KEY + 16 };
static const uint8_t magic[MAGIC] = "\nmprun-start-1\n";

int preamble_pack(const struct preamble *p, uint8_t out[PREAMBLE_MAX], struct error *err)
{
    size_t text = strnlen(p->addresses, PREAMBLE_ADDRESSES);
    if (text == PREAMBLE_ADDRESSES)
        return error_set(err, E2BIG, "the launcher's addresses are longer than %d bytes",
                         PREAMBLE_ADDRESSES);
    size_t len = FIXED + text;
    memcpy(out, magic, MAGIC);
    out[MAGIC] = (uint8_t)len;
    out[MAGIC + 1] = (uint8_t)(len >> 8);
    uint8_t *at = out + MAGIC + 2;
    memcpy(at, p->key, LINK_KEY);
    put32(at + LINK_KEY, p->host_id);
    put32(at + LINK_KEY + 4, p->flags);
    put32(at + LINK_KEY + 8, p->launcher);
    put32(at + LINK_KEY + 12, p->link_grace);
    memcpy(at + FIXED, p->addresses, text);
    return (int)(MAGIC + 2 + len);
}

/* Byte by byte up to the magic: nothing after the preamble may be taken. */
static int read_magic(int fd, struct error *err)
{
    uint8_t window[MAGIC] = {0};
    for (size_t n = 0; n < NOISE_MAX; n++) {
        memmove(window, window + 1, MAGIC - 1);
        if (fd_read_all(fd, window + MAGIC - 1, 1) < 0)
            return error_set(err, EPROTO,
                             "standard input ended before the start parameters: mpstarter is "
                             "started by mprun, not by hand");
        if (memcmp(window, magic, MAGIC) == 0)
            return 0;
    }
    return error_set(err, EPROTO, "no start parameters in the first %d bytes of input", NOISE_MAX);
}

static int unpack(const uint8_t *body, size_t len, struct preamble *ret, struct error *err)
{
    size_t text = len - FIXED;
    memcpy(ret->key, body, LINK_KEY);
    ret->host_id = get32(body + LINK_KEY);
    ret->flags = get32(body + LINK_KEY + 4);
    ret->launcher = get32(body + LINK_KEY + 8);
    ret->link_grace = get32(body + LINK_KEY + 12);
    memcpy(ret->addresses, body + FIXED, text);
    ret->addresses[text] = 0;
    if (strlen(ret->addresses) < text)
        return error_set(err, EPROTO, "start parameters: a NUL byte in the addresses");
    return 0;
}

/* Reads the length of a body from the two bytes before it; -1 with err. */
static int read_length(const uint8_t *length, struct error *err)
{
    int len = length[0] | length[1] << 8;
    if (len < FIXED || len >= FIXED + PREAMBLE_ADDRESSES)
        return error_set(err, EPROTO, "start parameters of impossible length %d", len);
    return len;
}

int preamble_read(int fd, struct preamble *ret, struct error *err)
{
    uint8_t length[2], body[FIXED + PREAMBLE_ADDRESSES];
    if (read_magic(fd, err) < 0)
        return -1;
    if (fd_read_all(fd, length, 2) < 0)
        return error_errno(err, errno, "read the start parameters");
    int len = read_length(length, err);
    if (len < 0)
        return -1;
    if (fd_read_all(fd, body, (size_t)len) < 0)
        return error_errno(err, errno, "read the start parameters");
    int rc = unpack(body, (size_t)len, ret, err);
    explicit_bzero(body, sizeof(body));
    return rc;
}

int preamble_unpack(const uint8_t *p, size_t n, struct preamble *ret, struct error *err)
{
    int len = n >= MAGIC + 2 ? read_length(p + MAGIC, err) : -1;
    if (len < 0 || n != MAGIC + 2 + (size_t)len)
        return error_set(err, EPROTO, "start parameters of another length");
    return unpack(p + MAGIC + 2, (size_t)len, ret, err);
}

/* ---- the word: letters of one that does not go on are given back ---- */

size_t await_rest(struct await *a, char *out)
{
    size_t n = a->matched;
    if (n > 0)
        memcpy(out, a->word, n);
    a->matched = 0;
    return n;
}

size_t await_take(struct await *a, const char *in, size_t n, char *out, int *found)
{
    size_t length = 0;
    *found = 0;
    for (size_t i = 0; i < n; i++) {
        if (a->word && in[i] != a->word[a->matched])
            length += await_rest(a, out + length);
        if (!a->word || in[i] != a->word[a->matched]) {
            out[length++] = in[i];
        } else if (!a->word[++a->matched]) {
            *found = 1;
            *a = (struct await){.word = NULL};
        }
    }
    return length;
}
