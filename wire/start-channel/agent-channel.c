/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/start-channel/agent-channel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <sodium.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "wire/link/key-proof.h"
#include "wire/little-endian.h"
#include "wire/transport/dial.h"

#define ENDED  "<mprun-start-ended-1 "
#define PASSED "<mprun-pass-1 "
#define FILL   PREAMBLE_DOTS PREAMBLE_DOTS PREAMBLE_DOTS PREAMBLE_DOTS ">\n"

/* ---- the connection -------------------------------------------------------------------------- */

static int shake(int fd, struct handshake *h, struct error *err)
{
    uint8_t c1[HANDSHAKE_C1], a1[HANDSHAKE_A1], c2[HANDSHAKE_C2], a2[HANDSHAKE_A2];
    const struct handshake_session none = {.received = 0};
    struct handshake_session session;
    enum handshake_answer answer;
    handshake_c1(h, c1);
    if (fd_write_all(fd, c1, sizeof(c1)) < 0 || fd_read_all(fd, a1, sizeof(a1)) < 0)
        return error_errno(err, errno, "prove the key to mprun");
    if (handshake_take_a1(h, a1, err) < 0)
        return -1;
    handshake_c2(h, &none, c2);
    if (fd_write_all(fd, c2, sizeof(c2)) < 0 || fd_read_all(fd, a2, sizeof(a2)) < 0)
        return error_errno(err, errno, "prove the key to mprun");
    if (handshake_take_a2(h, a2, &answer, &session, err) < 0)
        return -1;
    return answer == HANDSHAKE_NEW ? 0 : error_set(err, ECONNREFUSED, "mprun refused it");
}

