/* SPDX-License-Identifier: BSD-3-Clause */
/* A process can vanish between two reads: the readers answer ESRCH then, and never wait. */
#include "common/processes/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/text/number.h"
#include "common/text/words.h"

/* /proc/PID/name into buf: its length, or -1 with errno ESRCH for a process that is gone. */
static ssize_t read_of(pid_t pid, const char *name, char *buf, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    ssize_t n = file_read_at(AT_FDCWD, path, buf, size);
    if (n < 0 && errno == ENOENT)
        errno = ESRCH;
    return n;
}

/* A command's name may hold blanks and parentheses: it ends at the last ')'. */
static const char *parse_comm(const char *text, struct proc_stat *ret)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open)
        return NULL;
    size_t len = (size_t)(close - open - 1);
    if (len >= sizeof(ret->comm))
        len = sizeof(ret->comm) - 1;
    memcpy(ret->comm, open + 1, len);
    ret->comm[len] = 0;
    text_make_printable(ret->comm, len);
    return close + 1;
}

enum { STATUS_MAX = 1 << 20 /* of a process with 65,536 groups */ };
enum { STAT_NUMBERS = 4, STAT_END = 23 }; /* fields, as proc(5) counts them */

/* Reads the numbers behind the state. sscanf() takes six times as long. */
static int parse_numbers(const char *text, uint64_t field[STAT_END])
{
    for (int i = STAT_NUMBERS; i < STAT_END; i++) {
        char *end;
        field[i] = strtoull(text, &end, 10);
        if (end == text)
            return -1;
        text = end;
    }
    return 0;
}

int proc_stat_read(pid_t pid, struct proc_stat *ret)
{
    char buf[1024];
    uint64_t field[STAT_END];
    struct proc_stat s = {.pid = pid};
    if (read_of(pid, "stat", buf, sizeof(buf)) < 0)
        return -1;
    const char *rest = parse_comm(buf, &s); /* " S 1 ..." */
    if (!rest || strlen(rest) < 2 || parse_numbers(rest + 2, field) < 0)
        return error_number(EPROTO);
    s.state = rest[1];
    s.ppid = (pid_t)field[4];
    s.sid = (pid_t)field[6];
    s.utime = field[14];
    s.stime = field[15];
    s.cutime = field[16];
    s.cstime = field[17];
    s.starttime = field[22];
    *ret = s;
    return 0;
}

/* The value of "key:   123 kB" in bytes; 0 when absent. Keys of a zombie are absent. */
static uint64_t status_kib(const char *text, const char *key)
{
    uint64_t kib;
    return flat_key_u64(text, key, &kib) < 0 ? 0 : kib * 1024;
}

int proc_memory_read(pid_t pid, struct proc_memory *ret)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    AUTO_FREE char *buf = file_slurp_at(AT_FDCWD, path, STATUS_MAX, NULL);
    if (!buf && errno != ENOENT)
        return -1;
    if (!buf || !strstr(buf, "\nVmRSS:")) /* a zombie or a kernel thread has no memory */
        return error_number(ESRCH);
    *ret = (struct proc_memory){
        .anonymous = status_kib(buf, "RssAnon"),
        .file = status_kib(buf, "RssFile"),
        .shared = status_kib(buf, "RssShmem"),
        .swap = status_kib(buf, "VmSwap"),
    };
    return 0;
}

int proc_sizes_read(pid_t pid, struct proc_sizes *ret)
{
    char buf[256];
    uint64_t size, resident, mapped, page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (read_of(pid, "statm", buf, sizeof(buf)) < 0)
        return -1;
    if (sscanf(buf, "%" SCNu64 " %" SCNu64 " %" SCNu64, &size, &resident, &mapped) != 3)
        return error_number(EPROTO);
    uint64_t anonymous = resident > mapped ? resident - mapped : 0; /* read one after the other */
    *ret = (struct proc_sizes){size * page, anonymous * page, mapped * page};
    return 0;
}

int proc_shared_part_read(pid_t pid, uint64_t *ret)
{
    char buf[4096];
    uint64_t kib;
    if (read_of(pid, "smaps_rollup", buf, sizeof(buf)) < 0 ||
        flat_key_u64(buf, "Pss_Shmem", &kib) < 0)
        return -1;
    *ret = kib * 1024;
    return 0;
}

int proc_io_read(int fd, struct proc_io *ret)
{
    char buf[1024];
    struct proc_io io;
    ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);
    if (n < 0)
        return -1;
    buf[n] = 0;
    if (flat_key_u64(buf, "rchar", &io.read_chars) < 0 ||
        flat_key_u64(buf, "wchar", &io.written_chars) < 0 ||
        flat_key_u64(buf, "read_bytes", &io.read_storage) < 0 ||
        flat_key_u64(buf, "write_bytes", &io.written_storage) < 0)
        return -1;
    *ret = io;
    return 0;
}

