/* SPDX-License-Identifier: BSD-3-Clause */
/* conf-gpus.c - the GPUs that jobs can have: a list, or a table of sections that names their
 * devices
 */
#include <errno.h>
#include <stdlib.h>

#include "common/must.h"
#include "containment/cgroup/controllers.h"
#include "containment/cgroup/devices.h"
#include "node-daemon/conf/conf-private.h"

/* NULL-terminated; the words stay the file's. */
static const char **list_of(cfg_t *cfg, const char *name)
{
    unsigned n = cfg_size(cfg, name);
    const char **list = must(calloc(n + 1, sizeof(*list)));
    for (unsigned i = 0; i < n; i++)
        list[i] = cfg_getnstr(cfg, name, i);
    return list;
}

static void take_table(cfg_t *cfg, struct conf *c, unsigned n)
{
    c->gpus = must(calloc(n + 1, sizeof(*c->gpus)));
    c->gpu = must(calloc(n, sizeof(*c->gpu)));
    for (unsigned i = 0; i < n; i++) {
        cfg_t *gpu = cfg_getnsec(cfg, "gpu", i);
        c->gpus[i] = cfg_title(gpu);
        c->gpu[i].files = list_of(gpu, "files");
        (void)idset_parse(cfg_getstr(gpu, "cores"), &c->gpu[i].cores, NULL); /* checked */
    }
}

int conf_take_gpus(cfg_t *cfg, struct conf *c, struct error *err)
{
    unsigned n = cfg_size(cfg, "gpu"), files = cfg_size(cfg, "gpu_files");
    c->gpu_files = list_of(cfg, "gpu_files");
    if (n)
        take_table(cfg, c, n);
    else
        c->gpus = list_of(cfg, "gpus");
    for (unsigned i = 0; i < n; i++)
        files += cfg_size(cfg_getnsec(cfg, "gpu", i), "files");
    if (files > CGROUP_DEVICES_MAX)
        return error_set(err, E2BIG, "the sections gpu and gpu_files name more than %d devices",
                         CGROUP_DEVICES_MAX);
    if (n) /* v1 needs it */
        c->controllers |= CGROUP_BIT(CGROUP_DEVICES);
    return 0;
}

void conf_free_gpus(struct conf *c)
{
    for (size_t i = 0; c->gpu && c->gpus[i]; i++) {
        free(c->gpu[i].files);
        idset_free(&c->gpu[i].cores);
    }
    free(c->gpu);
    free(c->gpus);
    free(c->gpu_files);
}
