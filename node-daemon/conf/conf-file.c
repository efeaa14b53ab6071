/* SPDX-License-Identifier: BSD-3-Clause */
/* conf-file.c - reads the text of a configuration file for libconfuse
 *
 * It refuses a file that others can write, because the file decides where root writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "node-daemon/conf/conf-private.h"

enum { FILE_MAX = 1 << 20 };

static char *read_text(int fd, const char *path, struct error *err)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_null(error_errno(err, errno, "read configuration '%s'", path));
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
        return error_null(
            error_set(err, EINVAL, "read configuration '%s': not a file of at most 1 MiB", path));
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022))
        return error_null(error_set(
            err, EPERM,
            "read configuration '%s': it must belong to root and be writable to nobody else "
            "(chown root, chmod 644)",
            path));
    AUTO_FREE char *text = must(calloc(1, (size_t)st.st_size + 1));
    if (pread(fd, text, (size_t)st.st_size, 0) != st.st_size)
        return error_null(error_errno(err, EIO, "read configuration '%s'", path));
    return take_ptr(text);
}

/* libconfuse (3.3) counts the lines of comments several times: messages would name wrong ones. */
static void blank_comments(char *text)
{
    char quote = 0;
    for (char *p = text; *p; p++) {
        if (quote && *p == '\\' && p[1])
            p++;
        else if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (*p == '#')
            for (; *p && *p != '\n'; p++)
                *p = ' ';
        if (!*p)
            return;
    }
}

static char *text_of(int fd, const char *path, struct error *err)
{
    char *text = read_text(fd, path, err);
    if (text && !strstr(text, "/*")) /* where a # begins none */
        blank_comments(text);
    return text;
}

char *conf_file_text(const char *path, struct error *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return text_of(fd, path, err);
}

char *conf_open_text(int fd, struct error *err)
{
    return text_of(fd, CONF_PATH, err);
}
