/* SPDX-License-Identifier: BSD-3-Clause */
/* test-hostlist.c - hosts with slots from --host and from files in four syntaxes */
#include "rm-adapters/hosts/hostlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* "n1:2/4 n2:1": names, slots and bounds as they were gathered */
static char *text_of(const struct hostlist *l)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    for (size_t i = 0; i < l->allocation.nhosts; i++) {
        const struct alloc_host *h = &l->allocation.hosts[i];
        fprintf(f, "%s%s:%u", i ? " " : "", h->name, h->slots.value);
        if (h->max_slots)
            fprintf(f, "/%u", h->max_slots);
        if (h->core_list)
            fprintf(f, "(%s)", h->core_list);
    }
    fclose(f);
    return text;
}

struct example {
    const char *input;
    const char *hosts; /* NULL: refused */
    const char *says;  /* part of the sentence */
    int stated;
};

static const struct example lists[] = {
    {"a", "a:1", NULL, 0},
    {"a,b", "a:1 b:1", NULL, 0},
    {"a:2,b", "a:2 b:1", NULL, 1},
    {"a,a,b", "a:2 b:1", NULL, 1},
    {"a1.x,A1.X", "a1.x:2", NULL, 1},
    {"b,a:3,b:2,a", "b:3 a:4", NULL, 1},
    {"user@a.b-c_d:1", "user@a.b-c_d:1", NULL, 1},
    {"10.0.0.1:4,[::1]:2,[fe80::1%eth0]", "10.0.0.1:4 ::1:2 fe80::1%eth0:1", NULL, 1},
    {"a:1048576", "a:1048576", NULL, 1},
    {"", NULL, "name of a host is missing", 0},
    {"a,", NULL, "name of a host is missing", 0},
    {",a", NULL, "name of a host is missing", 0},
    {":2", NULL, "name of a host is missing", 0},
    {"a:", NULL, "'' is empty", 0},
    {"a:0", NULL, "too small", 0},
    {"a:-1", NULL, "too small", 0},
    {"a:1048577", NULL, "too large", 0},
    {"a:1048576,a", NULL, "1048577 slots", 0},
    {"a:2:3", NULL, "several ':'", 0},
    {"::1", NULL, "in brackets", 0},
    {"a:*", NULL, "write their number", 0},
    {"a:auto", NULL, "write their number", 0},
    {"-a", NULL, "no name of a host", 0},
    {"@a", NULL, "no name of a host", 0},
    {"a@", NULL, "no name of a host", 0},
    {"a b", NULL, "'a b': hosts are separated by commas", 0},
    {"a;b", NULL, "no name of a host", 0},
    {"$(a)", NULL, "no name of a host", 0},
    {"[-a]", NULL, "no name of a host", 0},
    {"[]", NULL, "no name of a host", 0},
    /* ranges */
    {"n[1-3]", "n1:1 n2:1 n3:1", NULL, 0},
    {"n[08-10,20]:2,m", "n08:2 n09:2 n10:2 n20:2 m:1", NULL, 1},
    {"n[9-11].x-ib", "n9.x-ib:1 n10.x-ib:1 n11.x-ib:1", NULL, 0},
    {"r[1-2]n[3,05]", "r1n3:1 r1n05:1 r2n3:1 r2n05:1", NULL, 0},
    {"me@n[1-2],n2,n[1-2]", "me@n1:1 me@n2:1 n2:2 n1:1", NULL, 1},
    {"[7-8],[::1]", "7:1 8:1 ::1:1", NULL, 0},
    {"n[5]", "n5:1", NULL, 0},
    {"n[3-1]", NULL, "'n[3-1]': the range 3-1 counts down", 0},
    {"n[1-", NULL, "'n[1-': the ']' for its '[' is missing", 0},
    {"n[1-2,b", NULL, "the ']' for its '[' is missing", 0},
    {"n[]", NULL, "'n[]': '' is no number and no range", 0},
    {"n[1-2,]", NULL, "'' is no number", 0},
    {"n[a-c]", NULL, "'a-c' is no number and no range such as 1-4", 0},
    {"n[1-2-3]", NULL, "'1-2-3' is no number", 0},
    {"n[-3]", NULL, "'-3' is no number", 0},
    {"n[1 -3]", NULL, "'1 -3' is no number", 0},
    {"n[[1-2]]", NULL, "'[1-2' is no number", 0},
    {"n[1-2]]", NULL, "'n1]' is no name of a host", 0},
    {"n[1234567890]", NULL, "'1234567890' is no number", 0},
    {"n[0-65536]", NULL, "the range 0-65536 is too long", 0},
    {"n[0-999][0-99]", NULL, "'n[0-999][0-99]': it stands for more than 65536 hosts", 0},
    {"n[1][1][1][1][1]", NULL, "more than four ranges", 0},
    {"n[1-2]:0", NULL, "too small", 0},
    {"-n[1-2]", NULL, "no name of a host", 0},
};

