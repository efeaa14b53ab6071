/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-ge-config.c - an execd's file about a task, and names of directories and jobs: what is taken
 * is safe to use as it is */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "containment/mprund-protocol.h"
#include "node-daemon/ge-config.h"

static void try_config(const char *text)
{
    struct ge_config c = {.group = 0};
    struct error err = {.text = ""};
    if (ge_config_parse(text, &c, &err) < 0) {
        MUST(err.text[0] && strlen(err.text) < 600 && c.group == 0);
        return;
    }
    MUST(c.group > 0 && c.group < UINT32_MAX);
    MUST(c.owner[0] && memchr(c.owner, 0, sizeof(c.owner)) && !strchr(c.owner, '\n'));
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
    try_config(text);
    try_names(text);
    try_request(data, size);
    return 0;
}
