/* SPDX-License-Identifier: BSD-3-Clause */
/* The three calls share one item: it carries them to the loop's thread, and a lookup that has to
 * wait stays on a list as such. */
#include "pmix-server/pmix/publish.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"

struct published {
    LIST_ENTRY(published) link;
    pmix_proc_t owner;
    pmix_data_range_t range;
    int first_read; /* goes with its first reader */
    pmix_key_t key;
    pmix_value_t value;
};

struct call {
    struct bridge_item item;
    struct server *server;
    TAILQ_ENTRY(call) link; /* among those that wait */
    pmix_proc_t proc;
    pmix_info_t *info; /* publish: directives and values */
    size_t ninfo;
    char **keys;
    size_t nkeys;
    size_t wanted; /* lookup: do not answer with less; 0: answer at once */
    pmix_data_range_t range;
    int seconds;
    struct loop_timer timer;
    pmix_op_cbfunc_t done;
    pmix_lookup_cbfunc_t looked_up;
    void *cbdata;
};

void store_init(struct store *st)
{
    LIST_INIT(&st->values);
    TAILQ_INIT(&st->waiting);
}

static void call_destroy(struct call *c)
{
    loop_timer_stop(&c->timer);
    PMIX_INFO_FREE(c->info, c->ninfo);
    pmix_argv_free(c->keys);
    free(c);
}

static void remove_value(struct published *p)
{
    LIST_REMOVE(p, link);
    PMIX_VALUE_DESTRUCT(&p->value);
    free(p);
}

/* Ranks on several hosts would need a store that all hosts see. */
static int one_host(const struct server *s)
{
    for (const struct world *w = s->worlds; w; w = w->next)
        if (w->here < 0 || w->nnodes > 1)
            return 0;
    return 1;
}

static int same_proc(const pmix_proc_t *a, const pmix_proc_t *b)
{
    return a->rank == b->rank && !strcmp(a->nspace, b->nspace);
}

static int visible(const struct published *p, const pmix_proc_t *to)
{
    if (p->range == PMIX_RANGE_PROC_LOCAL)
        return same_proc(&p->owner, to);
    return p->range != PMIX_RANGE_NAMESPACE || !strcmp(p->owner.nspace, to->nspace);
}

static struct published *find_value(const struct store *st, const char *key,
                                    const pmix_proc_t *reader)
{
    struct published *p = LIST_FIRST(&st->values);
    while (p && (strcmp(p->key, key) || !visible(p, reader)))
        p = LIST_NEXT(p, link);
    return p;
}

static bool is_directive(const pmix_info_t *i)
{
    return !strncmp(i->key, "pmix.", 5);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static size_t count_found(struct store *st, const struct call *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nkeys; i++)
        n += find_value(st, c->keys[i], &c->proc) != NULL;
    return n;
}

static size_t read_values(struct store *st, const struct call *c, pmix_pdata_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nkeys; i++) {
        struct published *p = find_value(st, c->keys[i], &c->proc);
        if (!p)
            continue;
        PMIX_PDATA_CONSTRUCT(&out[n]);
        out[n].proc = p->owner;
        PMIX_LOAD_KEY(out[n].key, p->key);
        if (PMIx_Value_xfer(&out[n].value, &p->value) != PMIX_SUCCESS)
            continue;
        n++;
        if (p->first_read)
            remove_value(p);
    }
    return n;
}

/* Answers with what there is, and frees the call. */
static void answer_lookup(struct store *st, struct call *c, pmix_status_t if_none)
{
    AUTO_FREE pmix_pdata_t *out = calloc(c->nkeys, sizeof(*out));
    size_t n = out ? read_values(st, c, out) : 0;
    pmix_status_t status = n == c->nkeys ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS;
    if (n == 0)
        status = out ? if_none : PMIX_ERR_NOMEM;
    c->looked_up(status, n ? out : NULL, n, c->cbdata);
    for (size_t i = 0; i < n; i++)
        PMIX_PDATA_DESTRUCT(&out[i]);
    call_destroy(c);
}

static void lookup_timed_out(void *arg)
{
    struct call *c = arg;
    TAILQ_REMOVE(&c->server->store.waiting, c, link);
    c->looked_up(PMIX_ERR_TIMEOUT, NULL, 0, c->cbdata);
    call_destroy(c);
}

static void lookup_run(struct bridge_item *item, struct server *s)
{
    struct call *c = (struct call *)item;
    if (!one_host(s)) {
        c->looked_up(PMIX_ERR_NOT_SUPPORTED, NULL, 0, c->cbdata);
        call_destroy(c);
    } else if (count_found(&s->store, c) >= c->wanted) {
        answer_lookup(&s->store, c, PMIX_ERR_NOT_FOUND);
    } else {
        TAILQ_INSERT_TAIL(&s->store.waiting, c, link);
        loop_timer_init(&c->timer, s->loop, lookup_timed_out, c);
        if (c->seconds)
            loop_timer_start(&c->timer, c->seconds, 0);
    }
}

static void answer_waiting(struct store *st)
{
    struct call *next;
    for (struct call *c = TAILQ_FIRST(&st->waiting); c; c = next) {
        next = TAILQ_NEXT(c, link);
        if (count_found(st, c) < c->wanted)
            continue;
        TAILQ_REMOVE(&st->waiting, c, link);
        answer_lookup(st, c, PMIX_ERR_NOT_FOUND);
    }
}

/* ---- publish and unpublish ------------------------------------------------------------------- */

