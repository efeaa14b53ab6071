/* SPDX-License-Identifier: BSD-3-Clause */
/* token.c - signing and checking grants
 *
 *     0  4   "MPG1"                        184   8   issued    least significant byte first
 *     4  4   slots                         192   8   expires
 *     8  4   uid                           200 104   demand
 *    12  4   0                             304  32   MAC of all before it
 *    16 64   job      48 .. as texts,
 *    80 32   cell        zeros behind them
 *   112 64   host  176 8 0
 */
#include "node-daemon/signer/token.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"

enum {
    AT_SLOTS = 4,
    AT_UID = 8,
    AT_JOB = 16,
    AT_CELL = AT_JOB + GRANT_JOB_MAX,
    AT_HOST = AT_CELL + TOKEN_CELL_MAX,
    AT_ISSUED = AT_HOST + TOKEN_HOST_MAX + 8,
    AT_EXPIRES = AT_ISSUED + 8,
    AT_DEMAND = AT_EXPIRES + 8,
    AT_MAC = AT_DEMAND + DEMAND_BYTES,
    BYTES = AT_MAC + crypto_auth_BYTES,
    KEY_LINE = 2 * TOKEN_KEY_BYTES,
};
_Static_assert(TOKEN_KEY_BYTES == crypto_auth_KEYBYTES, "libsodium's key");
_Static_assert(GRANT_TOKEN_MAX ==
                   sodium_base64_ENCODED_LEN(BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING),
               "a grant as text, and its end");
static const unsigned char magic[4] = {'M', 'P', 'G', '1'};

/* ---- the key --------------------------------------------------------------------------------- */

static int check_file(int fd, const char *path, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_errno(err, errno, "read key '%s'", path);
    if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 077))
        return error_set(err, EPERM,
                         "read key '%s': it must be a file of root's that nobody else can read or "
                         "write (chown root, chmod 600)",
                         path);
    return 0;
}

int token_key_read_fd(int fd, const char *path, struct token_key *ret, struct error *err)
{
    char line[KEY_LINE + 2];
    size_t n = 0;
    if (check_file(fd, path, err) < 0)
        return -1;
    struct token_key key = {.set = 1};
    ssize_t len = pread(fd, line, sizeof(line), 0);
    int is_key =
        (len == KEY_LINE || (len == KEY_LINE + 1 && line[KEY_LINE] == '\n')) &&
        sodium_hex2bin(key.bytes, sizeof(key.bytes), line, KEY_LINE, NULL, &n, NULL) == 0 &&
        n == sizeof(key.bytes);
    explicit_bzero(line, sizeof(line));
    if (is_key)
        *ret = key;
    explicit_bzero(&key, sizeof(key));
    return is_key ? 0
                  : error_set(err, EINVAL,
                              "read key '%s': one line of %d hexadecimal digits is wanted (mprund "
                              "--make-key FILE makes one)",
                              path, (int)KEY_LINE);
}

int token_key_read(const char *path, struct token_key *ret, struct error *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd < 0 ? error_errno(err, errno, "read key '%s'", path)
                  : token_key_read_fd(fd, path, ret, err);
}

/* A directory on the way to a new key. No link is followed, and nobody but root and the caller may
 * have put it there, or can put anything in its place. A descriptor, or -1. */
static int open_safe(int above, const char *name, struct error *err)
{
    struct stat st;
    AUTO_CLOSE int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return errno == ENOTDIR
                   ? error_set(err, errno, "'%s' is a link, or no directory: name the real one",
                               name)
                   : error_errno(err, errno, "open directory '%s'", name);
    if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
        ((st.st_mode & 022) && !(st.st_mode & S_ISVTX)))
        return error_set(err, EPERM, "others can write to directory '%s'", name);
    return take_fd(&fd);
}

/* The directory of the file, made if it is missing. In copy: the file gets the name *ret_name. -1
 * with err. */
static int key_directory(char *copy, const char **ret_name, struct error *err)
{
    char *slash = strrchr(copy, '/'), *save = NULL;
    AUTO_CLOSE int fd = open_safe(AT_FDCWD, copy[0] == '/' ? "/" : ".", err);
    *ret_name = slash ? slash + 1 : copy;
    if (slash)
        *slash = 0;
    for (char *part = slash ? strtok_r(copy, "/", &save) : NULL; fd >= 0 && part;
         part = strtok_r(NULL, "/", &save)) {
        if (mkdirat(fd, part, 0755) < 0 && errno != EEXIST)
            return error_errno(err, errno, "make directory '%s'", part);
        int next = open_safe(fd, part, err);
        close(fd);
        fd = next;
    }
    return take_fd(&fd);
}

int token_key_make(const char *path, struct error *err)
{
    const char *name;
    unsigned char bytes[TOKEN_KEY_BYTES];
    char line[KEY_LINE + 2];
    if (sodium_init() < 0)
        return error_set(err, EIO, "make key '%s': libsodium does not start", path);
    AUTO_FREE char *copy = must(strdup(path));
    AUTO_CLOSE int dir = key_directory(copy, &name, err);
    if (dir < 0)
        return error_context(err, "make key '%s'", path);
    AUTO_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, errno, "make key '%s'", path);
    randombytes_buf(bytes, sizeof(bytes));
    sodium_bin2hex(line, sizeof(line), bytes, sizeof(bytes));
    line[KEY_LINE] = '\n';
    int rc = fd_write_all(fd, line, KEY_LINE + 1) < 0 || fsync(fd) < 0 ? -1 : 0;
    int code = errno;
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(line, sizeof(line));
    if (rc < 0)
        (void)unlinkat(dir, name, 0);
    return rc < 0 ? error_errno(err, code, "make key '%s'", path) : 0;
}

