/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-ge-config.c - an execd's file about a task, and names of directories and jobs: what is taken
 * is safe to use as it is */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "containment/mprund-protocol.h"
#include "node-daemon/reader/ge-config.h"

/* In two pieces: where it is cut makes no difference. */
static int read_config(const uint8_t *data, size_t size, size_t cut, struct ge_config *ret,
                       struct error *err)
{
    struct ge_config_reader r = {.len = 0};
    ge_config_feed(&r, (const char *)data, cut);
    ge_config_feed(&r, (const char *)data + cut, size - cut);
    return ge_config_finish(&r, ret, err);
}

static void try_config(const uint8_t *data, size_t size)
{
    struct ge_config c = {.cores = 0}, again = {.cores = 0};
    struct error err = {.text = ""};
    int rc = read_config(data, size, size, &c, &err);
    MUST(read_config(data, size, size ? data[0] % size : 0, &again, NULL) == rc);
    MUST(!memcmp(&c, &again, sizeof(c)));
    if (rc < 0) {
        MUST(err.text[0] && strlen(err.text) < 600 && c.cores == 0);
        return;
    }
    MUST(memchr(c.owner, 0, sizeof(c.owner)) && !strchr(c.owner, '\n') && (c.owner[0] || c.twice));
    struct limits l = share_limits(&c.share, NULL);
    MUST(c.share.slots > 0 && c.share.slots <= 1000000 && c.cores == c.share.slots);
    MUST(strnlen(c.binding, sizeof(c.binding)) < sizeof(c.binding));
    MUST(strspn(c.binding, "0123456789,:") == strlen(c.binding));
    MUST(!l.memory.set || (l.memory.value > 0 && !(l.memory.value >> 62)));
    MUST(l.swap.set == l.memory.set && !(l.swap.value >> 62));
}

static void try_names(const char *text)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (!ge_is_job(text) && !ge_is_task(text) && !grant_is_job_name(text))
        return;
    MUST(text[0] && text[0] != '.' && text[0] != '-' && strlen(text) < 80);
    MUST(strspn(text, safe) == strlen(text));
    MUST(!ge_is_job(text) || grant_is_job_name(text));
}

static void try_request(const uint8_t *data, size_t size)
{
    struct grant_request r;
    memset(&r, 0x5a, sizeof(r));
    memcpy(&r, data, size < sizeof(r) ? size : sizeof(r));
    if (grant_request_fault(&r, size))
        return;
    MUST(size == sizeof(r) && memchr(r.job, 0, sizeof(r.job)) && memchr(r.task, 0, sizeof(r.task)));
    MUST(r.op == GRANT_ENTER || (!r.job[0] && !r.uid));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[65536];
    if (size >= sizeof(text))
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    try_config(data, size);
    try_names(text);
    try_request(data, size);
    return 0;
}
