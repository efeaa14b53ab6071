/* SPDX-License-Identifier: BSD-3-Clause */
/* tm-start.c - how long PBS's adapter takes until all tasks of a job are started: prints seconds
 *
 * The environment is that of a job; bench/pbs has a stand-in for pbs_mom make it. */
#include <stdio.h>

#include "rm-adapters/adapter.h"

struct count {
    struct loop *loop;
    size_t due;
    int code;
};

static void take_event(void *arg, size_t host, enum start_event event,
                       const struct start_channel *channel, int status, const struct error *err)
{
    struct count *c = arg;
    if (event != START_CHANNEL_OPEN) {
        fprintf(stderr, "tm-start: %s\n", err ? err->text : "a task has ended");
        c->code = 1;
        loop_stop(c->loop);
    } else if (--c->due == 0) {
        loop_stop(c->loop);
    }
}

static int make_preamble(void *arg, uint8_t ret[START_PREAMBLE_MAX], struct error *err)
{
    for (int i = 0; i < START_PREAMBLE_MAX / 2; i++)
        ret[i] = (uint8_t)i;
    return START_PREAMBLE_MAX / 2;
}

/* mprun starts all hosts itself, for one step. */
static bool is_not(void *arg, size_t host)
{
    return false;
}

static void words_were_said(void *arg, size_t host, const char *text, size_t n)
{
    fwrite(text, 1, n, stderr);
}

int main(void)
{
    static const struct host_request all;
    static char path[] = "/opt/mprun/libexec/mprun/mpstarter";
    char *const argv[] = {path, NULL};
    struct allocation a;
    struct error e;
    struct count c = {.loop = loop_create(&e)};
    if (!c.loop || rm_adapter_pbs.read_allocation(&all, &a, &e) < 0) {
        fprintf(stderr, "tm-start: %s\n", e.text);
        return 1;
    }
    const struct start_request request = {.loop = c.loop,
                                          .allocation = &a,
                                          .starter_path = path,
                                          .remote_path = path,
                                          .starter_argv = argv,
                                          .umask = -1,
                                          .event = take_event,
                                          .arg = &c,
                                          .preamble = make_preamble,
                                          .is_agent = is_not,
                                          .is_elsewhere = is_not,
                                          .said = words_were_said};
    c.due = a.nhosts;
    double begin = loop_now();
    struct starting *s = rm_adapter_pbs.start(&request, &e);
    if (!s) {
        fprintf(stderr, "tm-start: %s\n", e.text);
        return 1;
    }
    loop_run(c.loop);
    printf("%.4f\n", loop_now() - begin);
    rm_adapter_pbs.destroy(s);
    allocation_free(&a);
    loop_destroy(c.loop);
    return c.code;
}