/* ---- the record ------------------------------------------------------------------------------ */

static void put(unsigned char *at, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t get(const unsigned char *at, size_t n)
{
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | at[i];
    return v;
}

static void put_text(unsigned char *at, const char *text, size_t size)
{
    memcpy(at, text, strnlen(text, size - 1));
}

static void get_text(const unsigned char *at, char *ret, size_t size)
{
    memcpy(ret, at, size - 1);
    ret[size - 1] = 0;
}

static void pack(const struct token *t, unsigned char buf[BYTES])
{
    memset(buf, 0, BYTES);
    memcpy(buf, magic, sizeof(magic));
    put(buf + AT_SLOTS, t->slots, 4);
    put(buf + AT_UID, t->uid, 4);
    put_text(buf + AT_JOB, t->job, sizeof(t->job));
    put_text(buf + AT_CELL, t->cell, sizeof(t->cell));
    put_text(buf + AT_HOST, t->host, sizeof(t->host));
    put(buf + AT_ISSUED, (uint64_t)t->issued, 8);
    put(buf + AT_EXPIRES, (uint64_t)t->expires, 8);
    demand_put(&t->demand, buf + AT_DEMAND);
}

static int unpack(const unsigned char buf[BYTES], struct token *ret)
{
    struct token t = {.slots = (uint32_t)get(buf + AT_SLOTS, 4),
                      .uid = (uid_t)get(buf + AT_UID, 4),
                      .issued = (int64_t)get(buf + AT_ISSUED, 8),
                      .expires = (int64_t)get(buf + AT_EXPIRES, 8)};
    if (memcmp(buf, magic, sizeof(magic)) != 0 || demand_get(buf + AT_DEMAND, &t.demand) < 0)
        return -1;
    get_text(buf + AT_JOB, t.job, sizeof(t.job));
    get_text(buf + AT_CELL, t.cell, sizeof(t.cell));
    get_text(buf + AT_HOST, t.host, sizeof(t.host));
    *ret = t;
    return 0;
}

int token_sign(const struct token_key *key, const struct token *t, int64_t now,
               char text[GRANT_TOKEN_MAX], struct error *err)
{
    unsigned char buf[BYTES];
    struct token signed_now = *t;
    if (!key->set)
        return error_set(err, ENOKEY, "sign a grant: mprund.conf names no grant_key");
    signed_now.issued = now;
    signed_now.expires = now + TOKEN_LIFE_S;
    pack(&signed_now, buf);
    if (sodium_init() < 0 || crypto_auth(buf + AT_MAC, buf, AT_MAC, key->bytes) != 0)
        return error_set(err, EIO, "sign a grant: libsodium does not");
    sodium_bin2base64(text, GRANT_TOKEN_MAX, buf, sizeof(buf),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return 0;
}

static int check_time(const struct token *t, int64_t now, struct error *err)
{
    if (t->issued > now + TOKEN_SKEW_S || t->expires < t->issued)
        return error_set(err, EINVAL, "the grant is of the future: do the hosts' clocks agree?");
    /* a signed grant may say that it never expires */
    if (now - TOKEN_SKEW_S > t->expires || now > t->issued + TOKEN_LIFE_S + TOKEN_SKEW_S)
        return error_set(err, ETIME, "the grant has expired");
    return 0;
}

int token_open(const struct token_key *key, const char *text, int64_t now, struct token *ret,
               struct error *err)
{
    unsigned char buf[BYTES];
    struct token t;
    size_t n = 0, len = strnlen(text, GRANT_TOKEN_MAX);
    if (!key->set)
        return error_set(err, ENOKEY, "there is a grant, but mprund.conf names no grant_key");
    if (len != GRANT_TOKEN_MAX - 1 ||
        sodium_base642bin(buf, sizeof(buf), text, len, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        n != sizeof(buf))
        return error_set(err, EINVAL, "the grant is none");
    if (sodium_init() < 0 || crypto_auth_verify(buf + AT_MAC, buf, AT_MAC, key->bytes) != 0)
        return error_set(err, EBADMSG, "the grant was not signed with this host's grant_key");
    if (unpack(buf, &t) < 0)
        return error_set(err, EPROTO, "the grant is of another release of mprund");
    if (check_time(&t, now, err) < 0)
        return -1;
    *ret = t;
    return 0;
}

/* ---- whose it is ----------------------------------------------------------------------------- */

/* "n1" and "n1.example.org" are one host, two full names that differ are two. */
static int is_same_host(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = strcspn(b, ".");
    return strcasecmp(a, b) == 0 || (!(a[n] && b[m]) && n == m && strncasecmp(a, b, n) == 0);
}

const char *token_is_for(const struct token *t, const char *job, uid_t uid, const char *cell,
                         const char *host)
{
    if (strcmp(t->job, job) != 0)
        return "the grant is of another job";
    if (t->uid != uid)
        return "the grant is of another user";
    if (strncmp(t->cell, cell, sizeof(t->cell) - 1) != 0)
        return "the grant is of another cell";
    if (t->host[0] && !is_same_host(t->host, host))
        return "the grant is for another host";
    return NULL;
}
