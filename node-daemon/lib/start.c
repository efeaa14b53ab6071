/* SPDX-License-Identifier: BSD-3-Clause */
/* start.c - taking what the supervisor gives */
#include "node-daemon/lib/start.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/cleanup.h"

/* Where a gift is kept; NULL: there is no such gift. */
static int *place_of(struct start *s, uint32_t gift, uint32_t which)
{
    if (gift == GIFT_LINK)
        return which < ROLES ? &s->link[which] : NULL;
    if (gift == GIFT_GROUND)
        return which < PLAN_PARTS ? &s->ground[which] : NULL;
    return gift < GIFT_ALL ? &s->of[gift] : NULL;
}

int start_take(struct start *s, enum gift *ret_gift, unsigned *ret_which)
{
    struct gift_record r;
    AUTO_CLOSE int fd = -1;
    if (record_receive(START_CONTROL, &r, sizeof(r), &fd) <= 0)
        return -1;
    *ret_gift = (enum gift)r.head.what;
    *ret_which = r.which;
    if (r.head.what == GIFT_ALL)
        return record_receive(START_CONTROL, &s->plan, sizeof(s->plan), &fd) == 1 ? 0 : -1;
    int *place = place_of(s, r.head.what, r.which);
    if (!place || fd < 0) {
        errno = EPROTO;
        return -1;
    }
    cleanup_close(place);
    *place = take_fd(&fd);
    return 0;
}

int start_receive(struct start *ret, struct error *err)
{
    struct start s;
    enum gift gift;
    unsigned which;
    memset(&s, 0, sizeof(s));
    memset(s.link, -1, sizeof(s.link));
    memset(s.ground, -1, sizeof(s.ground));
    memset(s.of, -1, sizeof(s.of));
    (void)fcntl(START_CONTROL, F_SETFD, FD_CLOEXEC);
    /* several of them run as one user, and none may look into another, nor may qstat */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    do
        if (start_take(&s, &gift, &which) < 0)
            return error_errno(err, errno ? errno : EPIPE,
                               "begin as a part of mprund: mprund starts this program");
    while (gift != GIFT_ALL);
    *ret = s;
    return 0;
}

int start_tell(enum told what)
{
    struct told_record r = {.head = record_head(what, 0)};
    return record_send(START_CONTROL, &r, sizeof(r), -1);
}
