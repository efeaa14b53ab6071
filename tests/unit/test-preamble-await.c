/* SPDX-License-Identifier: BSD-3-Clause */
/* test-preamble-await.c - the word is found in pieces of any size, and not a letter of anything
 * else is lost
 */
#include "wire/start-channel/preamble.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What is passed on of text that comes in pieces of so many bytes; returns how often it is found.
 */
static int passes(const char *word, const char *text, size_t piece, char *out)
{
    struct await a = {.word = word};
    size_t n = strlen(text), length = 0;
    int times = 0;
    for (size_t at = 0; at < n; at += piece) {
        int found;
        length += await_take(&a, text + at, n - at < piece ? n - at : piece, out + length, &found);
        times += found;
        if (found)
            assert_null(a.word);
    }
    length += await_rest(&a, out + length);
    out[length] = 0;
    return times;
}

static void in_all_pieces(const char *word, const char *text, int times, const char *rest)
{
    char out[1000];
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        assert_int_equal(passes(word, text, piece, out), times);
        assert_string_equal(out, rest);
    }
}

static void is_taken_out(void **state)
{
    static const char *const words[] = {PREAMBLE_READY, PREAMBLE_ASK};
    char text[2 * AWAIT_MAX + 20], rest[AWAIT_MAX + 20];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t n = strlen(words[i]);
        assert_true(n < AWAIT_MAX);
        const char *again = strchr(words[i] + 1, words[i][0]);
        assert_true(!again || again == words[i] + n - 1); /* as preamble.h wants it */
        in_all_pieces(words[i], words[i], 1, "");
        for (size_t k = 0; k < n - 1; k++) { /* behind any beginning of itself */
            snprintf(text, sizeof(text), "a<b\n%.*s%sbehind", (int)k, words[i], words[i]);
            snprintf(rest, sizeof(rest), "a<b\n%.*sbehind", (int)k, words[i]);
            in_all_pieces(words[i], text, 1, rest);
        }
    }
}

static void is_not_there(void **state)
{
    in_all_pieces(PREAMBLE_READY, "Welcome to <mprun-start-rea", 0, "Welcome to <mprun-start-rea");
    in_all_pieces(PREAMBLE_READY, "<<mprun-start-ready-2>", 0, "<<mprun-start-ready-2>");
    in_all_pieces(PREAMBLE_ASK, "\n\n\nmprun-start-channel-1", 0, "\n\n\nmprun-start-channel-1");
    in_all_pieces(NULL, PREAMBLE_READY, 0, PREAMBLE_READY);
}

static void is_found_once(void **state)
{
    in_all_pieces(PREAMBLE_READY, PREAMBLE_READY PREAMBLE_READY, 1, PREAMBLE_READY);
}

/* The shepherd of a task of Grid Engine keeps less for 10 ms, and the starter awaits an answer. */
static void is_not_held_back(void **state)
{
    assert_true(strlen(PREAMBLE_READY) >= 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_taken_out),
        cmocka_unit_test(is_not_there),
        cmocka_unit_test(is_found_once),
        cmocka_unit_test(is_not_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
