/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/links/findings.h"

#include <errno.h>
#include <stdlib.h>

#include "common/must.h"

enum { ANSWERS_MAX = 65536 };

void findings_init(struct findings *f, struct reader_link *reader, uid_t uid,
                   void (*again)(void *arg), void *arg)
{
    *f = (struct findings){.reader = reader, .uid = uid, .again = again, .arg = arg};
}

void findings_free(struct findings *f)
{
    for (size_t i = 0; i < FINDINGS; i++) {
        if (f->of[i].id)
            reader_forget(f->reader, f->of[i].id);
        free(f->of[i].answer);
        f->of[i] = (struct finding){.n = 0};
    }
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
        if (reader_ask(f->reader, f->uid, what, q, fd, answered, one, &one->id, NULL) < 0)
            one->state = FINDING_DONE;
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
