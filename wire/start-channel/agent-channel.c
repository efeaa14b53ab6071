/* SPDX-License-Identifier: BSD-3-Clause */
/* agent-channel.c - see agent-channel.h */
#include "wire/start-channel/agent-channel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/fdio.h"
#include "wire/little-endian.h"

#define ENDED "<mprun-start-ended-1 "

size_t agent_start_pack(uint32_t number, const uint8_t *preamble, size_t n,
                        uint8_t ret[AGENT_START_MAX])
{
    put32(ret, number);
    memcpy(ret + 4, preamble, n);
    return 4 + n;
}

int agent_start_read(int fd, uint32_t *ret_number, struct preamble *ret, struct error *err)
{
    uint8_t number[4];
    if (fd_read_all(fd, number, sizeof(number)) < 0)
        return error_set(err, errno == EPIPE ? 0 : errno, "read the start channel: %s",
                         strerror(errno));
    *ret_number = get32(number);
    bool is_start = *ret_number != AGENT_GOES_ON && *ret_number != AGENT_ENDS;
    return is_start ? preamble_read(fd, ret, err) : 0;
}

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
