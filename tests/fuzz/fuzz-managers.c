/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-managers.c - what a pbs_mom can answer, and what srun can say: taken as a whole or refused
 *
 * The first byte of the input chooses which. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "rm-adapters/pbs/tm-message.h"
#include "rm-adapters/slurm/srun-words.h"

static void try_answers(const uint8_t *data, size_t size, bool is_framed)
{
    const struct tm_job job = {.id = "1", .cookie = "x", .is_framed = is_framed};
    struct buffer raw = {.data = NULL}, messages = {.data = NULL};
    struct tm_answer a;
    struct error e;
    ssize_t n;
    buffer_append(&raw, data, size);
    if (size > 0 && tm_unpack(&raw, &messages, &job, &e) == 0) {
        while ((n = tm_answer_read(&messages, &a, &e)) > 0) {
            MUST((size_t)n <= buffer_len(&messages));
            MUST(tm_event_kind(a.event) < TM_KINDS);
            if (a.n)
                MUST(a.data >= buffer_ptr(&messages) && a.data + a.n <= buffer_ptr(&messages) + n);
            buffer_consume(&messages, (size_t)n);
        }
    }
    buffer_free(&raw);
    buffer_free(&messages);
}

static void try_srun(const uint8_t *data, size_t size)
{
    char *line = fuzz_text(data, size);
    struct srun_line l;
    srun_line_read(line, &l);
    MUST(l.text >= line && l.text <= line + strlen(line));
    if (l.says == SRUN_TASKS_ENDED)
        MUST(l.status >= 0 && l.status <= 0xff00);
    (void)srun_text_has_name(l.text, "n1");
    idset_free(&l.tasks);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 3 == 0)
        try_srun(data + 1, size - 1);
    else
        try_answers(data + 1, size - 1, data[0] % 3 == 1);
    return 0;
}
