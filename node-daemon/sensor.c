/* SPDX-License-Identifier: BSD-3-Clause */
/* sensor.c - `mprund sensor`: a load sensor of Grid Engine's (sge_conf(5), load_sensor)
 *
 * The execd writes an empty line for each of its intervals, and reads lines HOST:NAME:VALUE between
 * "begin" and "end". What is not known is not said: with mprund_ok alone an administrator can tell
 * a daemon that does not answer. Numbers of the whole host are told to every user, so it does not
 * matter which one the execd runs its sensors as. */
#include "node-daemon/sensor.h"

#include <limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "node-daemon/status.h"

static void report_status(const char *host, const struct grant_answer *all)
{
    printf("%s:mprund_ok:1\n", host);
    printf("%s:mprund_stuck:%" PRIu32 "\n", host, all->stuck);
    if (all->cores_free != GRANT_UNKNOWN)
        printf("%s:free_cores:%" PRIu32 "\n", host, all->cores_free);
}

static int report(const char *host)
{
    struct status s;
    struct error e;
    printf("begin\n");
    if (status_ask(&s, &e) == 0) {
        report_status(host, &s.all);
        status_free(&s);
    } else {
        log_debug("%s", e.text);
        printf("%s:mprund_ok:0\n", host);
    }
    printf("end\n");
    return fflush(stdout) == 0 ? 0 : -1;
}

int sensor_run(const char *host)
{
    char own[HOST_NAME_MAX + 1] = "";
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    if (!host && gethostname(own, sizeof(own) - 1) == 0)
        host = own;
    while (getline(&line, &size, stdin) > 0) {
        if (!strcmp(line, "quit\n") || !strcmp(line, "quit"))
            return 0;
        if (report(host ? host : "") < 0)
            return -1;
    }
    return 0;
}
