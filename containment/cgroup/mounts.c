/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.c - where cgroups can be seen and which are ours, from /proc/PID/mountinfo and
 * /proc/PID/cgroup
 *
 * Both tables speak from the reader's cgroup namespace: a path that begins with "/.." lies outside
 * of it, and a mount whose root begins so was made before the namespace was. Neither can be joined
 * to a directory. */
#include "containment/cgroup/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/text/text.h"

enum { TABLE_MAX = 8 << 20 };

/* ---- mountinfo ------------------------------------------------------------------------------- */

static int octal(const char *s)
{
    if (s[0] < '0' || s[0] > '3' || s[1] < '0' || s[1] > '7' || s[2] < '0' || s[2] > '7')
        return -1;
    return (s[0] - '0') * 64 + (s[1] - '0') * 8 + (s[2] - '0');
}

/* The kernel writes blank, tab, newline and backslash in paths as \040 and so on. */
static void unescape(char *s)
{
    char *to = s;
    while (*s) {
        int c = s[0] == '\\' ? octal(s + 1) : -1;
        *to++ = c >= 0 ? (char)c : *s;
        s += c >= 0 ? 4 : 1;
    }
    *to = 0;
}

static unsigned v1_controllers_in(const char *list)
{
    unsigned found = cgroup_controllers_in(list, ~(CGROUP_BIT(CGROUP_CPU) | CGROUP_BIT(CGROUP_IO)));
    found |= cgroup_list_has(list, "blkio") ? CGROUP_BIT(CGROUP_IO) : 0;
    return found | (cgroup_list_has(list, "cpuacct") ? CGROUP_BIT(CGROUP_CPU) : 0);
}

/* id parent major:minor root point options [tags...] - type source super-options */
enum { FIELD_ROOT = 3, FIELD_POINT = 4, FIELD_OPTIONS = 5, FIELDS_BEFORE = 6 };

struct mount_line {
    char *root, *point, *options, *type, *super;
};

static int split_line(char *line, struct mount_line *ret)
{
    char *before[FIELDS_BEFORE], *save = NULL;
    char *w = strtok_r(line, " ", &save);
    size_t n = 0;
    for (; w && n < FIELDS_BEFORE; w = strtok_r(NULL, " ", &save))
        before[n++] = w;
    while (w && strcmp(w, "-") != 0)
        w = strtok_r(NULL, " ", &save);
    if (!w || n < FIELDS_BEFORE)
        return -1;
    ret->type = strtok_r(NULL, " ", &save);
    char *source = strtok_r(NULL, " ", &save);
    ret->super = strtok_r(NULL, " ", &save);
    ret->root = before[FIELD_ROOT];
    ret->point = before[FIELD_POINT];
    ret->options = before[FIELD_OPTIONS];
    return ret->type && source && ret->super ? 0 : -1;
}

static void mounts_append(struct cgroup_mounts *mounts, const struct mount_line *line, int version)
{
    mounts->m = must(reallocarray(mounts->m, mounts->n + 1, sizeof(*mounts->m)));
    struct cgroup_mount *m = &mounts->m[mounts->n++];
    m->version = version;
    m->read_only = cgroup_list_has(line->options, "ro") || cgroup_list_has(line->super, "ro");
    m->controllers = version == 1 ? v1_controllers_in(line->super) : 0;
    m->root = must(strdup(line->root));
    m->point = must(strdup(line->point));
    unescape(m->root);
    unescape(m->point);
}

void cgroup_mounts_parse(const char *text, struct cgroup_mounts *ret)
{
    AUTO_FREE char *copy = must(strdup(text));
    char *save = NULL;
    *ret = (struct cgroup_mounts){0};
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct mount_line f;
        if (!strstr(line, " - cgroup") || split_line(line, &f) < 0)
            continue;
        int version = !strcmp(f.type, "cgroup2") ? 2 : !strcmp(f.type, "cgroup") ? 1 : 0;
        if (version)
            mounts_append(ret, &f, version);
    }
}

void cgroup_mounts_free(struct cgroup_mounts *mounts)
{
    for (size_t i = 0; i < mounts->n; i++) {
        free(mounts->m[i].root);
        free(mounts->m[i].point);
    }
    free(mounts->m);
    memset(mounts, 0, sizeof(*mounts));
}

/* ---- /proc/PID/cgroup ------------------------------------------------------------------------ */

/* "0::/a/b" is the cgroup2 hierarchy, "4:cpu,cpuacct:/a" one of v1, "1:name=systemd:/" no concern
 */
