/* SPDX-License-Identifier: BSD-3-Clause */
/* control-socket.h - the step's control socket, where tools of the same user attach */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/messages/frame.h"

struct link;
struct loop;

struct control_events {
    /* A tool has sent a frame; the callee answers over the tool's link. False: the frame is wrong,
     * and control-socket.c drops the tool. */
    bool (*request)(void *arg, struct link *tool, enum frame_type type, const uint8_t *p, size_t n);
    /* This tool is gone; its link is about to be destroyed. */
    void (*gone)(void *arg, struct link *tool);
};

enum { CONTROL_CLIENTS = 64 };

struct control_socket { /* control-socket.c alone changes it; all 0: it was not opened */
    struct loop *loop;
    const struct control_events *events;
    void *arg;
    int fd;
    struct loop_io *io;
    struct link *clients[CONTROL_CLIENTS];
};

/* Opens "control" in the directory of the step's sockets. 0, or -1 with err; call
 * control_socket_close() in both cases. */
int control_socket_open(struct control_socket *c, struct loop *loop, const char *directory,
                        const struct control_events *events, void *arg, struct error *err);
void control_socket_close(struct control_socket *c);
