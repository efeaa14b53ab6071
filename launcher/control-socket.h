/* SPDX-License-Identifier: BSD-3-Clause */
/* control-socket.h - the step's control socket, where tools of the same user attach */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/messages/frame.h"

struct control_socket;
struct link;
struct loop;

struct control_events {
    /* A tool has sent a frame; the answer goes over its link. False: it is not understood, and the
     * tool is dropped. */
    bool (*request)(void *arg, struct link *tool, enum frame_type type, const uint8_t *p, size_t n);
    /* This tool is gone; its link is about to be destroyed. */
    void (*gone)(void *arg, struct link *tool);
};

/* Opens "control" in the directory of the step's sockets. NULL with err on failure. */
struct control_socket *control_socket_create(struct loop *loop, const char *directory,
                                             const struct control_events *events, void *arg,
                                             struct error *err);
void control_socket_destroy(struct control_socket *c); /* NULL is fine */
