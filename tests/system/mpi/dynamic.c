/* SPDX-License-Identifier: BSD-3-Clause */
/* dynamic.c - processes that meet later: names, ports, spawned worlds
 *     dynamic ports                 rank 0 accepts the last rank at a published name
 *     dynamic lookup NAME           looks up a name that nobody has published
 *     dynamic spawn N [KEY=VALUE]   rank 0's world spawns N children; everybody adds up everybody
 *     dynamic again N               two spawns fail, then one of N works
 *     dynamic many TIMES N          the same again and again
 *     dynamic deep LEVELS           each world spawns the next one
 *     dynamic multiple              two programs at once
 *     dynamic orphan|die N          N children live on alone, or the last of them fails
 *
 * "self" is what is spawned unless KEY program= names another file. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "add-up.h"

static int rank, size;
static char *self;

static int error_class(int code)
{
    int class = MPI_ERR_UNKNOWN;
    MPI_Error_class(code, &class);
    return class;
}

/* ---- children -------------------------------------------------------------------------------- */

static int child(MPI_Comm parent, int argc, char **argv)
{
    int remote, *app = NULL, has_app = 0;
    char here[4096] = "";
    MPI_Comm_remote_size(parent, &remote);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &has_app);
    if (!getcwd(here, sizeof(here)))
        return 1;
    int all = add_up(parent, 1);
    printf("child %d of %d parents %d all %d app %d in %s var '%s' args %d world %s host %s\n",
           rank, size, remote, all, has_app ? *app : -1, here,
           getenv("DYNAMIC") ? getenv("DYNAMIC") : "", argc - 2, getenv("MPRUN_WORLD"),
           getenv("MPRUN_HOST_INDEX"));
    fflush(stdout);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

/* Lives on when its parents have ended. */
static int orphan(MPI_Comm parent)
{
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
    sleep(2);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("orphan %d of %d\n", rank, size);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

static int die(MPI_Comm parent)
{
    MPI_Barrier(parent);
    if (rank == size - 1)
        _exit(3);
    MPI_Barrier(parent);
    MPI_Finalize();
    return 0;
}

static int run_child(MPI_Comm parent, int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "orphan"))
        return orphan(parent);
    if (!strcmp(how, "die"))
        return die(parent);
    return child(parent, argc, argv);
}

/* ---- parents --------------------------------------------------------------------------------- */

static MPI_Info make_info(int argc, char **argv, const char **program)
{
    MPI_Info info = MPI_INFO_NULL;
    for (int i = 0; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        *equals = 0;
        if (!strcmp(argv[i], "program")) {
            *program = equals + 1;
            continue;
        }
        if (info == MPI_INFO_NULL)
            MPI_Info_create(&info);
        MPI_Info_set(info, argv[i], equals + 1);
    }
    return info;
}

static int spawn(int n, int argc, char **argv)
{
    const char *program = self;
    MPI_Info info = make_info(argc, argv, &program);
    char *args[] = {(char *)"child", NULL};
    MPI_Comm between;
    int codes[256] = {0};
    int rc = MPI_Comm_spawn(program, args, n, info, 0, MPI_COMM_WORLD, &between, codes);
    if (rc != MPI_SUCCESS) {
        printf("rank %d: %s\n", rank, error_class(rc) == MPI_ERR_SPAWN ? "MPI_ERR_SPAWN" : "error");
        fflush(stdout);
        return 0;
    }
    int all = add_up(between, 0);
    printf("parent %d of %d all %d\n", rank, size, all);
    fflush(stdout);
    MPI_Comm_disconnect(&between);
    return 0;
}

static int again(int n)
{
    char nothing[] = "program=./nothing", *args[] = {nothing};
    for (int i = 0; i < 2; i++, strcpy(nothing, "program=./nothing"))
        spawn(1, 1, args);
    return spawn(n, 0, NULL);
}

