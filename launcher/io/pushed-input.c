/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/io/pushed-input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/loop.h"
#include "common/must.h"
#include "launcher/tunables.h"

struct push {
    STAILQ_ENTRY(push) link;
    void *host;
    uint64_t id, until; /* it is done when so many bytes are in the pipe */
};

struct pushed_input {
    push_answer_f answer;
    int ends[2];
    struct loop_io *watch; /* of the end that is written; NULL: the input has ended */
    struct buffer waiting;
    uint64_t written;
    bool ends_soon, is_over;
    STAILQ_HEAD(, push) pushes;
};

static void answer_first(struct pushed_input *p, enum push_status status)
{
    struct push *first = STAILQ_FIRST(&p->pushes);
    STAILQ_REMOVE_HEAD(&p->pushes, link);
    p->answer(first->host, first->id, status);
    free(first);
}

static void end_input(struct pushed_input *p)
{
    loop_io_destroy(take_ptr(p->watch));
    cleanup_close(&p->ends[1]);
}

static void writable(void *arg, int fd, unsigned events)
{
    struct pushed_input *p = arg;
    ssize_t n = buffer_len(&p->waiting) ? buffer_write(&p->waiting, fd) : 0;
    p->written += n > 0 ? (uint64_t)n : 0;
    while (!STAILQ_EMPTY(&p->pushes) && STAILQ_FIRST(&p->pushes)->until <= p->written)
        answer_first(p, PUSH_OK);
    if (buffer_len(&p->waiting))
        return;
    loop_io_set(p->watch, 0);
    if (p->ends_soon)
        end_input(p);
}

void pushed_input_put(struct pushed_input *p, void *host, uint64_t id, const void *data, size_t n)
{
    if (!p->watch || p->ends_soon || p->is_over) {
        p->answer(host, id, PUSH_NO_INPUT);
        return;
    }
    if (buffer_len(&p->waiting) + n > PUSHED_INPUT_MAX) {
        p->answer(host, id, PUSH_TOO_MUCH);
        return;
    }
    buffer_append(&p->waiting, data, n);
    struct push *push = must(calloc(1, sizeof(*push)));
    push->host = host;
    push->id = id;
    push->until = p->written + buffer_len(&p->waiting);
    STAILQ_INSERT_TAIL(&p->pushes, push, link);
    p->ends_soon = n == 0;
    loop_io_set(p->watch, LOOP_WRITE);
}

void pushed_input_over(struct pushed_input *p)
{
    p->is_over = true;
    buffer_free(&p->waiting);
    while (!STAILQ_EMPTY(&p->pushes))
        answer_first(p, PUSH_NO_INPUT);
    if (p->watch)
        end_input(p);
}

int pushed_input_fd(const struct pushed_input *p)
{
    return p->ends[0];
}

struct pushed_input *pushed_input_create(struct loop *loop, push_answer_f answer, struct error *err)
{
    struct pushed_input *p = must(calloc(1, sizeof(*p)));
    *p = (struct pushed_input){.answer = answer, .ends = {-1, -1}};
    STAILQ_INIT(&p->pushes);
    if (pipe2(p->ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        error_errno(err, errno, "prepare the input that tools push");
        pushed_input_destroy(p);
        return NULL;
    }
    p->watch = loop_io_create(loop, p->ends[1], 0, writable, p);
    return p;
}

void pushed_input_destroy(struct pushed_input *p)
{
    if (!p)
        return;
    struct push *push;
    while ((push = STAILQ_FIRST(&p->pushes))) {
        STAILQ_REMOVE_HEAD(&p->pushes, link);
        free(push);
    }
    loop_io_destroy(p->watch);
    buffer_free(&p->waiting);
    cleanup_close(&p->ends[0]);
    cleanup_close(&p->ends[1]);
    free(p);
}
