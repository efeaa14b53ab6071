/* SPDX-License-Identifier: BSD-3-Clause */
/* tty.c - see tty.h */
#include "common/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int tty_is_foreground(int fd)
{
    /* fails with ENOTTY on every terminal that is not our controlling one */
    return tcgetpgrp(fd) == getpgrp();
}

int tty_have_foreground(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    int foreground = tty_is_foreground(fd);
    close(fd);
    return foreground;
}

int tty_width(int fd)
{
    struct winsize w;
    if (ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
        return 80;
    return w.ws_col;
}

struct tty_size tty_get_size(int fd)
{
    struct winsize w;
    if (ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col == 0 || w.ws_row == 0)
        return (struct tty_size){.rows = 24, .columns = 80};
    return (struct tty_size){.rows = w.ws_row, .columns = w.ws_col};
}

void tty_set_size(int fd, const struct tty_size *size)
{
    struct winsize w = {.ws_row = (unsigned short)size->rows,
                        .ws_col = (unsigned short)size->columns};
    ioctl(fd, TIOCSWINSZ, &w);
}

int tty_make_raw(int fd, struct termios *ret_before)
{
    struct termios raw;
    if (!tty_is_foreground(fd) || tcgetattr(fd, ret_before) < 0)
        return -1;
    raw = *ret_before;
    cfmakeraw(&raw);
    return tcsetattr(fd, TCSANOW, &raw);
}

void tty_restore(int fd, const struct termios *before)
{
    sigset_t ttou, saved; /* in the background it would stop us, and should be done all the same */
    sigemptyset(&ttou);
    sigaddset(&ttou, SIGTTOU);
    sigprocmask(SIG_BLOCK, &ttou, &saved);
    tcsetattr(fd, TCSANOW, before);
    sigprocmask(SIG_SETMASK, &saved, NULL);
}

int tty_open_pair(const struct tty_size *size, int *ret_ours, int *ret_theirs)
{
    char name[64];
    int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (ours < 0)
        return -1;
    int theirs = -1;
    if (grantpt(ours) == 0 && unlockpt(ours) == 0 && ptsname_r(ours, name, sizeof(name)) == 0)
        theirs = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs < 0) {
        int saved = errno;
        close(ours);
        errno = saved;
        return -1;
    }
    tty_set_size(ours, size);
    *ret_ours = ours;
    *ret_theirs = theirs;
    return 0;
}
