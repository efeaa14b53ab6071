/* SPDX-License-Identifier: BSD-3-Clause */
/* mprun's own terminal while a rank has one (--pty): keys go there as they are pressed, ^C and ^Z
 * too, and what the rank's terminal prints is printed as it is. */
#include <unistd.h>

#include "common/log.h"
#include "common/tty.h"
#include "launcher/run.h"

struct tty_size terminal_size(void)
{
    return tty_get_size(isatty(STDIN_FILENO) ? STDIN_FILENO : STDOUT_FILENO);
}

void terminal_resized(struct run *r)
{
    Mprun__Window m;
    struct tty_size size = terminal_size();
    if (!r->step.terminal)
        return;
    window_pack(&size, &m);
    hosts_broadcast(r, FRAME_WINDOW, &m.base);
}

void terminal_take(struct run *r)
{
    if (!r->step.terminal || r->terminal.taken || !isatty(STDIN_FILENO))
        return;
    r->terminal.taken = tty_make_raw(STDIN_FILENO, &r->terminal.before) == 0;
    terminal_resized(r); /* it may have changed since LAUNCH, or while mprun was stopped */
}

void terminal_give_back(struct run *r)
{
    if (r->terminal.taken)
        tty_restore(STDIN_FILENO, &r->terminal.before);
    r->terminal.taken = 0;
}
