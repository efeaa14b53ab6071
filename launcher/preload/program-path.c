/* SPDX-License-Identifier: BSD-3-Clause */
/* program-path.c - see program-path.h */
#include "launcher/preload/program-path.h"

#include "common/cleanup.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "model/step.h"

int program_path(const struct app *app, const char *name, bool spawned, char **ret,
                 struct error *err)
{
    AUTO_FREE char *found = NULL;
    int rc = spawned ? spawn_resolve_here(name, app->envp, app->directory, &found, err)
                     : spawn_resolve(name, app->envp, app->directory, &found, err);
    if (rc < 0)
        return -1;
    *ret = found[0] == '/' ? take_ptr(found) : must(text_format("%s/%s", app->directory, found));
    return 0;
}
