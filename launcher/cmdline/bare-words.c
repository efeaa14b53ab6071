/* SPDX-License-Identifier: BSD-3-Clause */
/* bare-words.c - words of a line that are no options: the program, or what is none */
#include <errno.h>
#include <string.h>

#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"

/* Text copied from a document often has a dash there that is none to us. */
static bool is_long_dash(const char *word)
{
    return strncmp(word, "\xe2\x80\x93", 3) == 0 || strncmp(word, "\xe2\x80\x94", 3) == 0 ||
           strncmp(word, "\xe2\x88\x92", 3) == 0;
}

/* "NAME=VALUE" */
static bool is_assignment(const char *word)
{
    size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return len > 0 && word[len] == '=' && !(word[0] >= '0' && word[0] <= '9');
}

/* Words that are surely no programs. */
int cmdline_check_program(const char *word, struct error *err)
{
    if (!*word)
        return error_set(err, EINVAL, "the name of the program is empty; is a variable unset?");
    if (is_long_dash(word))
        return error_set(
            err, EINVAL, "'%.60s' begins with a long dash, as documents have it; type '-%s%.60s'",
            word, is_long_dash(word + 3) ? "-" : "", word + (is_long_dash(word + 3) ? 6 : 3));
    if (strncmp(word, "\xe2\x80\x9c", 3) == 0 || strncmp(word, "\xe2\x80\x98", 3) == 0)
        return error_set(
            err, EINVAL,
            "'%.60s' begins with a quote as documents have it; type ' or \", or leave it out",
            word);
    if (word[strlen(word) - 1] == '\r')
        return error_set(err, EINVAL,
                         "'%.60s' ends with a carriage return, as lines of Windows do; 'dos2unix "
                         "SCRIPT' takes them out of a script",
                         word);
    if (strcmp(word, ":::") == 0)
        return error_set(err, EINVAL,
                         "':::' is for a queue; write 'mprun --queue ::: PROGRAM ::: ARGUMENT...'");
    if (word[strlen(word) - 1] == ':')
        return error_set(
            err, EINVAL,
            "'%.60s': a ':' between programs is a word of its own; put a blank before it", word);
    if (is_assignment(word))
        return error_set(err, EINVAL, "the program is '%.60s'; is '-x %.60s' meant?", word, word);
    if (word[strspn(word, "0123456789")] == 0)
        return error_set(err, EINVAL, "the program is '%.60s'; is '-n %.60s' meant?", word, word);
    return 0;
}

/* The last word of the line is the value of an option, and does not look like one: perhaps it is
 * the program. */
static const char *swallowed_program(int argc, char *const argv[])
{
    const char *last = argc > 2 ? argv[argc - 1] : "-", *option = argc > 2 ? argv[argc - 2] : "";
    bool is_value = option[0] == '-' && !strchr(option, '=');
    return is_value && !strpbrk(last, "=,:") && !(last[0] >= '0' && last[0] <= '9') &&
                   last[0] != '-'
               ? last
               : NULL;
}

/* end: where the program would end, of argc words */
int cmdline_no_program(const struct cmdline *c, int end, int argc, char *const argv[],
                       struct error *err)
{
    const char *swallowed = end == argc ? swallowed_program(argc, argv) : NULL;
    bool more = end < argc; /* another program follows */
    if (swallowed)
        return error_set(
            err, EINVAL,
            "no program is given: '%.60s' is the value of '%.60s'; write the program behind it",
            swallowed, argv[argc - 2]);
    if (c->napps > 1 || more)
        return error_set(err, EINVAL, "program %zu of the line is missing: nothing stands %s ':'",
                         c->napps, c->napps > 1 ? "behind" : "before");
    return error_set(err, EINVAL,
                     "no program is given; write 'mprun [OPTION...] PROGRAM [ARGUMENT...]', for "
                     "example 'mprun -n 4 ./solver'");
}

int cmdline_take_bare_hosts(struct cmdline *c, int argc, char *const argv[], int at,
                            struct error *err)
{
    uint32_t n = 0, ranks = c->reading.app->nranks;
    if (c->hosts.nlists || c->hosts.nfiles)
        return at;
    while (n < ranks && at + (int)n + 1 < argc && !strpbrk(argv[at + (int)n], "/=:"))
        n++;
    if (n > 0 && n < ranks)
        return error_set(err, EINVAL,
                         "%u ranks need as many hosts before the program, and '%.60s' is number %u "
                         "of the words there; name a host for each rank, or write '-hostfile FILE'",
                         ranks, argv[at + (int)n], n + 1);
    for (; n > 0; n--)
        if (cmdline_apply_host(c, argv[at++], err) < 0)
            return -1;
    return at;
}

bool cmdline_has_bare_variable(const struct cmdline *c, int argc, char *const argv[], int at)
{
    return c->dialect == DIALECT_MPIEXEC && at < argc && is_assignment(argv[at]);
}

bool cmdline_is_subcommand(const struct cmdline *c, int argc, char *const argv[], int at)
{
    return c->dialect == DIALECT_FLUX && c->napps <= 1 && at < argc &&
           (strcmp(argv[at], "run") == 0 ||
            (strcmp(argv[at], "mini") == 0 && argv[at + 1] && strcmp(argv[at + 1], "run") == 0));
}

/* Others start no ranks of this line. */
int cmdline_check_subcommand(const struct cmdline *c, int argc, char *const argv[], int at,
                             struct error *err)
{
    static const char *const others[] = {"submit", "bulksubmit", "batch", "alloc",     "exec",
                                         "proxy",  "start",      "jobs",  "multi-prog"};
    for (size_t i = 0;
         c->dialect == DIALECT_FLUX && at < argc && i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(argv[at], others[i]) == 0)
            return error_set(err, EINVAL,
                             "'flux %s' is not for mprun, which does what 'flux run' does; call "
                             "flux itself, or write 'run' instead",
                             others[i]);
    return 0;
}
