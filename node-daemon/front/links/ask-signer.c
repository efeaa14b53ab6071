/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/links/ask-signer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "node-daemon/lib/signer-protocol.h"

static const double SIGNER_ANSWER_S = 2, NEXT_SIGNER_S = 2;

/* A question that was given up may still get its answer: it has another id. */
static int await_answer(int link, const struct signer_record *q, struct signer_record *ret)
{
    struct pollfd p = {.fd = link, .events = POLLIN};
    do {
        AUTO_CLOSE int none = -1;
        if (poll(&p, 1, (int)(SIGNER_ANSWER_S * 1000)) != 1 ||
            record_receive(link, ret, sizeof(*ret), &none) != 1)
            return -1;
    } while (ret->head.id != q->head.id);
    return 0;
}

static int ask_once(const struct start *s, const struct signer_record *q, struct signer_record *ret)
{
    int link = s->link[ROLE_SIGNER];
    if (link < 0 || record_send(link, q, sizeof(*q), -1) < 0)
        return -1;
    return await_answer(link, q, ret);
}

static int ask(struct start *s, struct signer_record *q, enum signer_op what,
               struct signer_record *ret, struct error *err)
{
    static uint64_t id;
    q->head = record_head(what, ++id);
    int rc = ask_once(s, q, ret);
    if (rc < 0 && start_await_link(s, ROLE_SIGNER, NEXT_SIGNER_S) == 0)
        rc = ask_once(s, q, ret);
    if (rc < 0)
        return error_set(err, EPIPE, "the part of mprund that signs grants has gone");
    ret->text[sizeof(ret->text) - 1] = 0;
    ret->why[sizeof(ret->why) - 1] = 0;
    return ret->code == 0 ? 0 : error_set(err, ret->code, "%s", ret->why);
}

int signer_sign(struct start *s, const struct token *t, char text[GRANT_TOKEN_MAX],
                struct error *err)
{
    struct signer_record q = {.token = *t}, a;
    if (ask(s, &q, SIGNER_SIGN, &a, err) < 0)
        return -1;
    snprintf(text, GRANT_TOKEN_MAX, "%.*s", GRANT_TOKEN_MAX - 1, a.text);
    return 0;
}

int signer_open(struct start *s, const char *text, struct token *ret, struct error *err)
{
    struct signer_record q = {.code = 0}, a;
    snprintf(q.text, sizeof(q.text), "%s", text); /* one that is too long stays too long */
    if (ask(s, &q, SIGNER_OPEN, &a, err) < 0)
        return -1;
    *ret = a.token;
    return 0;
}
