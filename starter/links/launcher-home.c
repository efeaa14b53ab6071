/* SPDX-License-Identifier: BSD-3-Clause */
/* launcher-home.c - see launcher-home.h */
#include "starter/links/launcher-home.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/path.h"
#include "wire/start-channel/preamble.h"
#include "wire/transport/address.h"

/* mprun locks its directory as long as it lives. */
static bool is_locked(const char *path)
{
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0;
}

/* Addresses are foreign input: only a directory of a step of this user's may go. */
void launcher_home_remove(const char *addresses, const char *hostname, bool mprun_has_gone)
{
    char path[PREAMBLE_ADDRESSES];
    struct stat st;
    struct error e;
    if (!address_home(addresses, path, sizeof(path)))
        return;
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name + 1, "mprun-", 6) != 0 || lstat(path, &st) < 0 ||
        !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (!mprun_has_gone && is_locked(path)))
        return;
    if (path_remove_tree(path, &e) < 0)
        log_warn("on %s: %s", hostname, e.text);
}
