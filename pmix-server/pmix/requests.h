/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.h - requests of the PMIx library that only the launcher can answer
 *
 * Each request gets exactly one answer: the launcher's, or that its time limit has passed. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <pmix_server.h>

#include "common/loop.h"

/* The library's callback for the answer: either op or modex is set. */
struct asker {
    pmix_op_cbfunc_t op;
    pmix_modex_cbfunc_t modex;
    void *cbdata;
};

/* Answers now. Copies the data. */
void asker_answer(const struct asker *a, pmix_status_t status, const void *data, size_t n);
/* Returns the time limit among an upcall's directives in seconds; 0: none. */
int asker_timeout(const pmix_info_t *info, size_t ninfo);

struct requests { /* private to requests.c */
    struct loop *loop;
    TAILQ_HEAD(, request) list;
    uint64_t last_id;
};

void requests_init(struct requests *r, struct loop *loop);
/* Adds a request and returns its id, under which the launcher is asked. After `seconds` (0: never)
 * the asker gets PMIX_ERR_TIMEOUT; a later answer is dropped. 0: out of memory; the asker knows. */
uint64_t requests_add(struct requests *r, const struct asker *a, int seconds);
void requests_answer(struct requests *r, uint64_t id, pmix_status_t status, const void *data,
                     size_t n);
