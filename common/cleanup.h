/* SPDX-License-Identifier: BSD-3-Clause */
/* cleanup.h - locals that release what they hold when they go out of scope */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
    int saved = errno;
    free(*(void **)p);
    errno = saved;
}

static inline void cleanup_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}

static inline void cleanup_file(FILE **f)
{
    int saved = errno;
    if (*f)
        fclose(*f);
    errno = saved;
}

static inline void cleanup_dir(DIR **d)
{
    int saved = errno;
    if (*d)
        closedir(*d);
    errno = saved;
}

#define AUTO_FREE  __attribute__((cleanup(cleanup_free)))
#define AUTO_CLOSE __attribute__((cleanup(cleanup_close)))
#define AUTO_FILE  __attribute__((cleanup(cleanup_file)))
#define AUTO_DIR   __attribute__((cleanup(cleanup_dir)))
/* AUTO(idset_free) struct idset set = {0}; calls idset_free(&set) where the block ends. */
#define AUTO(release) __attribute__((cleanup(release)))

/* Hand a descriptor over: the local no longer owns it. */
static inline int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

#define take_ptr(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })
