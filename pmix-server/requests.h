/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.h - what PMIx asked of us and waits for, because the launcher has to answer
 *
 * Every request is answered exactly once: by the launcher, or by its own time limit. */
#ifndef PMIX_SERVER_REQUESTS_H
#define PMIX_SERVER_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

#include <pmix_server.h>

#include "common/error.h"
#include "common/loop.h"

struct requests;

/* How PMIx wants its answer: one of op and modex is set. */
struct asker {
    pmix_op_cbfunc_t op;
    pmix_modex_cbfunc_t modex;
    void *cbdata;
};

/* Answer now; the data is copied. */
void asker_answer(const struct asker *a, pmix_status_t status, const void *data, size_t n);
/* The time limit among an upcall's directives in seconds, 0 without one. */
int asker_timeout(const pmix_info_t *info, size_t ninfo);

struct requests *requests_create(struct loop *loop, struct error *err);
/* The id under which the launcher is asked; 0: out of memory, and the asker has been told. After
 * `seconds` (0: never) the asker gets PMIX_ERR_TIMEOUT, and a later answer is dropped. */
uint64_t requests_add(struct requests *r, const struct asker *a, int seconds);
void requests_answer(struct requests *r, uint64_t id, pmix_status_t status, const void *data,
                     size_t n);

#endif
