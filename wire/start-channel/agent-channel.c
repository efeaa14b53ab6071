/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/start-channel/agent-channel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <sodium.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "wire/link/key-proof.h"
#include "wire/little-endian.h"
#include "wire/transport/dial.h"

#define ENDED "<mprun-start-ended-1 "

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

/* ---- starts ---------------------------------------------------------------------------------- */

enum { NONCE = crypto_aead_chacha20poly1305_ietf_NPUBBYTES };
_Static_assert((int)AGENT_TAG == (int)crypto_aead_chacha20poly1305_ietf_ABYTES, "");

size_t agent_start_pack(uint32_t number, const uint8_t *preamble, size_t n, const uint8_t *key,
                        uint8_t ret[AGENT_START_MAX])
{
    uint8_t nonce[NONCE] = {0};
    put32(ret, number);
    if (n == 0)
        return 4;
    if (!key) {
        memcpy(ret + 4, preamble, n);
        return 4 + n;
    }
    put32(nonce, number);
    ret[4] = (uint8_t)n;
    ret[5] = (uint8_t)(n >> 8);
    crypto_aead_chacha20poly1305_ietf_encrypt(ret + 6, NULL, preamble, n, NULL, 0, NULL, nonce,
                                              key);
    return 6 + n + AGENT_TAG;
}

static int read_encrypted(int fd, const uint8_t *key, uint32_t number, struct preamble *ret,
                          struct error *err)
{
    uint8_t length[2], sealed[PREAMBLE_MAX + AGENT_TAG], packed[PREAMBLE_MAX], nonce[NONCE] = {0};
    put32(nonce, number);
    if (fd_read_all(fd, length, sizeof(length)) < 0)
        return error_errno(err, errno, "read a start");
    size_t n = (size_t)length[0] | (size_t)length[1] << 8;
    if (n > sizeof(packed))
        return error_set(err, EPROTO, "a start of impossible length %zu", n);
    if (fd_read_all(fd, sealed, n + AGENT_TAG) < 0)
        return error_errno(err, errno, "read a start");
    if (crypto_aead_chacha20poly1305_ietf_decrypt(packed, NULL, NULL, sealed, n + AGENT_TAG, NULL,
                                                  0, nonce, key) < 0)
        return error_set(err, EPROTO, "a start that is not of the job's holder");
    int rc = preamble_unpack(packed, n, ret, err);
    explicit_bzero(packed, sizeof(packed));
    return rc;
}

int agent_start_read(int fd, const uint8_t *key, uint32_t *ret_number, struct preamble *ret,
                     struct error *err)
{
    uint8_t number[4];
    if (fd_read_all(fd, number, sizeof(number)) < 0)
        return error_set(err, errno == EPIPE || key ? 0 : errno, "read the agent's channel: %s",
                         strerror(errno));
    *ret_number = get32(number);
    if (*ret_number == AGENT_GOES_ON || *ret_number == AGENT_ENDS)
        return 0;
    return key ? read_encrypted(fd, key, *ret_number, ret, err) : preamble_read(fd, ret, err);
}

/* ---- what the agent says --------------------------------------------------------------------- */

size_t agent_ended_line(uint32_t number, int status, char ret[AGENT_LINE_MAX])
{
    return (size_t)snprintf(
        ret, AGENT_LINE_MAX,
        ENDED "%" PRIu32 " %d " PREAMBLE_DOTS PREAMBLE_DOTS PREAMBLE_DOTS PREAMBLE_DOTS ">\n",
        number, status);
}

bool agent_line_read(const char *line, uint32_t *ret_number, int *ret_status)
{
    return sscanf(line, ENDED "%" SCNu32 " %d ", ret_number, ret_status) == 2;
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
