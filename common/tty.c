/* SPDX-License-Identifier: BSD-3-Clause */
/* tty.c - questions to a terminal */
#include "common/tty.h"

#include <fcntl.h>
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
