/* SPDX-License-Identifier: BSD-3-Clause */
/* inquiry.h - learns a job's demand from the manager's own tool, in a separate process
 *
 * The tool's output is large, and users can influence it. So a separate program, mprund-qstat,
 * reads it. It runs as the reader's user, who must not be root, with limits, a time and an
 * environment from the configuration, and answers by one small record. */
#pragma once

#include "common/loop.h"
#include "node-daemon/conf/conf.h"
#include "rm-adapters/gridengine/job-demand.h"

enum { INQUIRY_MAGIC = 0x5153504d, INQUIRY_TEXT_MAX = 256 };

enum inquiry_end { INQUIRY_ANSWERED, INQUIRY_FAILED, INQUIRY_NO_SUCH_JOB };

struct inquiry_record { /* from mprund-qstat, through a pipe, on one machine */
    uint32_t magic;
    uint32_t failed; /* enum inquiry_end; text says why, 0: the demand counts */
    uint8_t demand[DEMAND_BYTES];
    char text[INQUIRY_TEXT_MAX];
};

struct inquiries;
/* demand: NULL where it is not known, with err (ESRCH: the manager knows no such job). job is the
 * name that was asked about; it may have ended meanwhile. */
typedef void (*inquiry_fn)(void *arg, const char *job, const struct demand *demand,
                           const struct error *err);

/* path: of mprund-qstat; NULL: the one beside this program, or the installed one. */
struct inquiries *inquiries_create(struct loop *l, const struct conf *conf, const char *path,
                                   inquiry_fn fn, void *arg);
/* Ends those that are under way, without a word. NULL is fine. */
void inquiries_destroy(struct inquiries *q);
/* Ask about job "23.1" of Grid Engine; a few are asked at a time, and the others wait. fn is called
 * once, later. 0, or -1 with err: it is not asked. */
int inquiries_ask(struct inquiries *q, const char *job, struct error *err);

/* Returns why these n bytes are no record, or NULL when they are one. */
const char *inquiry_fault(const struct inquiry_record *r, size_t n);