static void limit(int fd, double seconds)
{
    const struct timeval t = {.tv_sec = (time_t)seconds};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

int agent_connect(const struct preamble *p, double seconds, uint8_t ret_key[LINK_KEY],
                  struct error *err)
{
    enum link_security security = preamble_security(p->flags);
    struct handshake h;
    if (handshake_library_init(err) < 0)
        return -1;
    AUTO_CLOSE int fd = dial_wait(p->addresses, seconds, err);
    if (fd < 0)
        return -1;
    fd_set_nonblock(fd, 0);
    handshake_init(&h, p->key, p->host_id,
                   security == LINK_ENCRYPT ? HANDSHAKE_ENCRYPT
                   : security == LINK_MAC   ? HANDSHAKE_MAC
                                            : 0);
    limit(fd, seconds);
    int rc = shake(fd, &h, err);
    limit(fd, 0);
    handshake_direction_key(&h, 0, ret_key);
    handshake_wipe(&h);
    return rc < 0 ? -1 : take_fd(&fd);
}

/* ---- messages -------------------------------------------------------------------------------- */

enum { NONCE = crypto_aead_chacha20poly1305_ietf_NPUBBYTES };
_Static_assert((int)AGENT_TAG == (int)crypto_aead_chacha20poly1305_ietf_ABYTES, "");

/* is_line: of the agent. Both directions have one key. */
static void make_nonce(uint32_t number, bool is_line, uint8_t ret[NONCE])
{
    memset(ret, 0, NONCE);
    put32(ret, number);
    ret[NONCE - 1] = is_line;
}

/* Without a key it copies. Returns the bytes in ret. */
static size_t seal(const void *p, size_t n, uint32_t number, bool is_line, const uint8_t *key,
                   uint8_t *ret)
{
    uint8_t nonce[NONCE];
    if (!key) {
        memcpy(ret, p, n);
        return n;
    }
    make_nonce(number, is_line, nonce);
    crypto_aead_chacha20poly1305_ietf_encrypt(ret, NULL, p, n, NULL, 0, NULL, nonce, key);
    return n + AGENT_TAG;
}

/* Returns the bytes in ret; -1: they were not sealed with this key and number. */
static int unseal(const uint8_t *p, size_t n, uint32_t number, bool is_line, const uint8_t *key,
                  uint8_t *ret)
{
    uint8_t nonce[NONCE];
    if (!key) {
        memcpy(ret, p, n);
        return (int)n;
    }
    make_nonce(number, is_line, nonce);
    return n < AGENT_TAG || crypto_aead_chacha20poly1305_ietf_decrypt(ret, NULL, NULL, p, n, NULL,
                                                                      0, nonce, key) < 0
               ? -1
               : (int)(n - AGENT_TAG);
}

size_t agent_message_pack(uint32_t number, enum agent_what what, const void *data, size_t n,
                          const uint8_t *key, uint8_t ret[AGENT_MESSAGE_MAX])
{
    uint8_t plain[1 + AGENT_DATA_MAX] = {(uint8_t)what};
    if (n > 0)
        memcpy(plain + 1, data, n);
    size_t length = seal(plain, 1 + n, number, false, key, ret + 6);
    explicit_bzero(plain, sizeof(plain));
    put32(ret, number);
    ret[4] = (uint8_t)length;
    ret[5] = (uint8_t)(length >> 8);
    return 6 + length;
}

int agent_message_read(int fd, const uint8_t *key, struct agent_message *ret, struct error *err)
{
    uint8_t head[6], body[1 + AGENT_DATA_MAX + AGENT_TAG], plain[sizeof(body)];
    if (fd_read_all(fd, head, sizeof(head)) < 0)
        return error_set(err, errno == EPIPE || key ? 0 : errno, "read the agent's channel: %s",
                         strerror(errno));
    size_t n = (size_t)head[4] | (size_t)head[5] << 8;
    if (n > sizeof(body) - (key ? 0 : AGENT_TAG))
        return error_set(err, EPROTO, "a message of impossible length %zu", n);
    if (fd_read_all(fd, body, n) < 0)
        return error_errno(err, errno, "read a message");
    ret->number = get32(head);
    int length = unseal(body, n, ret->number, false, key, plain);
    explicit_bzero(body, sizeof(body));
    if (length < 1)
        return error_set(err, EPROTO, "a message that is not of the job's holder");
    ret->what = plain[0];
    ret->n = (size_t)length - 1;
    memcpy(ret->data, plain + 1, ret->n);
    explicit_bzero(plain, sizeof(plain));
    return 0;
}

/* ---- what the agent says --------------------------------------------------------------------- */

size_t agent_ended_line(uint32_t number, int status, char ret[AGENT_LINE_MAX])
{
    return (size_t)snprintf(ret, AGENT_LINE_MAX, ENDED "%" PRIu32 " %d " FILL, number, status);
}

bool agent_ended_read(const char *line, uint32_t *ret_number, int *ret_status)
{
    return sscanf(line, ENDED "%" SCNu32 " %d ", ret_number, ret_status) == 2;
}

enum {
    VARIANT = sodium_base64_VARIANT_ORIGINAL,
    SEALED_MAX = AGENT_PASS_MAX + AGENT_TAG,
    TEXT_MAX = sodium_base64_ENCODED_LEN(SEALED_MAX, sodium_base64_VARIANT_ORIGINAL),
};
_Static_assert(sizeof(PASSED FILL) + 2 * sizeof("4294967295 ") + TEXT_MAX <= AGENT_LINE_MAX, "");

size_t agent_pass_line(uint32_t mprun, uint32_t line_number, const void *data, size_t n,
                       const uint8_t *key, char ret[AGENT_LINE_MAX])
{
    uint8_t sealed[SEALED_MAX];
    char text[TEXT_MAX];
    size_t length = seal(n > 0 ? data : "", n, line_number, true, key, sealed);
    sodium_bin2base64(text, sizeof(text), sealed, length, VARIANT);
    return (size_t)snprintf(ret, AGENT_LINE_MAX, PASSED "%" PRIu32 " %" PRIu32 " %s " FILL, mprun,
                            line_number, text);
}

int agent_pass_read(const char *line, const uint8_t *key, uint32_t *ret_mprun, uint32_t *ret_number,
                    uint8_t ret[AGENT_PASS_MAX], size_t *ret_n)
{
    uint8_t sealed[SEALED_MAX], plain[SEALED_MAX];
    const char *end;
    size_t length;
    int at = 0;
    if (sscanf(line, PASSED "%" SCNu32 " %" SCNu32 "%n", ret_mprun, ret_number, &at) != 2 ||
        line[at] != ' ')
        return strncmp(line, PASSED, strlen(PASSED)) == 0 ? -1 : 0;
    if (sodium_base642bin(sealed, sizeof(sealed), line + at + 1, strlen(line + at + 1), NULL,
                          &length, &end, VARIANT) < 0 ||
        *end != ' ')
        return -1;
    int n = unseal(sealed, length, *ret_number, true, key, plain);
    if (n < 0 || n > AGENT_PASS_MAX)
        return -1;
    *ret_n = (size_t)n;
    memcpy(ret, plain, *ret_n);
    return 1;
}

void agent_starter_name(uint32_t number, char ret[AGENT_STARTER_NAME])
{
    snprintf(ret, AGENT_STARTER_NAME, "mpstarter#%" PRIu32, number);
}

uint32_t agent_message_take_number(char *line)
{
    uint32_t number;
    int length = 0, name = (int)strlen("mpstarter");
    if (sscanf(line, "mpstarter#%" SCNu32 "%n", &number, &length) != 1 || line[length] != ':')
        return 0;
    memmove(line + name, line + length, strlen(line + length) + 1);
    return number;
}
