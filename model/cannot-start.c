/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/cannot-start.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/text/near-words.h"
#include "common/text/text.h"
#include "common/text/words.h"

static void add(struct error *err, const char *text)
{
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof(err->text) - n, "%s", text);
}

/* The program that a script's first line names, '#!/bin/sh -e'. */
static void add_interpreter(struct error *err, char *line)
{
    char text[400];
    line += 2 + strspn(line + 2, " \t");
    line[strcspn(line, " \t\n")] = 0;
    char *end = strchr(line, '\r');
    if (end)
        *end = 0;
    snprintf(
        text, sizeof(text), "; it is there, but not the program '%.200s%s' of its first line%s",
        line, end ? "\\r" : "",
        end ? ", which ends with a carriage return as on Windows: dos2unix takes them out" : "");
    add(err, text);
}

static const char *machine(unsigned number)
{
    static const struct {
        unsigned number;
        const char *name;
    } names[] = {{EM_386, "x86 of 32 bits"}, {EM_X86_64, "x86-64"}, {EM_ARM, "Arm of 32 bits"},
                 {EM_AARCH64, "AArch64"},    {EM_PPC64, "POWER"},   {EM_RISCV, "RISC-V"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].number == number)
            return names[i].name;
    return "another kind";
}

/* The beginning of a file, in bytes, and a NUL; -1: it cannot be read. */
static ssize_t read_head(const char *directory, const char *program, char *head, size_t size)
{
    AUTO_CLOSE int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int fd = openat(at, program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, head, size - 1);
    head[n > 0 ? n : 0] = 0;
    return n;
}

/* The kernel says ENOENT of a file that is there, too, when the one that should read it is missing.
 * Is that so? */
static int add_missing_reader(struct error *err, const char *program, const char *directory)
{
    char head[256];
    if (read_head(directory, program, head, sizeof(head)) < 2)
        return 0;
    if (head[0] == '#' && head[1] == '!')
        add_interpreter(err, head);
    else
        add(err, "; it is there, but not the dynamic loader that it names (see 'file' and 'ldd'): "
                 "it was made for another system");
    return 1;
}

static void add_wrong_format(struct error *err, const char *program, const char *directory)
{
    char head[sizeof(Elf64_Ehdr) + 1], text[200];
    Elf64_Ehdr e, own;
    ssize_t n = read_head(directory, program, head, sizeof(head));
    memcpy(&e, head, sizeof(e));
    if (n == 0) {
        add(err, "; the file is empty");
    } else if (n < (ssize_t)sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0) {
        add(err, "; it is neither a program nor a script that can be read");
    } else if (e.e_type != ET_EXEC && e.e_type != ET_DYN) {
        add(err, "; it is an object file that has yet to be linked");
    } else if (read_head("/", "proc/self/exe", head, sizeof(head)) == (ssize_t)sizeof(own)) {
        memcpy(&own, head, sizeof(own));
        snprintf(text, sizeof(text), "; it was made for %s processors, and this host's is %s",
                 machine(e.e_machine), machine(own.e_machine));
        if (e.e_machine != own.e_machine)
            add(err, text);
    }
}

/* ---- a name that is not there ---------------------------------------------------------------- */

struct near {
    char path[400]; /* "" none */
    size_t badness;
};

