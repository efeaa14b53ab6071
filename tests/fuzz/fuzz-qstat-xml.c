/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-qstat-xml.c - qstat's XML from any bytes: harmless after the first pass, then a job with
 * hosts and devices that are safe as words and a text that a shell takes as values only, or a
 * sentence */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "rm-adapters/gridengine/qstat-xml.h"
#include "rm-adapters/gridengine/qstat-job.h"
#include "rm-adapters/gridengine/job-resources.h"
#include "tools/mprsrc.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* What was cleaned is clean. */
static void try_clean(const char *bytes, size_t size)
{
    size_t n, again;
    char *once = gridengine_clean(bytes, size, &n, NULL);
    if (!once)
        return;
    char *twice = gridengine_clean(once, n, &again, NULL);
    MUST(strlen(once) == n && twice && again == n && memcmp(once, twice, n) == 0);
    free(once);
    free(twice);
}

/* Outside of quotes there is nothing but assignments, "unset -v" and "echo". */
static void check_shell(const char *text)
{
    int quoted = 0;
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            quoted = !quoted;
        else if (!quoted && p[0] == '\\')
            MUST(*++p == '\'');
        else if (!quoted)
            MUST(strchr(LETTERS "_=();- \n", *p));
    }
    MUST(!quoted);
}

static void try_shell(const struct gridengine_job *job, const struct resources *r)
{
    for (int i = 0; i < 6; i++) {
        struct mprsrc_options o = {.mode = (enum mprsrc_mode)(i % 3)};
        struct mprsrc_result result = {.options = &o, .job = job, .resources = r};
        char *text = NULL;
        size_t n = 0;
        if (i > 2 && r->nhosts == 0)
            break;
        result.host = i > 2 ? &r->hosts[r->nhosts - 1] : NULL;
        FILE *f = open_memstream(&text, &n);
        MUST(f);
        mprsrc_print_shell(f, &result);
        MUST(fclose(f) == 0);
        check_shell(text);
        free(text);
    }
}

static void check_devices(const struct resource_devices *d)
{
    MUST(!d->ids || d->count.set);
    MUST(!d->ids || strspn(d->ids, LETTERS "._:/+@- ") == strlen(d->ids));
    MUST(!d->ids || strchr(LETTERS, d->ids[0]));
}

static void check_resources(const struct resources *r)
{
    for (size_t i = 0; i < r->nhosts; i++) {
        MUST(r->hosts[i].slots > 0 && r->hosts[i].slots <= HOSTLIST_SLOTS_MAX);
        MUST(strspn(r->hosts[i].name, LETTERS ".-_@:%") == strlen(r->hosts[i].name));
        MUST(resources_host(r, r->hosts[i].name));
        check_devices(&r->hosts[i].gpu);
        check_devices(&r->hosts[i].phi);
    }
}

static void try_job(const char *bytes, size_t size, uint32_t task)
{
    struct gridengine_job job;
    struct resources r;
    struct error err = {.text = ""};
    if (gridengine_job_parse(bytes, size, task, &job, &err) < 0) {
        MUST(err.text[0] && err.code && strlen(err.text) < 600);
        return;
    }
    MUST(job.id > 0 && job.task > 0 && job.owner && job.name && job.pe);
    MUST(!task || job.task == task);
    if (resources_of_job(&job, &resource_names_default, &r, &err) == 0) {
        check_resources(&r);
        try_shell(&job, &r);
        resources_free(&r);
    } else {
        MUST(err.text[0] && strlen(err.text) < 600);
    }
    gridengine_job_free(&job);
}

static void try_tasks(const char *bytes, size_t size)
{
    struct hostlist hosts;
    struct error err = {.text = ""};
    if (gridengine_tasks_parse(bytes, size, 20, 1, &hosts, &err) == 0)
        hostlist_free(&hosts);
    else
        MUST(err.text[0] && strlen(err.text) < 600);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    try_clean(text, size);
    try_job(text, size, 0);
    try_job(text, size, 30);
    try_tasks(text, size);
    free(text);
    return 0;
}
