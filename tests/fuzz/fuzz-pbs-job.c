/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-pbs-job.c - pbs_mom's files of a job and of its tasks: what is taken is within them */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "node-daemon/reader/pbs-job-file.h"

static void check_text(const char *text, const char *bytes, size_t n)
{
    if (!text)
        return;
    MUST(text >= bytes && text < bytes + n);
    MUST(*text && memchr(text, 0, n - (size_t)(text - bytes)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {.text = ""};
    struct pbs_job job = {0};
    char *bytes = malloc(size ? size : 1); /* of its very size, for the sanitizer to see */
    MUST(bytes);
    memcpy(bytes, data, size);
    MUST(pbs_task_session(bytes, size) >= 0);
    if (pbs_job_read(bytes, size, &job, &err) < 0) {
        MUST(err.text[0] && !job.id);
    } else {
        check_text(job.id, bytes, size);
        check_text(job.owner, bytes, size);
        check_text(job.chunks, bytes, size);
        check_text(job.of_hosts, bytes, size);
        MUST(job.id);
        (void)pbs_job_share(&job, "n1");
    }
    free(bytes);
    return 0;
}
