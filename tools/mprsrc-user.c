/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc-user.c - root, in a prolog, becomes an ordinary user before it reads what users say */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tools/mprsrc.h"

int mprsrc_become_user(const struct mprsrc_options *o, struct error *err)
{
    if (!o->is_roots)
        return 0;
    errno = 0;
    const struct passwd *pw = getpwnam(o->user);
    if (!pw || pw->pw_uid == 0)
        return error_set(
            err, EPERM,
            "root leaves reading what qstat says to user '%.60s', %s (useradd --system "
            "--no-create-home --shell /usr/sbin/nologin mprund; --user names another)",
            o->user, pw ? "which is root itself" : "which does not exist here");
    if (setgroups(0, NULL) < 0 || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
        setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_errno(err, errno, "become user '%.60s'", o->user);
    return 0;
}
