/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/files/tty.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"

bool tty_is_foreground(int fd)
{
    /* fails with ENOTTY on every terminal that is not our controlling one */
    return tcgetpgrp(fd) == getpgrp();
}

bool tty_has_foreground(void)
{
    AUTO_CLOSE int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 && tty_is_foreground(fd);
}

struct tty_size tty_get_size(int fd)
{
    struct winsize w = {0};
    if (ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col == 0 || w.ws_row == 0)
        return (struct tty_size){.rows = 24, .columns = w.ws_col ? w.ws_col : 80};
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
    AUTO_CLOSE int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (ours < 0 || grantpt(ours) < 0 || unlockpt(ours) < 0 ||
        ptsname_r(ours, name, sizeof(name)) != 0)
        return -1;
    int theirs = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs < 0)
        return -1;
    tty_set_size(ours, size);
    *ret_ours = take_fd(&ours);
    *ret_theirs = theirs;
    return 0;
}
