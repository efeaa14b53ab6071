/* SPDX-License-Identifier: BSD-3-Clause */
/* systemd-scope.c - a transient scope of a systemd instance, delegated to us
 *
 * dlopen() loads libsystemd and its libraries only when a scope is asked for, so neither the build
 * nor other runs need them. We talk to the instance's own socket, so no message bus is needed.
 * systemd answers at once and moves the processes later; then it sends JobRemoved. */
#include "containment/job-cgroup/systemd-scope.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/must.h"
#include "containment/cgroup/mounts.h"
#include "containment/tunables.h"

/* ---- libsystemd ------------------------------------------------------------------------------ */

/* The part of <systemd/sd-bus.h> that is used, whose ABI does not change (libsystemd.so.0). */
typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct sd_bus_slot sd_bus_slot;
typedef struct {
    const char *name, *message;
    int need_free;
} sd_bus_error;
typedef int sd_bus_message_handler_t(sd_bus_message *m, void *arg, sd_bus_error *ret);

/* The one place that stays for the life of a process: a library is loaded once. */
static struct {
    void *handle;
    int (*create)(sd_bus **ret);
    int (*set_address)(sd_bus *bus, const char *address);
    int (*start)(sd_bus *bus);
    int (*add_filter)(sd_bus *bus, sd_bus_slot **slot, sd_bus_message_handler_t *fn, void *arg);
    int (*call)(sd_bus *bus, sd_bus_slot **slot, const char *destination, const char *path,
                const char *interface, const char *member, sd_bus_message_handler_t *fn, void *arg,
                const char *types, ...);
    int (*is_signal)(sd_bus_message *m, const char *interface, const char *member);
    int (*read)(sd_bus_message *m, const char *types, ...);
    const sd_bus_error *(*error_of)(sd_bus_message *m);
    int (*process)(sd_bus *bus, sd_bus_message **ret);
    int (*fd_of)(sd_bus *bus);
    sd_bus *(*end)(sd_bus *bus);
} lib;

static const struct {
    const char *name;
    void *slot;
} symbols[] = {
    {"sd_bus_new", &lib.create},
    {"sd_bus_set_address", &lib.set_address},
    {"sd_bus_start", &lib.start},
    {"sd_bus_add_filter", &lib.add_filter},
    {"sd_bus_call_method_async", &lib.call},
    {"sd_bus_message_is_signal", &lib.is_signal},
    {"sd_bus_message_read", &lib.read},
    {"sd_bus_message_get_error", &lib.error_of},
    {"sd_bus_process", &lib.process},
    {"sd_bus_get_fd", &lib.fd_of},
    {"sd_bus_flush_close_unref", &lib.end},
};

static int load_library(struct error *err)
{
    void *handle = lib.handle ? lib.handle : dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return error_set(err, ENOENT, "load libsystemd: %s", dlerror());
    for (size_t i = 0; !lib.handle && i < sizeof(symbols) / sizeof(*symbols); i++) {
        void *at = dlsym(handle, symbols[i].name);
        if (!at)
            return error_set(err, ENOSYS, "load libsystemd: '%s' is missing in it",
                             symbols[i].name);
        memcpy(symbols[i].slot, &at, sizeof(at));
    }
    lib.handle = handle;
    return 0;
}

/* ---- is there one to be had? ----------------------------------------------------------------- */

enum { SLICE_MAX = 40 };

static void socket_path(char *buf, size_t n)
{
    if (geteuid() == 0)
        snprintf(buf, n, "/run/systemd/private");
    else
        snprintf(buf, n, "/run/user/%u/systemd/private", (unsigned)geteuid());
}

const char *systemd_scope_instance(void)
{
    return geteuid() == 0 ? "the system's systemd instance" : "the user's systemd instance";
}

/* Finds the slice of the user who owns this session: root may be in another user's session. */
static bool find_slice(char ret[SLICE_MAX])
{
    static const char above[] = "/user.slice/";
    AUTO(cgroup_membership_free) struct cgroup_membership own = {0};
    unsigned uid;
    int length = 0;
    if (cgroup_membership_read(0, &own, NULL) < 0 || !own.v2 ||
        strncmp(own.v2, above, strlen(above)) != 0 ||
        sscanf(own.v2 + strlen(above), "user-%10u.slice/%n", &uid, &length) != 1 || !length)
        return false;
    snprintf(ret, SLICE_MAX, "user-%u.slice", uid);
    return geteuid() == 0 || uid == geteuid();
}

