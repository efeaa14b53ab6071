/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/links/findings.h"

#include <errno.h>
#include <stdlib.h>

#include "common/must.h"

enum { ANSWERS_MAX = 65536 };
static const double AGAIN_S = 0.05;

static void try_again(void *arg)
{
    const struct findings *f = arg;
    f->again(f->arg);
}

void findings_init(struct findings *f, struct reader_link *reader, uid_t uid,
                   void (*again)(void *arg), void *arg)
{
    *f = (struct findings){.reader = reader, .uid = uid, .again = again, .arg = arg};
    loop_timer_init(&f->retry, reader->loop, try_again, f);
}

void findings_free(struct findings *f)
{
    loop_timer_stop(&f->retry);
    for (size_t i = 0; i < FINDINGS; i++) {
        if (f->of[i].id)
            reader_forget(f->reader, f->of[i].id);
        free(f->of[i].answer);
        f->of[i] = (struct finding){.n = 0};
    }
}

/* A reader that is started again is there in a moment. */
static void ask_the_next(struct finding *f)
{
    bool is_late = loop_now() - f->began >= READER_PATIENCE_S;
    f->state = is_late ? FINDING_DONE : FINDING_NEW;
    f->n = is_late ? f->n : 0;
    if (!is_late)
        loop_timer_start(&f->all->retry, AGAIN_S, 0);
}

static void answered(void *arg, const struct reader_answer *a)
{
    struct finding *f = arg;
    if (a && f->n < ANSWERS_MAX) {
        f->answer = must(reallocarray(f->answer, f->n + 1, sizeof(*f->answer)));
        f->answer[f->n++] = *a;
        if (a->more)
            return;
    }
    reader_forget(f->all->reader, f->id); /* of too many answers more may come */
    f->id = 0;
    f->state = FINDING_DONE;
    if (!a)
        ask_the_next(f);
    if (f->state == FINDING_DONE)
        f->all->again(f->all->arg);
}

int findings_get(struct findings *f, enum finding_kind kind, enum reader_op what,
                 struct reader_request *q, int fd, const struct finding **ret)
{
    struct finding *one = &f->of[kind];
    f->is_held = one->state == FINDING_NEW && f->uid != 0 && reader_is_busy(f->reader);
    if (one->state == FINDING_NEW && !f->is_held) {
        one->all = f;
        one->state = FINDING_ASKED;
        if (one->began == 0)
            one->began = loop_now();
        if (reader_ask(f->reader, f->uid, what, q, fd, answered, one, &one->id, NULL) < 0)
            ask_the_next(one);
    }
    *ret = one;
    return one->state == FINDING_DONE;
}

bool finding_failed(const struct finding *f, struct error *err)
{
    if (f->n == 0)
        error_set(err, ETIMEDOUT, "what the manager wrote on this host cannot be read in time");
    else if (f->answer[0].code)
        error_set(err, f->answer[0].code, "%s", f->answer[0].text);
    else
        return false;
    return true;
}