static const struct example files[] = {
    /* names alone */
    {"a\nb\n", "a:1 b:1", NULL, 0},
    {"a\nb", "a:1 b:1", NULL, 0},
    {"a\r\nb\r\n", "a:1 b:1", NULL, 0},
    {"\xef\xbb\xbf"
     "a\nb\n",
     "a:1 b:1", NULL, 0},
    {"a b c\n", NULL,
     "'b' is not understood; expected is 'slots=N' or 'max_slots=N'; each host has a line", 0},
    {"\n# x\n  a # y\n\t\nb#z\n", "a:1 b:1", NULL, 0},
    {"a\na\nb\na\n", "a:3 b:1", NULL, 1},
    /* Open MPI */
    {"a slots=2\nb slots = 3\nc slots= 4\nd slots =5\n", "a:2 b:3 c:4 d:5", NULL, 1},
    {"a slots=2 max_slots=4\nb max-slots=3\nc\n", "a:2/4 b:1/3 c:1", NULL, 1},
    {"a cpus=2\na count=1\n", "a:3", NULL, 1},
    {"a slots=1 max_slots=2\na slots=1 max_slots=2\n", "a:2/4", NULL, 1},
    {"a slots=1 max_slots=2\na slots=1\n", "a:2", NULL, 1},
    {"a slots=\n", NULL, "line 1: slots: '' is empty", 0},
    {"a slots\n", NULL, "line 1: 'slots' is not understood", 0},
    {"a slots=2 slots=3\n", NULL, "line 1: 'slots=' is given twice", 0},
    {"a slots=2 max_slots=1\n", NULL, "line 1: max_slots=1 is less than its 2 slots", 0},
    {"a username=me\n", NULL, "USER@HOST", 0},
    {"a =2\n", NULL, "line 1: '=' is not understood", 0},
    /* Hydra */
    {"a:2\nb\nc:1\n", "a:2 b:1 c:1", NULL, 1},
    {"[::1]:2\n[::2]\n", "::1:2 ::2:1", NULL, 1},
    {"a:2 ifname=ib0\n", NULL, "line 1: 'ifname=ib0' behind a host with ':'", 0},
    /* ranges */
    {"n[1-2]\nm\n", "n1:1 n2:1 m:1", NULL, 0},
    {"n[1-2] slots=2 max_slots=4\n", "n1:2/4 n2:2/4", NULL, 1},
    {"n[1-2,4]:3\n", "n1:3 n2:3 n4:3", NULL, 1},
    {"a\nn[2-1]\n", NULL, "line 2: 'n[2-1]': the range 2-1 counts down", 0},
    /* Grid Engine */
    {"a 2 q@a UNDEFINED\nb 1 q@b 0,0:0,1\n", "a:2 b:1(0,0:0,1)", NULL, 1},
    {"a 2 q@a <NULL>\na 2 r@a <NULL>\n", "a:4", NULL, 1},
    {"a 1 q@a 0,0\nb 1 q@b 1,11\na 2 r@a 0,1:1,0\n", "a:3(0,0:0,1:1,0) b:1(1,11)", NULL, 1},
    {"a 1 q@a 0\n", NULL, "line 1: '0' are no cores; expected is 'socket,core:socket,core'", 0},
    {"a 1 q@a 0,0:\n", NULL, "line 1: '0,0:' are no cores", 0},
    {"a 1 q@a 0,0,1\n", NULL, "line 1: '0,0,1' are no cores", 0},
    {"a 1 q@a 0:0\n", NULL, "line 1: '0:0' are no cores", 0},
    {"a 1 q@a ,0\n", NULL, "line 1: ',0' are no cores", 0},
    {"a 1 q@a 123456,0\n", NULL, "line 1: '123456,0' are no cores", 0},
    {"a 1 q@a S0\n", NULL, "line 1: 'S0' are no cores", 0},
    {"a 2 q\n", NULL, "line 1: it has less than the four columns", 0},
    {"a 2 q 0,0 d\n", NULL, "line 1: it has more than the four columns", 0},
    {"a 2\n", NULL, "line 1: '2' stands alone; write 'a slots=2' or 'a:2'", 0},
    {"a 2x q 0,0\n", NULL, "line 1: slots: '2x' is not a number", 0},
    /* one syntax */
    {"a\nb:2\nc slots=2\n", NULL, "line 3: it is in Open MPI's", 0},
    {"a slots=1\nb 1 q 0,0\n", NULL, "line 2: it is in Grid Engine's", 0},
    {"a 1 q 0,0\n\nb:1\n", NULL, "line 3: it is in Hydra's", 0},
    /* no file of hosts */
    {"", NULL, "names no host: it is empty", 0},
    {"# a\n\n", NULL, "but for comments and blanks", 0},
    {"a\n\033[2J\n", NULL, "line 2: '\\x1b[2J' is no name", 0},
    {"PATH=/bin\n", NULL, "line 1: 'PATH=/bin' is no name", 0},
};

