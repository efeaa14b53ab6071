/* SPDX-License-Identifier: BSD-3-Clause */
/* cores-kept.c - the cores that a host's ranks have taken stay taken while they run: by the keeper,
 * should this process die, and in a new file, should somebody remove the ledger's
 *
 * systemd-logind does so when the user's last login ends (RemoveIPC). Nobody who has the file open
 * removes it, so its link count says all; inotify(7) tells when to look. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "starter/core-ledger.h"
#include "starter/cores.h"
#include "starter/keeper.h"
#include "starter/worker.h"

enum { TRIES = 100 };

static void stop_watching(struct worker *w)
{
    loop_io_destroy(w->cores_io);
    w->cores_io = NULL;
    cleanup_close(&w->cores_watch);
}

/* What another step was faster to take is shared with it. */
static void take_again(struct worker *w, int ledger)
{
    struct idset one = {0};
    struct error e;
    for (uint32_t i = 0; i < w->binding.nranks; i++) {
        const struct idset *rank = &w->binding.ranks[i];
        for (int t = idset_next(rank, 0); t >= 0; t = idset_next(rank, (unsigned)t + 1)) {
            if (idset_add(&one, (unsigned)t) == 0)
                (void)core_ledger_take(ledger, &one, &e);
            idset_free(&one);
        }
    }
}

static int is_removed(const struct worker *w)
{
    struct stat s;
    return fstat(w->cores_fd, &s) == 0 && s.st_nlink == 0;
}

static void file_changed(void *arg, int fd, unsigned events);

/* Without that other steps do not see these cores when the file was removed. */
static void watch(struct worker *w)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", w->cores_fd);
    w->cores_watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->cores_watch >= 0 && inotify_add_watch(w->cores_watch, path, IN_ATTRIB) >= 0)
        w->cores_io = loop_io_create(w->loop, w->cores_watch, LOOP_READ, file_changed, w);
    if (w->cores_io)
        return;
    log_debug("on %s: the file of the cores that steps have is not watched: %s", w->host_name,
              strerror(errno));
    stop_watching(w);
}

static void use(struct worker *w, int ledger)
{
    keeper_send(w->keeper_fd, (char[]){KEEPER_CORES}, 1, &ledger, 1);
    w->cores_fd = ledger;
    watch(w);
}

/* A new one may be removed before it is watched. */
static void renew(struct worker *w)
{
    for (int i = 0; i < TRIES && is_removed(w); i++) {
        struct error e;
        int ledger = core_ledger_open(NULL, &e);
        stop_watching(w);
        log_debug("on %s: the file of the cores that steps have was removed%s%s", w->host_name,
                  ledger < 0 ? "; " : "", ledger < 0 ? e.text : "");
        if (ledger < 0)
            return;
        take_again(w, ledger);
        core_ledger_leave(NULL, take_fd(&w->cores_fd));
        use(w, ledger);
    }
}

static void file_changed(void *arg, int fd, unsigned events)
{
    _Alignas(struct inotify_event) char buf[512];
    while (read(fd, buf, sizeof(buf)) > 0)
        ;
    renew(arg);
}

void cores_keep(struct worker *w, int ledger)
{
    use(w, ledger);
    renew(w);
}

void cores_let_go(struct worker *w)
{
    stop_watching(w);
    core_ledger_leave(NULL, take_fd(&w->cores_fd));
}
