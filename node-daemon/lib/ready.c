/* SPDX-License-Identifier: BSD-3-Clause */
/* ready.c - telling when the daemon serves
 *
 * mprund announces readiness: by a byte through a pipe to the waiting process, and by the one
 * datagram of systemd's sd_notify(3), which needs no library. */
#include "node-daemon/lib/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"

void ready_release_standard(void)
{
    AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        dup2(null, fd);
}

static void notify_systemd(void)
{
    static const char text[] = "READY=1";
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path))
        return;
    size_t n = strlen(path);
    memcpy(to.sun_path, path, n);
    if (path[0] == '@') /* an abstract name */
        to.sun_path[0] = 0;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)sendto(fd, text, sizeof(text) - 1, MSG_NOSIGNAL, (struct sockaddr *)&to,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

void ready_tell(int ready)
{
    notify_systemd();
    unsetenv("NOTIFY_SOCKET");
    if (ready < 0)
        return;
    ready_release_standard();
    (void)fd_write_all(ready, "r", 1);
    close(ready);
}

int pidfile_write(const char *path, struct error *err)
{
    char text[32];
    AUTO_FREE char *aside = NULL;
    if (asprintf(&aside, "%s.new", path) < 0)
        return error_errno(err, ENOMEM, "write '%s'", path);
    (void)unlink(aside);
    int fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_errno(err, errno, "write '%s'", aside);
    int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    int rc = fd_write_all(fd, text, (size_t)n);
    int saved = errno;
    close(fd);
    if (rc == 0 && rename(aside, path) == 0)
        return 0;
    saved = rc < 0 ? saved : errno;
    (void)unlink(aside);
    return error_errno(err, saved, "write '%s'", path);
}