static void check(const struct example *e, int rc, struct hostlist *l, const struct error *err)
{
    if (e->hosts) {
        if (rc < 0)
            fail_msg("'%s': %s", e->input, err->text);
        char *text = text_of(l);
        assert_string_equal(text, e->hosts);
        free(text);
        assert_int_equal(l->stated, e->stated);
    } else if (rc == 0 || !strstr(err->text, e->says)) {
        fail_msg("'%s' was answered '%s', not '%s'", e->input, rc ? err->text : "yes", e->says);
    }
    hostlist_free(l);
}

static void a_range_may_be_long_and_names_may_not(void **state)
{
    struct hostlist l = {.stated = 0};
    struct error err;
    char name[600];
    assert_int_equal(hostlist_parse("n[00000-65535]", &l, &err), 0);
    assert_int_equal(l.allocation.nhosts, 65536);
    assert_string_equal(l.allocation.hosts[65535].name, "n65535");
    assert_string_equal(l.allocation.hosts[9].name, "n00009");
    assert_int_equal(hostlist_parse("one-more", &l, &err), -1);
    hostlist_free(&l);
    memset(name, 'x', 253);
    snprintf(name + 253, sizeof(name) - 253, "[1-10]");
    assert_int_equal(hostlist_parse(name, &l, &err), 0);
    hostlist_free(&l);
    snprintf(name + 253, sizeof(name) - 253, "[1-10]yy");
    assert_int_equal(hostlist_parse(name, &l, &err), -1);
    assert_non_null(strstr(err.text, "a name of it is longer than 255 bytes"));
    hostlist_free(&l);
}

static void lists_of_the_command_line(void **state)
{
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct hostlist l = {.stated = 0};
        struct error err = {.text = ""};
        check(&lists[i], hostlist_parse(lists[i].input, &l, &err), &l, &err);
    }
}

static void files_in_each_syntax(void **state)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct hostlist l = {.stated = 0};
        struct error err = {.text = ""};
        int rc = hostfile_parse(files[i].input, strlen(files[i].input), "dir/hosts", &l, &err);
        if (rc < 0)
            assert_non_null(strstr(err.text, "host file 'dir/hosts'"));
        check(&files[i], rc, &l, &err);
    }
}

static void every_number_has_its_source(void **state)
{
    static const char text[] = "# two\na slots=2\nb\na slots=1\n";
    struct hostlist l = {.stated = 0};
    struct error err;
    assert_int_equal(hostfile_parse(text, strlen(text), "some/where/hosts", &l, &err), 0);
    assert_string_equal(l.allocation.hosts[0].slots.source, "host file 'hosts' line 2, ...");
    assert_string_equal(l.allocation.hosts[1].slots.source, "host file 'hosts' line 3");
    assert_int_equal(hostlist_parse("c,d:2", &l, &err), 0);
    assert_string_equal(hostlist_find(&l, "c")->slots.source, HOSTLIST_NO_NUMBER);
    assert_string_equal(hostlist_find(&l, "d")->slots.source, "--host");
    assert_null(hostlist_find(&l, "e"));
    hostlist_free(&l);
}

static void many_hosts_are_found_again_and_too_many_refused(void **state)
{
    struct hostlist l = {.stated = 0};
    struct error err;
    char name[32];
    for (unsigned i = 0; i < HOSTLIST_HOSTS_MAX; i++) {
        struct hostlist_entry e = {.name = name, .source = "x"};
        e.len = (size_t)snprintf(name, sizeof(name), "n%u", i);
        assert_int_equal(hostlist_add(&l, &e, &err), 0);
    }
    assert_false(l.stated);
    assert_string_equal(hostlist_find(&l, "n777")->name, "n777");
    assert_int_equal(hostlist_parse("n777", &l, &err), 0);
    assert_int_equal(hostlist_find(&l, "n777")->slots.value, 2);
    assert_int_equal(hostlist_parse("other", &l, &err), -1);
    assert_non_null(strstr(err.text, "more than 65536 hosts"));
    hostlist_free(&l);
}

static void long_names_are_refused_and_cut_in_the_sentence(void **state)
{
    struct hostlist l = {.stated = 0};
    struct error err;
    char name[400];
    memset(name, 'a', sizeof(name));
    name[255] = 0;
    assert_int_equal(hostlist_parse(name, &l, &err), 0);
    name[255] = 'a';
    name[256] = 0;
    assert_int_equal(hostlist_parse(name, &l, &err), -1);
    assert_true(strlen(err.text) < 200);
    hostlist_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_the_command_line),
        cmocka_unit_test(a_range_may_be_long_and_names_may_not),
        cmocka_unit_test(files_in_each_syntax),
        cmocka_unit_test(every_number_has_its_source),
        cmocka_unit_test(many_hosts_are_found_again_and_too_many_refused),
        cmocka_unit_test(long_names_are_refused_and_cut_in_the_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
