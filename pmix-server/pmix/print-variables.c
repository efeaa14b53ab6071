/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/print-variables.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <pmix.h>

#include "common/log.h"
#include "common/files/path.h"
#include "pmix-server/pmix/library.h"
#include "pmix-server/pmix/variables.h"
#include "pmix-server/server.h"
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

int print_variables(void)
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