static pmix_status_t add_value(struct store *st, const struct call *c, const pmix_info_t *info,
                               int first_read)
{
    struct published *p = calloc(1, sizeof(*p));
    if (!p)
        return PMIX_ERR_NOMEM;
    p->owner = c->proc;
    p->range = c->range;
    p->first_read = first_read;
    PMIX_LOAD_KEY(p->key, info->key);
    pmix_status_t rc = PMIx_Value_xfer(&p->value, (pmix_value_t *)&info->value);
    if (rc != PMIX_SUCCESS) {
        free(p);
        return rc;
    }
    LIST_INSERT_HEAD(&st->values, p, link);
    return PMIX_SUCCESS;
}

static pmix_status_t publish_all(struct store *st, const struct call *c)
{
    int first_read = 0;
    for (size_t i = 0; i < c->ninfo; i++) {
        if (PMIX_CHECK_KEY(&c->info[i], PMIX_PERSISTENCE))
            first_read = c->info[i].value.data.persist == PMIX_PERSIST_FIRST_READ;
        if (!is_directive(&c->info[i]) && find_value(st, c->info[i].key, &c->proc))
            return PMIX_ERR_DUPLICATE_KEY;
    }
    for (size_t i = 0; i < c->ninfo; i++) {
        if (is_directive(&c->info[i]))
            continue;
        pmix_status_t rc = add_value(st, c, &c->info[i], first_read);
        if (rc != PMIX_SUCCESS)
            return rc;
    }
    return PMIX_SUCCESS;
}

static void publish_run(struct bridge_item *item, struct server *s)
{
    struct call *c = (struct call *)item;
    c->done(one_host(s) ? publish_all(&s->store, c) : PMIX_ERR_NOT_SUPPORTED, c->cbdata);
    call_destroy(c);
    answer_waiting(&s->store);
}

static int names_key(const struct call *c, const char *key)
{
    if (!c->keys)
        return 1;
    for (size_t i = 0; i < c->nkeys; i++)
        if (!strcmp(c->keys[i], key))
            return 1;
    return 0;
}

static void unpublish_run(struct bridge_item *item, struct server *s)
{
    struct call *c = (struct call *)item;
    struct published *next;
    for (struct published *p = LIST_FIRST(&s->store.values); p; p = next) {
        next = LIST_NEXT(p, link);
        if (same_proc(&p->owner, &c->proc) && names_key(c, p->key))
            remove_value(p);
    }
    c->done(one_host(s) ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED, c->cbdata);
    call_destroy(c);
}

/* ---- in the library's thread ----------------------------------------------------------------- */

static int copy_keys(struct call *c, char **keys)
{
    for (; keys && keys[c->nkeys]; c->nkeys++)
        if (pmix_argv_append_nosize(&c->keys, keys[c->nkeys]) != PMIX_SUCCESS)
            return -1;
    return 0;
}

static int copy_infos(struct call *c, const pmix_info_t *info, size_t n)
{
    if (n == 0)
        return 0;
    PMIX_INFO_CREATE(c->info, n);
    if (!c->info)
        return -1;
    c->ninfo = n;
    for (size_t i = 0; i < n; i++) {
        PMIX_INFO_XFER(&c->info[i], (pmix_info_t *)&info[i]);
        if (PMIX_CHECK_KEY(&info[i], PMIX_RANGE))
            c->range = info[i].value.data.range;
    }
    return 0;
}

/* A call like this one, with keys and infos of its own. NULL: out of memory. */
static struct call *call_create(const struct call *like, char **keys, const pmix_info_t *info,
                                size_t ninfo)
{
    struct call *c = malloc(sizeof(*c));
    if (!c)
        return NULL;
    *c = *like;
    c->range = PMIX_RANGE_SESSION;
    if (copy_keys(c, keys) == 0 && copy_infos(c, info, ninfo) == 0)
        return c;
    call_destroy(c);
    return NULL;
}

pmix_status_t publish_upcall(struct server *s, const pmix_proc_t *proc, const pmix_info_t *info,
                             size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    struct call like = {{.run = publish_run}, s, .proc = *proc, .done = cbfunc, .cbdata = cbdata};
    struct call *c = call_create(&like, NULL, info, ninfo);
    if (!c)
        return PMIX_ERR_NOMEM;
    if (c->range == PMIX_RANGE_RM || c->range == PMIX_RANGE_CUSTOM) {
        call_destroy(c);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    bridge_post(&s->bridge, &c->item);
    return PMIX_SUCCESS;
}

/* How many values the directive wants to be waited for. */
static size_t wanted_values(const pmix_info_t *info, size_t nkeys)
{
    if (info->value.type == PMIX_BOOL)
        return info->value.data.flag ? nkeys : 0;
    if (info->value.type == PMIX_INT && info->value.data.integer > 0 &&
        (size_t)info->value.data.integer < nkeys)
        return (size_t)info->value.data.integer;
    return nkeys;
}

pmix_status_t lookup_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                            const pmix_info_t *info, size_t ninfo, pmix_lookup_cbfunc_t cbfunc,
                            void *cbdata)
{
    struct call like = {
        {.run = lookup_run}, s, .proc = *proc, .looked_up = cbfunc, .cbdata = cbdata};
    if (!keys || !keys[0])
        return PMIX_ERR_BAD_PARAM;
    struct call *c = call_create(&like, keys, NULL, 0);
    if (!c)
        return PMIX_ERR_NOMEM;
    c->seconds = asker_timeout(info, ninfo);
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_WAIT))
            c->wanted = wanted_values(&info[i], c->nkeys);
    bridge_post(&s->bridge, &c->item);
    return PMIX_SUCCESS;
}

pmix_status_t unpublish_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                               pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    struct call like = {{.run = unpublish_run}, s, .proc = *proc, .done = cbfunc, .cbdata = cbdata};
    struct call *c = call_create(&like, keys, NULL, 0);
    if (!c)
        return PMIX_ERR_NOMEM;
    bridge_post(&s->bridge, &c->item);
    return PMIX_SUCCESS;
}
