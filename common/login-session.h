/* SPDX-License-Identifier: BSD-3-Clause */
/* login-session.h - has a login (sshd with PAM) put this process into a control group of its own?
 */
#ifndef COMMON_LOGIN_SESSION_H
#define COMMON_LOGIN_SESSION_H

#include <stddef.h>

/* The session's name, "session-7.scope", or "". */
void login_session_find(char *buf, size_t n);

#endif