bool systemd_scope_is_there(void)
{
    char path[64], slice[SLICE_MAX];
    socket_path(path, sizeof(path));
    return access(path, W_OK) == 0 && find_slice(slice);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct systemd_scope {
    sd_bus *bus;
    struct loop_io *io;
    struct loop_timer timer;
    char name[128];
    systemd_scope_fn fn;
    void *arg;
    bool is_over; /* and error says how */
    struct error error;
};

void systemd_scope_free(struct systemd_scope *s)
{
    if (!s)
        return;
    loop_timer_stop(&s->timer);
    loop_io_destroy(s->io);
    if (s->bus)
        lib.end(s->bus);
    free(s);
}

static void over(struct systemd_scope *s)
{
    systemd_scope_fn fn = s->fn;
    void *arg = s->arg;
    struct error e = s->error;
    if (e.code)
        error_context(&e, "get scope '%s' of %s", s->name, systemd_scope_instance());
    systemd_scope_free(s);
    fn(arg, e.code ? &e : NULL);
}

static int heard(sd_bus_message *m, void *arg, sd_bus_error *unused)
{
    struct systemd_scope *s = arg;
    uint32_t id;
    const char *job, *unit, *result;
    if (lib.is_signal(m, "org.freedesktop.systemd1.Manager", "JobRemoved") <= 0 ||
        lib.read(m, "uoss", &id, &job, &unit, &result) < 0 || strcmp(unit, s->name) != 0)
        return 0;
    s->is_over = true;
    if (strcmp(result, "done") != 0)
        error_set(&s->error, ECANCELED, "its job ended as '%.40s'", result);
    return 0;
}

static int answered(sd_bus_message *m, void *arg, sd_bus_error *unused)
{
    struct systemd_scope *s = arg;
    const sd_bus_error *e = lib.error_of(m);
    if (!e)
        return 0; /* the job is under way */
    s->is_over = true;
    error_set(&s->error, EACCES, "%.200s", e->message ? e->message : e->name);
    return 0;
}

static void talk(void *arg, int fd, unsigned events)
{
    struct systemd_scope *s = arg;
    int rc = 1;
    while (rc > 0 && !s->is_over)
        rc = lib.process(s->bus, NULL);
    if (rc < 0 && !s->is_over) {
        s->is_over = true;
        error_errno(&s->error, -rc, "hear of it");
    }
    if (s->is_over)
        over(s);
}

static void is_silent(void *arg)
{
    struct systemd_scope *s = arg;
    error_set(&s->error, ETIMEDOUT, "it does not answer");
    over(s);
}

/* Root's scope stays in the slice of the session, whose limits hold for it. A user's instance has
 * all of its scopes within that slice. */
static int start(struct systemd_scope *s, const pid_t pid[SYSTEMD_SCOPE_PIDS])
{
    char path[64], address[80], slice[SLICE_MAX] = "app.slice";
    if (geteuid() == 0 && !find_slice(slice))
        return -ENOENT;
    socket_path(path, sizeof(path));
    snprintf(address, sizeof(address), "unix:path=%s", path);
    int rc = lib.create(&s->bus);
    if (rc >= 0)
        rc = lib.set_address(s->bus, address);
    if (rc >= 0)
        rc = lib.start(s->bus);
    if (rc >= 0)
        rc = lib.add_filter(s->bus, NULL, heard, s);
    return rc < 0 ? rc
                  : lib.call(s->bus, NULL, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                             "org.freedesktop.systemd1.Manager", "StartTransientUnit", answered, s,
                             "ssa(sv)a(sa(sv))", s->name, "fail", 6, "Slice", "s", slice,
                             "Description", "s", "mprun: ranks of a step", "Delegate", "b", 1,
                             "CollectMode", "s", "inactive-or-failed", "TasksMax", "t", UINT64_MAX,
                             "PIDs", "au", SYSTEMD_SCOPE_PIDS, (uint32_t)pid[0], (uint32_t)pid[1],
                             (uint32_t)pid[2], 0);
}

struct systemd_scope *systemd_scope_ask(struct loop *l, const char *step_id,
                                        const pid_t pid[SYSTEMD_SCOPE_PIDS], systemd_scope_fn fn,
                                        void *arg, struct error *err)
{
    if (load_library(err) < 0)
        return NULL;
    struct systemd_scope *s = must(malloc(sizeof(*s)));
    *s = (struct systemd_scope){.fn = fn, .arg = arg};
    snprintf(s->name, sizeof(s->name), SYSTEMD_SCOPE_PREFIX "%s.scope", step_id);
    loop_timer_init(&s->timer, l, is_silent, s);
    loop_timer_start(&s->timer, POLICY_SYSTEMD_S, 0);
    int rc = start(s, pid);
    if (rc < 0) {
        error_errno(err, -rc, "ask %s for a scope", systemd_scope_instance());
        systemd_scope_free(s);
        return NULL;
    }
    s->io = loop_io_create(l, lib.fd_of(s->bus), LOOP_READ, talk, s);
    return s;
}
