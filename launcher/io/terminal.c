/* SPDX-License-Identifier: BSD-3-Clause */
/* terminal.c - mprun's own terminal while a rank has one */
#include "launcher/io/terminal.h"

#include <stdlib.h>
#include <unistd.h>

struct tty_size terminal_size(void)
{
    return tty_get_size(isatty(STDIN_FILENO) ? STDIN_FILENO : STDOUT_FILENO);
}

static struct terminal *raw; /* NULL: none is */

/* mprun ends at once where it has no memory. */
static void restore(void)
{
    if (raw)
        terminal_give_back(raw);
}

void terminal_init(struct terminal *t, void (*resized)(void *arg, const struct tty_size *size),
                   void *arg)
{
    *t = (struct terminal){.resized = resized, .arg = arg};
    atexit(restore);
}

void terminal_resized(struct terminal *t)
{
    struct tty_size size = terminal_size();
    if (t->resized)
        t->resized(t->arg, &size);
}

void terminal_take(struct terminal *t)
{
    if (!t->resized || t->taken || !isatty(STDIN_FILENO))
        return;
    t->taken = tty_make_raw(STDIN_FILENO, &t->before) == 0;
    raw = t->taken ? t : NULL;
    terminal_resized(t); /* it may have changed since LAUNCH, or while mprun was stopped */
}

void terminal_give_back(struct terminal *t)
{
    if (t->taken)
        tty_restore(STDIN_FILENO, &t->before);
    t->taken = false;
    raw = NULL;
}
