/* SPDX-License-Identifier: BSD-3-Clause */
/* token.h - a grant: what a job asks for, signed by the daemon of its master host for the others
 *
 * A record of fixed size behind a MAC (libsodium's crypto_auth, HMAC-SHA512-256) by a key that all
 * hosts of a cluster have and only root can read. It goes with the job's tasks, through users'
 * hands, and holds for its own job, user and cluster, for a time. As text it is base64 for URLs,
 * letters, digits, '-' and '_' only; users may see it: it has nothing that qstat does not show. */
#pragma once

#include <sys/types.h>

#include "common/error.h"
#include "containment/mprund-protocol.h"
#include "rm-adapters/gridengine/job-demand.h"

enum { TOKEN_KEY_BYTES = 32, TOKEN_HOST_MAX = 64, TOKEN_CELL_MAX = 32 };
enum { TOKEN_LIFE_S = 3600, TOKEN_SKEW_S = 300 }; /* how far clocks of hosts may differ */

struct token_key {
    int set;
    unsigned char bytes[TOKEN_KEY_BYTES];
};

struct token {
    char job[GRANT_JOB_MAX];
    char cell[TOKEN_CELL_MAX];
    char host[TOKEN_HOST_MAX]; /* the only host that it is for; "": any of the job's */
    uint32_t slots;            /* of the job on that host; 0: as many as its own execd says */
    uid_t uid;
    int64_t issued, expires; /* seconds of CLOCK_REALTIME */
    struct demand demand;
};

/* A key from a file of TOKEN_KEY_BYTES as 64 hexadecimal digits, which must be root's (or the
 * caller's) and closed to everybody else. 0, or -1 with err. */
int token_key_read(const char *path, struct token_key *ret, struct error *err);
/* The same of an open file, which stays the caller's and is called path in err. */
int token_key_read_fd(int fd, const char *path, struct token_key *ret, struct error *err);
/* Make such a file, which must not be there yet, with a new key. 0, or -1 with err. */
int token_key_make(const char *path, struct error *err);

/* The text of a grant from now on. 0, or -1 with err: there is no key. issued and expires of t are
 * not looked at. */
int token_sign(const struct token_key *key, const struct token *t, int64_t now,
               char text[GRANT_TOKEN_MAX], struct error *err);
/* Is text a grant by that key, at this time? 0 with *ret, or -1 with a sentence. Whose it is, is
 * for the caller to compare: token_is_for(). */
int token_open(const struct token_key *key, const char *text, int64_t now, struct token *ret,
               struct error *err);
/* Returns NULL if the grant is for this job, user, cell and host; else the reason. */
const char *token_is_for(const struct token *t, const char *job, uid_t uid, const char *cell,
                         const char *host);
