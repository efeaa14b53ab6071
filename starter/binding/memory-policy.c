/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/binding/memory-policy.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

enum { WORD_BITS = 8 * sizeof(unsigned long) };

static int read_allowed(struct idset *ret, struct error *err)
{
    unsigned long nodes[MEMORY_NODES_MAX / WORD_BITS] = {0};
    int mode;
    if (syscall(SYS_get_mempolicy, &mode, nodes, MEMORY_NODES_MAX, NULL, MPOL_F_MEMS_ALLOWED) < 0)
        return error_errno(err, errno, "--mem-bind: read which memory nodes may be used");
    for (unsigned i = 0; i < MEMORY_NODES_MAX; i++)
        if (nodes[i / WORD_BITS] >> i % WORD_BITS & 1)
            idset_add(ret, i);
    return 0;
}

/* Chooses the nodes that the user names, or all that are allowed. */
static int choose_nodes(const char *named, struct idset *ret, struct error *err)
{
    AUTO(idset_free) struct idset allowed = {0}, beyond = {0};
    int rc = read_allowed(&allowed, err);
    if (rc == 0 && named[0])
        rc = idset_parse(named, ret, err);
    else
        idset_copy(ret, &allowed);
    idset_copy(&beyond, ret);
    idset_subtract(&beyond, &allowed);
    if (rc == 0 && (idset_count(&beyond) > 0 || idset_count(ret) == 0)) {
        AUTO_FREE char *text = idset_format(&allowed);
        rc = error_set(err, EINVAL,
                       "--mem-bind: memory nodes %s are asked for, but only %s may be used here",
                       named, text);
    }
    return rc;
}

static bool has_nodes(const struct binding_request *how)
{
    return how->memory == MEMORY_INTERLEAVE || how->memory == MEMORY_NODES;
}

int memory_policy_add_nodes(const struct binding_request *how, struct idset *ret)
{
    AUTO(idset_free) struct idset nodes = {0};
    struct error unused;
    int rc = choose_nodes(has_nodes(how) ? how->memory_nodes : "", &nodes, &unused);
    if (rc == 0)
        idset_unite(ret, &nodes);
    return rc;
}

int memory_policy_choose(const struct binding_request *how, struct memory_policy *ret,
                         struct error *err)
{
    static const int modes[] = {[MEMORY_DEFAULT] = MPOL_DEFAULT,
                                [MEMORY_LOCAL] = MPOL_LOCAL,
                                [MEMORY_INTERLEAVE] = MPOL_INTERLEAVE,
                                [MEMORY_NODES] = MPOL_BIND};
    AUTO(idset_free) struct idset nodes = {0};
    if (how->memory == MEMORY_AS_IS)
        return 0;
    *ret = (struct memory_policy){.mode = modes[how->memory]};
    if (!has_nodes(how))
        return 1;
    int rc = choose_nodes(how->memory_nodes, &nodes, err);
    for (int n = idset_next(&nodes, 0); rc == 0 && n >= 0 && n < MEMORY_NODES_MAX;
         n = idset_next(&nodes, (unsigned)n + 1))
        ret->nodes[n / WORD_BITS] |= 1UL << n % WORD_BITS;
    return rc < 0 ? -1 : 1;
}
