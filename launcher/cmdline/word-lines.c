/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/cmdline/word-lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/text/words.h"

enum { FILE_MAX = 4 << 20 };

struct reader {
    const char *path;
    unsigned line;
    int (*take)(void *arg, char **words, struct error *err);
    void (*wrong)(void *arg, const struct error *why); /* NULL: the first mistake ends it */
    void *arg;
};

/* A line, with those that continue it. */
static int take_line(const struct reader *r, const char *text, struct error *err)
{
    if (!text[strspn(text, " \t\r")] || text[strspn(text, " \t")] == '#')
        return 0;
    char **words = words_split(text, err);
    int rc = words ? r->take(r->arg, words, err) : -1;
    words_free(words);
    return rc < 0 ? error_context(err, "file '%.200s' line %u", r->path, r->line) : 0;
}

static int take_lines(struct reader *r, char *text, struct error *err)
{
    for (char *at = text; *at;) {
        char *end = at;
        unsigned lines = 1;
        while ((end = strchrnul(end, '\n')) > at && end[-1] == '\\' && *end) {
            end[-1] = ' ';
            *end++ = ' ';
            lines++;
        }
        bool last = !*end;
        *end = 0;
        if (end > at && end[-1] == '\r')
            end[-1] = 0; /* a line of Windows */
        r->line++;
        if (take_line(r, at, err) < 0) {
            if (!r->wrong)
                return -1;
            r->wrong(r->arg, err);
        }
        r->line += lines - 1;
        at = last ? end : end + 1;
    }
    return 0;
}

int word_lines_check(const char *path, int (*take)(void *arg, char **words, struct error *err),
                     void (*wrong)(void *arg, const struct error *why), void *arg,
                     struct error *err)
{
    struct reader r = {.path = path, .take = take, .wrong = wrong, .arg = arg};
    AUTO_FREE char *text = file_slurp_at(AT_FDCWD, path, FILE_MAX, NULL);
    return text ? take_lines(&r, text, err) : error_errno(err, errno, "read '%.200s'", path);
}

int word_lines_read(const char *path, int (*take)(void *arg, char **words, struct error *err),
                    void *arg, struct error *err)
{
    return word_lines_check(path, take, NULL, arg, err);
}
