/* SPDX-License-Identifier: BSD-3-Clause */
/* terminal.c - mprun's own terminal while a rank has one */
#include "launcher/io/terminal.h"

#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

struct terminal {
    void (*resized)(void *arg, const struct tty_size *size);
    void *arg;
    bool taken;
    struct termios before;
};

struct tty_size terminal_size(void)
{
    return tty_get_size(isatty(STDIN_FILENO) ? STDIN_FILENO : STDOUT_FILENO);
}

struct terminal *terminal_create(void (*resized)(void *arg, const struct tty_size *size), void *arg)
{
    struct terminal *t = calloc(1, sizeof(*t));
    if (t)
        *t = (struct terminal){.resized = resized, .arg = arg};
    return t;
}

void terminal_destroy(struct terminal *t)
{
    terminal_give_back(t);
    free(t);
}

void terminal_resized(struct terminal *t)
{
    struct tty_size size = terminal_size();
    if (t)
        t->resized(t->arg, &size);
}

void terminal_take(struct terminal *t)
{
    if (!t || t->taken || !isatty(STDIN_FILENO))
        return;
    t->taken = tty_make_raw(STDIN_FILENO, &t->before) == 0;
    terminal_resized(t); /* it may have changed since LAUNCH, or while mprun was stopped */
}

void terminal_give_back(struct terminal *t)
{
    if (!t || !t->taken)
        return;
    tty_restore(STDIN_FILENO, &t->before);
    t->taken = false;
}

bool terminal_is_taken(const struct terminal *t)
{
    return t && t->taken;
}