static int many(int times, int n)
{
    char *args[] = {(char *)"quiet-child", NULL};
    for (int i = 0; i < times; i++) {
        MPI_Comm between;
        MPI_Comm_spawn(self, args, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                       MPI_ERRCODES_IGNORE);
        if (add_up(between, 0) != size + n)
            return 1;
        MPI_Comm_disconnect(&between);
    }
    printf("parent %d spawned %d times\n", rank, times);
    return 0;
}

static int deep(int levels, MPI_Comm parent)
{
    char level[16];
    char *args[] = {(char *)"deep", level, NULL};
    if (levels > 0) {
        MPI_Comm between;
        snprintf(level, sizeof(level), "%d", levels - 1);
        MPI_Comm_spawn(self, args, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                       MPI_ERRCODES_IGNORE);
        add_up(between, 0);
        MPI_Comm_disconnect(&between);
    }
    printf("level %d world %s\n", levels, getenv("MPRUN_WORLD"));
    fflush(stdout);
    if (parent != MPI_COMM_NULL) {
        add_up(parent, 1);
        MPI_Comm_disconnect(&parent);
    }
    return 0;
}

static int multiple(void)
{
    char *commands[] = {self, self};
    char *one[] = {(char *)"child", NULL}, *two[] = {(char *)"child", (char *)"more", NULL};
    char **args[] = {one, two};
    int n[] = {1, 2};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm between;
    MPI_Comm_spawn_multiple(2, commands, args, n, infos, 0, MPI_COMM_WORLD, &between,
                            MPI_ERRCODES_IGNORE);
    printf("parent %d of %d all %d\n", rank, size, add_up(between, 0));
    fflush(stdout);
    MPI_Comm_disconnect(&between);
    return 0;
}

/* Children that do as `how` says, and a parent that waits for the first barrier only. */
static int leave_alone(const char *how, int n)
{
    char *args[] = {(char *)how, NULL};
    MPI_Comm between;
    MPI_Comm_spawn(self, args, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    MPI_Barrier(between);
    if (!strcmp(how, "die"))
        MPI_Barrier(between);
    MPI_Comm_disconnect(&between);
    printf("parent %d leaves\n", rank);
    return 0;
}

/* ---- names and ports ------------------------------------------------------------------------- */

static int ports(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm between;
    int all;
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("dynamic", MPI_INFO_NULL, port);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
        all = add_up(between, 0);
        MPI_Comm_disconnect(&between);
        MPI_Unpublish_name("dynamic", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != size - 1)
            return 0;
        MPI_Lookup_name("dynamic", MPI_INFO_NULL, port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
        all = add_up(between, 1);
        MPI_Comm_disconnect(&between);
    }
    printf("rank %d connected %d\n", rank, all);
    return 0;
}

static int lookup(const char *name)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rc = MPI_Lookup_name(name, MPI_INFO_NULL, port);
    printf("rank %d: %s\n", rank, rc == MPI_SUCCESS ? port : "no such name");
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    const char *how = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0, rc = 2;
    self = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_parent(&parent);
    if (!strcmp(how, "deep")) {
        rc = deep(n, parent);
    } else if (!strcmp(how, "quiet-child")) {
        add_up(parent, 1);
        MPI_Comm_disconnect(&parent);
        rc = 0;
    } else if (parent != MPI_COMM_NULL) {
        return run_child(parent, argc, argv);
    } else if (!strcmp(how, "ports")) {
        rc = ports();
    } else if (!strcmp(how, "lookup")) {
        rc = lookup(argv[2]);
    } else if (!strcmp(how, "spawn")) {
        rc = spawn(n, argc - 3, argv + 3);
    } else if (!strcmp(how, "again")) {
        rc = again(n);
    } else if (!strcmp(how, "many")) {
        rc = many(n, atoi(argv[3]));
    } else if (!strcmp(how, "multiple")) {
        rc = multiple();
    } else if (!strcmp(how, "orphan") || !strcmp(how, "die")) {
        rc = leave_alone(how, n);
    }
    MPI_Finalize();
    return rc;
}