/* The nearest program in a folder (relative to `directory`), as it would be written. */
static int look_in(const char *directory, const char *folder, const char *name, struct near *best)
{
    AUTO_CLOSE int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *dir =
        dir_take_fd(openat(at, *folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct dirent *e;
    if (!dir)
        return -1;
    while ((e = readdir(dir))) {
        size_t badness = word_badness(name, e->d_name, strlen(e->d_name));
        struct stat st;
        if (badness >= best->badness || fstatat(dirfd(dir), e->d_name, &st, 0) < 0 ||
            !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
            continue;
        best->badness = badness;
        snprintf(best->path, sizeof(best->path), "%.300s%s%.80s", folder,
                 *folder && folder[strlen(folder) - 1] != '/' ? "/" : "", e->d_name);
    }
    return 0;
}

/* Of the name in the ranks' directory. False: there is nothing. */
static bool find_file(const struct app *app, struct stat *ret)
{
    AUTO_CLOSE int at = open(app->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fstatat(at, app->argv[0], ret, 0) == 0;
}

/* Is that a file that nobody may execute? */
static bool is_unmarked_file(const struct app *app)
{
    struct stat st;
    return find_file(app, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 0111);
}

/* A file that the kernel could not execute even with the x bit needs an interpreter. */
static void add_unmarked(struct error *err, const struct app *app)
{
    char head[8];
    ssize_t n = read_head(app->directory, app->argv[0], head, sizeof(head));
    bool is_program = n > 2 && (memcmp(head, "#!", 2) == 0 || memcmp(head, ELFMAG, 3) == 0);
    add(err, is_program ? "; it is not marked as a program: chmod +x does that"
                        : "; it is not marked as a program (chmod +x), and is none without a first "
                          "line such as '#!/bin/sh': write its interpreter before it, as 'bash' or "
                          "'python3', or compile it");
}

static void add_near(struct error *err, const struct near *best, const char *prefix)
{
    char text[500];
    snprintf(text, sizeof(text), "; perhaps '%s%s' is meant", prefix, best->path);
    if (best->path[0])
        add(err, text);
}

static void add_near_path(struct error *err, const struct app *app)
{
    struct near best = {.badness = SIZE_MAX};
    char folder[300], text[400];
    const char *name = strrchr(app->argv[0], '/') + 1;
    size_t n = (size_t)(name - app->argv[0]);
    if (n >= sizeof(folder))
        return;
    memcpy(folder, app->argv[0], n);
    folder[n] = 0;
    if (look_in(app->directory, folder, name, &best) == 0) {
        add_near(err, &best, "");
        if (!best.path[0])
            add(err, "; no program there has a name like it: write where it is, or make it first");
    } else if (errno == ENOENT) {
        snprintf(text, sizeof(text), "; the directory '%s' is not there either", folder);
        add(err, text);
    }
}

/* A name that is to be found in PATH. */
static void add_near_command(struct error *err, const struct app *app)
{
    struct near best = {.badness = SIZE_MAX}, here = best;
    const char *path = spawn_env_value(app->envp, "PATH");
    AUTO_FREE char *folders = strdup(path ? path : "");
    char *rest = folders;
    for (char *folder; rest && (folder = strsep(&rest, ":"));)
        look_in(app->directory, folder, app->argv[0], &best);
    look_in(app->directory, "", app->argv[0], &here);
    if (here.badness < best.badness)
        add_near(err, &here, "./");
    else if (best.path[0])
        add_near(err, &best, "");
    else
        add(err, "; write its path, or add its directory to PATH");
    if (spawn_env_value(app->envp, "MODULEPATH") || !best.path[0])
        add(err, "; if a module has it, write 'module load' before mprun");
}

/* A name that PATH does not have: the ranks' directory has it, or there is one like it. */
static void add_command(struct error *err, const struct app *app)
{
    char function[300];
    struct stat st;
    snprintf(function, sizeof(function), "BASH_FUNC_%.250s%%%%", app->argv[0]);
    if (spawn_env_value(app->envp, function))
        add(err, "; it is a function of bash, which only bash knows: mprun bash -c '...'");
    else if (find_file(app, &st) && S_ISDIR(st.st_mode))
        add(err, "; it is a directory here: name a program in it");
    else if (is_unmarked_file(app))
        add(err, "; it is here, but not marked as a program, and not in PATH: write './' before it "
                 "after chmod +x, or its interpreter");
    else
        add_near_command(err, app);
}

bool is_shell_command(const char *name)
{
    static const char *const commands[] = {
        ".",       ":",        "alias",  "case",  "cd",    "command", "eval",   "exec",  "exit",
        "export",  "function", "if",     "for",   "hash",  "limit",   "module", "read",  "readonly",
        "set",     "setenv",   "source", "times", "trap",  "type",    "ulimit", "umask", "unset",
        "unlimit", "unsetenv", "until",  "wait",  "while", NULL};
    return is_any_of(name, commands);
}

/* A name that was meant for a shell: 1; else 0. */
static int add_shells(struct error *err, const char *name)
{
    if (is_shell_command(name))
        add(err, "; it is a command of the shell and no program: write it on a line of its own "
                 "before mprun, or for each rank: mprun sh -c '...'");
    else if (strpbrk(name, "|;&<>"))
        add(err, "; what only a shell understands is for a shell: mprun sh -c '...'");
    else if (strchr(name, '$') || name[0] == '~')
        add(err, "; quotes kept the shell from replacing what stands there: write it without them");
    else if (strpbrk(name, " \t"))
        add(err, "; the program and its arguments are words of their own: write them without "
                 "quotes around all of them");
    else
        return 0;
    return 1;
}

static void add_missing(struct error *err, const struct app *app)
{
    if (add_shells(err, app->argv[0]))
        return;
    if (strchr(app->argv[0], '/'))
        add_near_path(err, app);
    else if (!strstr(err->text, "; the one in"))
        add_command(err, app);
}

/* ---- all ------------------------------------------------------------------------------------- */

void cannot_start_advise(struct spawn_failure *f, const struct app *app, const char *program,
                         struct error *err)
{
    if (f->step == SPAWN_EXEC && f->code == ENOENT && !program) {
        add_missing(err, app);
    } else if (f->step == SPAWN_EXEC && f->code == ENOENT) {
        if (add_missing_reader(err, program, app->directory))
            f->code = ENOEXEC;
    } else if (f->step == SPAWN_EXEC && f->code == EISDIR)
        add(err, "; name a program in it");
    else if (f->step == SPAWN_EXEC && f->code == EACCES && is_unmarked_file(app))
        add_unmarked(err, app);
    else if (f->step == SPAWN_EXEC && f->code == EACCES)
        add(err, "; the user may not execute it, or not enter one of its directories, or its file "
                 "system is mounted with 'noexec'");
    else if (f->step == SPAWN_EXEC && f->code == E2BIG)
        add(err,
            "; arguments and environment together are larger than the kernel takes (ulimit -s)");
    else if (f->step == SPAWN_EXEC && f->code == ENOEXEC && program)
        add_wrong_format(err, program, app->directory);
    else if (f->code == ENOMEM)
        add(err, "; a limit of memory may be too small for it");
    else if (f->step == SPAWN_FORK && f->code == EAGAIN)
        add(err, "; the user's limit of processes (ulimit -u) or the cgroup's is reached");
    else if (f->step == SPAWN_DIRECTORY && f->code == EACCES)
        add(err, "; the user may not enter it: name another directory with --wdir");
    else if (f->step == SPAWN_DIRECTORY && f->code == ENOTDIR)
        add(err, "; name a directory with --wdir");
    else if (f->step == SPAWN_DIRECTORY)
        add(err, "; every host needs it: start mprun in a directory that all of them have, or name "
                 "one with --wdir");
}

int cannot_start_try_directory(const struct app *app, struct spawn_failure *f, struct error *err)
{
    AUTO_FREE char *itself = text_format("%s/.", app->directory); /* of a file: ENOTDIR */
    if (access(itself, X_OK) == 0)
        return 0;
    *f = (struct spawn_failure){.step = SPAWN_DIRECTORY, .code = errno};
    error_errno(err, f->code, "change to directory '%s'", app->directory);
    cannot_start_advise(f, app, NULL, err);
    return -1;
}
