/* SPDX-License-Identifier: BSD-3-Clause */
/* login-session.h - the session that a login by the network has put this process into */
#pragma once

#include <stddef.h>

/* The session's name, "session-7.scope"; "": this process is in none. */
void login_session_find(char *buf, size_t n);
