/* SPDX-License-Identifier: BSD-3-Clause */
/* stranger.c - tries to become a PMIx client, or a tool, of the server that the environment names
 *
 *     stranger client|tool|named-tool
 *
 * Says what the library says, and exits with 0 when it got anywhere, 1 when not. (A tool that was
 * turned away is told "SUCCESS" by PMIx 4.2: what it is worth shows when it asks.) It never
 * finalizes, and it calls abort, so that a server that lets it in has something to notice. */
#include <pmix.h>
#include <pmix_tool.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;

static int say(const char *what, pmix_status_t rc)
{
    printf("%s: %s\n", what, PMIx_Error_string(rc));
    fflush(stdout);
    return rc == PMIX_SUCCESS;
}

static int ask(const char *key)
{
    char *keys[] = {(char *)key, NULL};
    pmix_info_t *results = NULL;
    size_t n = 0;
    pmix_query_t q;
    PMIX_QUERY_CONSTRUCT(&q);
    q.keys = keys;
    return say(key, PMIx_Query_info(&q, 1, &results, &n));
}

static int tool(const char *name)
{
    pmix_info_t info[2];
    pmix_rank_t rank = 0;
    PMIX_INFO_LOAD(&info[0], PMIX_TOOL_NSPACE, name, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    if (!say("PMIx_tool_init", PMIx_tool_init(&me, info, name ? 2 : 0)))
        return 0;
    int got = ask(PMIX_QUERY_NAMESPACES) + ask(PMIX_QUERY_LOCAL_PROC_TABLE) + ask(PMIX_JOB_SIZE);
    say("PMIx_Abort", PMIx_Abort(9, "a stranger", NULL, 0));
    return got > 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "client"))
        _exit(!say("PMIx_Init", PMIx_Init(&me, NULL, 0)));
    _exit(!tool(!strcmp(how, "named-tool") ? "guess" : NULL));
}