/* ---- children -------------------------------------------------------------------------------- */

/* The list can be longer than any fixed buffer: a rank may have thousands of children. */
static int add_children_of_thread(struct pid_list *p, int task_fd, pid_t tid)
{
    char path[32], thread[16];
    size_t others = p->n; /* those of other threads; one may have come from there meanwhile */
    snprintf(thread, sizeof(thread), "%d", (int)tid);
    snprintf(path, sizeof(path), "%s/children", thread);
    AUTO_FREE char *text = file_slurp_at(task_fd, path, 1 << 24, NULL);
    if (!text) {
        if (errno != ENOENT && errno != ESRCH)
            return -1;
        if (faccessat(task_fd, thread, F_OK, 0) < 0)
            return 0;   /* the thread is gone, and what it had is another thread's */
        errno = ENOENT; /* the kernel has no list */
        return -1;
    }
    char *end;
    for (char *at = text; *at; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        if (!pids_have(p->pids, others, (pid_t)pid) && pid_list_add(p, (pid_t)pid) < 0)
            return -1;
    }
    return 0;
}

/* The last thread first: what a thread that ends had becomes the first living one's, and would be
 * missed if that had been looked at before. */
static int children_by_thread(pid_t pid, struct pid_list *p)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    AUTO_DIR DIR *tasks = opendir(path);
    if (!tasks) {
        errno = errno == ENOENT ? ESRCH : errno;
        return -1;
    }
    struct pid_list threads = {0};
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(tasks));)
        if (atol(e->d_name) > 0)
            rc = pid_list_add(&threads, (pid_t)atol(e->d_name));
    for (size_t i = threads.n; rc == 0 && i-- > 0;)
        rc = add_children_of_thread(p, dirfd(tasks), threads.pids[i]);
    cleanup_free(&threads.pids);
    return rc;
}

/* For kernels without CONFIG_PROC_CHILDREN. */
static int children_by_scan(pid_t pid, struct pid_list *p)
{
    AUTO_DIR DIR *proc = opendir("/proc");
    if (!proc)
        return -1;
    for (struct dirent *e; (e = readdir(proc));) {
        struct proc_stat s;
        if (atol(e->d_name) > 0 && proc_stat_read((pid_t)atol(e->d_name), &s) == 0 &&
            s.ppid == pid && pid_list_add(p, s.pid) < 0)
            return -1;
    }
    return 0;
}

/* A system call that spares a process without children seven. */
static bool has_no_children(pid_t pid)
{
    siginfo_t ended;
    return pid == getpid() && waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 &&
           errno == ECHILD;
}

int proc_children(pid_t pid, pid_t **ret)
{
    struct pid_list p = {0};
    int rc = has_no_children(pid) ? 0 : children_by_thread(pid, &p);
    if (rc < 0 && errno == ENOENT) {
        p.n = 0;
        rc = children_by_scan(pid, &p);
    }
    if (rc < 0) {
        free(p.pids);
        return -1;
    }
    *ret = p.pids;
    return (int)p.n;
}

void proc_wchan(pid_t pid, char *buf, size_t n)
{
    if (read_of(pid, "wchan", buf, n) < 0 || strcmp(buf, "0") == 0)
        buf[0] = 0;
}

void proc_describe(const pid_t *pids, size_t n, char *buf, size_t size)
{
    enum { NAMED = 4 };
    size_t len = 0, named = 0, i = 0;
    buf[0] = 0;
    for (; i < n && named < NAMED && len < size; i++) {
        struct proc_stat st;
        char wchan[64] = "";
        if (proc_stat_read(pids[i], &st) < 0)
            continue;
        proc_wchan(pids[i], wchan, sizeof(wchan));
        len += (size_t)snprintf(buf + len, size - len, "%spid %d (%s, state %c%s%s)",
                                named++ ? ", " : "", (int)pids[i], st.comm, st.state,
                                *wchan ? ", waiting in " : "", wchan);
    }
    if (i < n && len < size)
        snprintf(buf + len, size - len, " and %zu more", n - i);
}

/* systemd's login manager names the control groups of sessions session-ID.scope, in cgroup v2 and
 * in v1's hierarchy "systemd". */
void proc_login_session(char *buf, size_t n)
{
    char text[8192];
    buf[0] = 0;
    if (file_read_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) <= 0)
        return;
    for (const char *at = text; (at = strstr(at, "/session-")); at++) {
        size_t len = strcspn(at + 1, "/\n");
        if (len > strlen(".scope") && strncmp(at + 1 + len - 6, ".scope", 6) == 0) {
            snprintf(buf, n, "%.*s", (int)len, at + 1);
            return;
        }
    }
}
