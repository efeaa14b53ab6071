/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-number.c - counts, sizes, times and id sets from any text: a value in range that means the
 * same when it is written again, or a sentence */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/text/idset.h"
#include "common/text/number.h"

/* A refusal has a sentence of bounded length. */
static void check_error(const struct error *err)
{
    MUST(err->text[0] && strlen(err->text) < 400);
}

static void try_number(const char *text)
{
    struct error err = {.text = ""};
    int64_t v, again;
    char written[32];
    if (number_parse(text, "n", -1000000, INT64_MAX, &v, &err) < 0) {
        check_error(&err);
        return;
    }
    MUST(v >= -1000000);
    snprintf(written, sizeof(written), "%lld", (long long)v);
    MUST(number_parse(written, NULL, v, v, &again, &err) == 0 && again == v);
}

static void try_size(const char *text)
{
    struct error err = {.text = ""};
    uint64_t v;
    char written[32];
    if (size_parse(text, NULL, &v, &err) < 0) {
        check_error(&err);
        return;
    }
    MUST(v > 0 && v <= INT64_MAX);
    size_format(v, written, sizeof(written));
    MUST(strlen(written) <= 12);
}

static void try_duration(const char *text)
{
    struct error err = {.text = ""};
    double v, again;
    char written[64];
    if (duration_parse(text, NULL, &v, &err) < 0) {
        check_error(&err);
        return;
    }
    MUST(v >= 0 && v <= 1e9);
    snprintf(written, sizeof(written), "%.9f", v);
    MUST(duration_parse(written, NULL, &again, &err) == 0 && again - v < 1e-6 && v - again < 1e-6);
    duration_format(v, written, sizeof(written));
}

static void try_idset(const char *text)
{
    struct error err = {.text = ""};
    struct idset s = {0}, again = {0};
    if (idset_parse(text, &s, &err) < 0) {
        check_error(&err);
        MUST(idset_count(&s) == 0);
        return;
    }
    char *written = idset_format(&s);
    MUST(written && idset_parse(written, &again, &err) == 0 && idset_equal(&s, &again));
    free(written);
    idset_free(&s);
    idset_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    try_number(text);
    try_size(text);
    try_duration(text);
    try_idset(text);
    free(text);
    return 0;
}
