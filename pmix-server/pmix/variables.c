/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/variables.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <pmix.h>
#include <pmix_server.h>

#include "common/log.h"
#include "common/must.h"
#include "common/path.h"
#include "pmix-server/pmix/library.h"
#include "pmix-server/server.h"

/* Open MPI 4 needs these, too, to know that it was started by a launcher: without the first it
 * takes every rank for a world of its own, without the second it may bind ranks itself. */
static const char *const open_mpi_env[] = {"OMPI_MCA_schizo=^orte",
                                           "OMPI_MCA_orte_externally_bound=1"};
enum { OPEN_MPI_ENV = sizeof(open_mpi_env) / sizeof(open_mpi_env[0]) };

const char **variables_of_ranks(char *const env[])
{
    size_t n = 0, k = 0;
    while (env && env[n])
        n++;
    const char **list = must(calloc(n + OPEN_MPI_ENV + 1, sizeof(*list)));
    for (size_t i = 0; i < n; i++)
        if (strncmp(env[i], "PMIX_RANK=", 10))
            list[k++] = env[i];
    for (size_t i = 0; n && i < OPEN_MPI_ENV; i++)
        list[k++] = open_mpi_env[i];
    return list;
}

/* ---- what ranks were given before ------------------------------------------------------------ */

static const char *value_in(const char *const list[], const char *variable)
{
    size_t n = strcspn(variable, "=") + 1;
    for (; *list; list++)
        if (strncmp(*list, variable, n) == 0)
            return *list + n;
    return NULL;
}

int variables_compare(char *const given[], const char *const real[], struct error *err)
{
    for (; *given; given++) {
        const char *has = strchr(*given, '=') + 1, *is = value_in(real, *given);
        if (!is || strcmp(is, has) != 0)
            return error_set(err, EINVAL,
                             "the PMIx library is set up differently from when mprun was built: it "
                             "sets %.*s%s where ranks have '%s'; write mprun's file anew with "
                             "'mppmi --variables > pmix-variables' in mppmi's directory",
                             (int)(has - *given), *given, is ? is : "(nothing)", has);
    }
    return 0;
}

/* ---- writing them ---------------------------------------------------------------------------- */

static void print_replacing(const char *text, const char *what, const char *by)
{
    const char *at = strstr(text, what);
    for (; at; text = at + strlen(what), at = strstr(text, what))
        printf("%.*s%s", (int)(at - text), text, by);
    printf("%s", text);
}

static void print_variable(const char *v, const char *directory)
{
    static const char address[] = "tcp4://127.0.0.1:";
    const char *at = strstr(v, address);
    if (at)
        printf("%.*s%s@PORT@", (int)(at - v), v, address);
    else
        print_replacing(v, directory, "@DIRECTORY@");
    putchar('\n');
}

/* Prints the library's path as the dynamic linker has found it. */
static int print_library(struct error *err)
{
    Dl_info of;
    struct stat st;
    if (!dladdr((void *)(uintptr_t)PMIx_server_init, &of) || stat(of.dli_fname, &st) < 0)
        return error_errno(err, errno, "find the PMIx library");
    printf("library %s %lld %lld\n", of.dli_fname, (long long)st.st_size, (long long)st.st_mtime);
    return 0;
}

static int print_all(struct server *s, struct error *err)
{
    pmix_proc_t proc;
    char **env = NULL;
    PMIX_LOAD_PROCID(&proc, "@NSPACE@", 0);
    library_be_foreseeable();
    if (print_library(err) < 0 || library_start(NULL, s, (ProtobufCBinaryData){0}, err) < 0)
        return -1;
    pmix_status_t rc = PMIx_server_register_nspace(proc.nspace, 1, NULL, 0, NULL, NULL);
    if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED)
        rc = PMIx_server_setup_fork(&proc, &env);
    if (rc != PMIX_SUCCESS)
        return error_set(err, EIO, "make the environment of a rank: %s", PMIx_Error_string(rc));
    const char **list = variables_of_ranks(env);
    for (size_t i = 0; list[i]; i++)
        print_variable(list[i], s->directory);
    free(list);
    return 0;
}

int variables_print(void)
{
    struct error err = {.code = 0};
    char directory[] = "/tmp/mppmi-variables.XXXXXX";
    struct server s = {.directory = directory, .hostname = (char *)"@HOST@"};
    struct hwloc_topology *topology = library_prepare(&err);
    if (!topology || !mkdtemp(directory) || print_all(&s, &err) < 0) {
        log_error("%s", topology && !err.text[0] ? strerror(errno) : err.text);
        return 1;
    }
    path_remove_tree(directory, &err);
    return fflush(stdout) != 0;
}
