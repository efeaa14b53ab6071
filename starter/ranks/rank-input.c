/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-input.c - ranks that read files of their host as standard input (--stdin file:PATH) */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "starter/ranks/ranks-private.h"
#include "wire/messages/launch.h"

/* Does not wait for the writer of a FIFO. */
static int open_file(const char *directory, const char *path)
{
    AUTO_CLOSE int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = at < 0 ? -1 : openat(at, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0)
        fcntl(fd, F_SETFL, 0);
    return fd;
}

int rank_open_input(const struct rank *r, int *fd, struct error *err)
{
    const struct step *step = &r->all->with->launch->step;
    if (step->stdin_target != STDIN_FILE)
        return 0;
    AUTO_FREE char *path = rank_fill_in(step->stdin_file, 0, r); /* of a queue, too */
    int file = open_file(r->app->directory, path);
    if (file < 0 && *path == '/')
        return error_errno(err, errno, "read standard input from '%.400s'", path);
    if (file < 0)
        return error_errno(err, errno, "read standard input from '%.400s' in '%.400s'", path,
                           r->app->directory);
    close(*fd);
    *fd = file;
    return 0;
}
