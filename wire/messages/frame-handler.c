/* SPDX-License-Identifier: BSD-3-Clause */
/* frame-handler.c - decode a frame, and call the function that takes it */
#include "wire/messages/frame-handler.h"

int frame_handle(const struct frame_handler *h, void *to, const uint8_t *p, size_t n)
{
    if (h->take_bytes)
        return h->take_bytes(to, p, n);
    ProtobufCMessage *m = h->take ? protobuf_c_message_unpack(h->message, NULL, n, p) : NULL;
    int rc = m ? h->take(to, m) : -1;
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}
