/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool-fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/path.h"

char spool_dir[64], spool_user[64];
gid_t spool_group;

int spool_make(void)
{
    gid_t groups[256];
    char path[128];
    struct passwd *pw = getpwuid(geteuid());
    int n = getgroups(256, groups);
    spool_group = n > 0 ? groups[0] : 0;
    if (!pw)
        return -1;
    snprintf(spool_user, sizeof(spool_user), "%s", pw->pw_name);
    strcpy(spool_dir, "/tmp/test-spool.XXXXXX");
    if (!mkdtemp(spool_dir))
        return -1;
    snprintf(path, sizeof(path), "%s/spool", spool_dir);
    if (mkdir(path, 0755) < 0)
        return -1;
    strcat(path, "/active_jobs");
    return mkdir(path, 0755);
}

int spool_remove(void **state)
{
    return path_remove_tree(spool_dir, NULL);
}

void spool_write(const char *path, const char *fmt, ...)
{
    char whole[512];
    int above = snprintf(whole, sizeof(whole), "%s/spool/active_jobs/", spool_dir);
    snprintf(whole + above, sizeof(whole) - (size_t)above, "%s", path);
    for (char *slash = strchr(whole + above, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(whole, 0755);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    va_list ap;
    va_start(ap, fmt);
    assert_true(vfprintf(f, fmt, ap) >= 0);
    va_end(ap);
    assert_int_equal(fclose(f), 0);
}

void spool_unlink(const char *path)
{
    char whole[512];
    snprintf(whole, sizeof(whole), "%s/spool/active_jobs/%s", spool_dir, path);
    assert_int_equal(path_remove_tree(whole, NULL), 0);
}

void spool_reader(const char *more, struct part *ret)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "gridengine { spool = \"%s/spool\" admin_user = \"%s\" root = \"/r\" cell = c %s }\n",
             spool_dir, spool_user, more);
    part_start("mprund-reader", ret);
    part_give(ret, GIFT_CONF, 0, part_text(text, 0644));
    part_is_ready(ret);
}