static void membership_line(char *line, struct cgroup_membership *m)
{
    char *names = strchr(line, ':');
    char *path = names ? strchr(names + 1, ':') : NULL;
    if (!path || path[1] != '/')
        return;
    *names++ = 0;
    *path++ = 0;
    if (!strcmp(line, "0") && *names == 0 && !m->v2)
        m->v2 = must(strdup(path));
    unsigned found = v1_controllers_in(names);
    for (size_t c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        if ((found & CGROUP_BIT(c)) && !m->v1[c])
            m->v1[c] = must(strdup(path));
}

void cgroup_membership_parse(const char *text, struct cgroup_membership *ret)
{
    AUTO_FREE char *copy = must(strdup(text));
    char *save = NULL;
    *ret = (struct cgroup_membership){0};
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        membership_line(line, ret);
}

void cgroup_membership_free(struct cgroup_membership *m)
{
    free(m->v2);
    for (size_t c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        free(m->v1[c]);
    memset(m, 0, sizeof(*m));
}

/* ---- both together --------------------------------------------------------------------------- */

static bool is_outside(const char *path)
{
    return !strncmp(path, "/..", 3) && (path[3] == '/' || path[3] == 0);
}

/* The part of `path` below `root` ("" or "/..."); NULL: it is not below. */
static const char *path_below(const char *path, const char *root)
{
    size_t len = strcmp(root, "/") ? strlen(root) : 0;
    if (is_outside(path) || is_outside(root) || strncmp(path, root, len) != 0)
        return NULL;
    if (path[len] == 0 || !strcmp(path + len, "/"))
        return "";
    return path[len] == '/' ? path + len : NULL;
}

static bool serves(const struct cgroup_mount *m, int version, enum cgroup_controller c)
{
    return m->version == version && (version == 2 || (m->controllers & CGROUP_BIT(c)));
}

/* Returns the last mount that shows the path, because a later one lies over an earlier one; a
 * writable mount is better than a read-only one. */
static const struct cgroup_mount *best_mount(const struct cgroup_mounts *mounts, int version,
                                             enum cgroup_controller c, const char *cgroup,
                                             bool *ret_any)
{
    const struct cgroup_mount *best = NULL;
    for (size_t i = mounts->n; i-- > 0;) {
        const struct cgroup_mount *m = &mounts->m[i];
        if (!serves(m, version, c))
            continue;
        *ret_any = true;
        if (path_below(cgroup, m->root) && (!best || (best->read_only && !m->read_only)))
            best = m;
    }
    return best;
}

char *cgroup_directory(const struct cgroup_mounts *mounts, int version, enum cgroup_controller c,
                       const char *cgroup, size_t *ret_root, struct error *err)
{
    const char *what = version == 2 ? "cgroup v2" : cgroup_controller_text(c);
    bool any = false;
    const struct cgroup_mount *m = best_mount(mounts, version, c, cgroup, &any);
    if (!m) {
        if (any)
            error_set(err, ENOENT, "no mount of %s shows cgroup '%s'", what, cgroup);
        else
            error_set(err, ENOENT, "%s is not mounted", what);
        return NULL;
    }
    const char *point = strcmp(m->point, "/") ? m->point : "";
    if (ret_root)
        *ret_root = strlen(point);
    return text_format("%s%s", point, path_below(cgroup, m->root));
}

static const char *kept_to = "";
static struct cgroup_mounts once; /* of cgroup_mounts_once() */

static void forget_others(struct cgroup_mounts *mounts)
{
    size_t n = mounts->n, len = strlen(kept_to);
    mounts->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct cgroup_mount m = mounts->m[i];
        if (!strncmp(m.point, kept_to, len) && (!len || !m.point[len] || m.point[len] == '/')) {
            mounts->m[mounts->n++] = m;
            continue;
        }
        free(m.root);
        free(m.point);
    }
}

void cgroup_mounts_keep_to(const char *directory)
{
    kept_to = directory;
    forget_others(&once);
}

int cgroup_mounts_read(struct cgroup_mounts *ret, struct error *err)
{
    AUTO_FREE char *text = file_slurp_at(AT_FDCWD, "/proc/self/mountinfo", TABLE_MAX, NULL);
    if (!text)
        return error_errno(err, errno, "read '/proc/self/mountinfo'");
    cgroup_mounts_parse(text, ret);
    forget_others(ret);
    return 0;
}

const struct cgroup_mounts *cgroup_mounts_once(struct error *err)
{
    return once.n > 0 || cgroup_mounts_read(&once, err) == 0 ? &once : NULL;
}

int cgroup_membership_read(pid_t pid, struct cgroup_membership *ret, struct error *err)
{
    char path[64] = "/proc/self/cgroup";
    if (pid > 0)
        snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    AUTO_FREE char *text = file_slurp_at(AT_FDCWD, path, TABLE_MAX, NULL);
    if (!text)
        return error_errno(err, errno, "read '%s'", path);
    cgroup_membership_parse(text, ret);
    return 0;
}
