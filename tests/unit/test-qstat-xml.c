/* SPDX-License-Identifier: BSD-3-Clause */
/* test-qstat-xml.c - bytes made harmless, and the walk over what they are then */
#include "rm-adapters/gridengine/qstat-xml.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- bytes ----------------------------------------------------------------------------------- */

#define NO "\xef\xbf\xbd" /* U+FFFD */

static const struct {
    const char *in, *out;
} cleaned[] = {
    {"<a>sleep\xff"
     "6</a>",
     "<a>sleep" NO "6</a>"},
    {"\x01\x02\x1f\x7f", NO NO NO "\x7f"},
    {"a\tb\nc\rd", "a\tb\nc\rd"},
    {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\xc3", NO},
    {"\xc0\xaf", NO NO},                             /* overlong */
    {"\xed\xa0\x80", NO NO NO},                      /* a surrogate */
    {"\xef\xbf\xbe\xef\xbf\xbf", NO NO NO NO NO NO}, /* UTF-8, but no XML */
    {"\xf4\x90\x80\x80", NO NO NO NO},
    {"a & b", "a &amp; b"},
    {"&amp;&lt;&gt;&quot;&apos;", "&amp;&lt;&gt;&quot;&apos;"},
    {"&#65;&#x41;&#x10FFFF;", "&#65;&#x41;&#x10FFFF;"},
    {"&#0;", "&amp;#0;"},
    {"&#x1;", "&amp;#x1;"},
    {"&#xD800;", "&amp;#xD800;"},
    {"&#x110000;", "&amp;#x110000;"},
    {"&#99999999999;", "&amp;#99999999999;"},
    {"&#;", "&amp;#;"},
    {"&#x;", "&amp;#x;"},
    {"&#6a;", "&amp;#6a;"},
    {"&#65", "&amp;#65"},
    {"&xxe;", "&amp;xxe;"},
    {"&", "&amp;"},
    {"a < b <3 <= <", "a &lt; b &lt;3 &lt;= &lt;"},
    {"<>x</>", "<_>x</_>"},
    {"</", "&lt;/"},
    {"<!-- c --><?xml?><_a:b/>", "<!-- c --><?xml?><_a:b/>"},
    {"<!ENTITY x>", "&lt;!ENTITY x>"},
    {"", ""},
};

static void bytes_are_kept_or_replaced(void **state)
{
    for (size_t i = 0; i < sizeof(cleaned) / sizeof(cleaned[0]); i++) {
        size_t n = 99, again = 99;
        char *once = gridengine_clean(cleaned[i].in, strlen(cleaned[i].in), &n, NULL);
        assert_non_null(once);
        assert_string_equal(once, cleaned[i].out);
        assert_int_equal(n, strlen(once));
        char *twice = gridengine_clean(once, n, &again, NULL);
        assert_string_equal(twice, once);
        free(once);
        free(twice);
    }
}

static void a_zero_byte_is_one_of_them(void **state)
{
    size_t n;
    char *clean = gridengine_clean("a\0b", 3, &n, NULL);
    assert_int_equal(n, 5);
    assert_string_equal(clean, "a" NO "b");
    free(clean);
}

static void a_document_type_is_refused(void **state)
{
    static const char bomb[] = "<?xml version='1.0'?>\n"
                               "<!DOCTYPE a [<!ENTITY x 'xxxxxxxxxx'>"
                               "<!ENTITY y '&x;&x;&x;&x;&x;&x;&x;&x;&x;&x;'>]><a>&y;</a>";
    struct error err;
    size_t n;
    assert_null(gridengine_clean(bomb, strlen(bomb), &n, &err));
    assert_int_equal(err.code, EBADMSG);
    assert_string_equal(err.text, "it declares a document type, which qstat never does");
}

/* ---- the walk -------------------------------------------------------------------------------- */

struct heard {
    char text[4096];
    size_t deepest;
    const char *stop_at;
};

static void note(struct heard *h, const struct xml_place *p, const char *before, const char *text)
{
    size_t n = strlen(h->text);
    h->deepest = p->depth > h->deepest ? p->depth : h->deepest;
    snprintf(h->text + n, sizeof(h->text) - n, "%s%s%s ", before, xml_name(p, 0), text);
}

static void begins(void *arg, const struct xml_place *p)
{
    note(arg, p, "+", "");
}

static int ends(void *arg, const struct xml_place *p, const char *text, struct error *err)
{
    struct heard *h = arg;
    char shown[4200];
    snprintf(shown, sizeof(shown), "[%s]", text);
    note(h, p, "-", shown);
    if (h->stop_at && strcmp(xml_name(p, 0), h->stop_at) == 0)
        return error_set(err, EDOM, "enough");
    return 0;
}

static const struct xml_events events = {.begin = begins, .end = ends};

static int walk(const char *text, struct heard *h, struct error *err)
{
    *h = (struct heard){.stop_at = h->stop_at};
    return gridengine_xml_walk(text, strlen(text), &events, h, err);
}

static void elements_are_told_with_their_own_text(void **state)
{
    struct heard h = {.text = ""};
    assert_int_equal(walk("<?xml version='1.0'?>\n<unknown_jobs >\n <b> x &amp; \n</b><c/>"
                          "<d>&#65;<![CDATA[<z>]]></d>\n</unknown_jobs>\n",
                          &h, NULL),
                     0);
    assert_string_equal(h.text, "+unknown_jobs +b -b[x &] +c -c[] +d -d[A<z>] -unknown_jobs[] ");
}

static void the_parents_of_an_element_are_known(void **state)
{
    struct xml_place p = {.depth = 3, .names = {"a", "b", "c"}};
    assert_string_equal(xml_name(&p, 0), "c");
    assert_string_equal(xml_name(&p, 2), "a");
    assert_string_equal(xml_name(&p, 3), "");
}

static void deep_and_long_ones_are_cut(void **state)
{
    struct heard h = {.text = ""};
    char text[20000] = "";
    for (int i = 0; i < 100; i++)
        strcat(text, "<a>");
    for (int i = 0; i < 100; i++)
        strcat(text, "</a>");
    assert_int_equal(walk(text, &h, NULL), 0);
    assert_int_equal(h.deepest, GRIDENGINE_XML_DEPTH);
    memset(text, 'x', 10000);
    memcpy(text, "<a>", 3);
    strcpy(text + 10000, "</a>");
    assert_int_equal(walk(text, &h, NULL), 0);
    assert_int_equal(strspn(h.text + strlen("+a -a["), "x"), sizeof(h.text) - 1 - strlen("+a -a["));
}

static void what_is_damaged_is_an_error_with_its_place(void **state)
{
    static const struct {
        const char *text, *says;
        int code;
    } damaged[] = {
        {"", "it is empty", ENODATA},
        {" \n\n", "it is empty", ENODATA},
        {"<a>\n<b>x", "it breaks off after 8 bytes, in line 2", EBADMSG},
        {"<a>\n<b>x</b", "it breaks off after 11 bytes, in line 2", EBADMSG},
        {"<a>\n<b>x</b>\n", "it breaks off within <a>", EBADMSG},
        {"<a>\n<b>x</c></b></a>", "line 2: ", EBADMSG},
        {"<a></a><b></b>", "line 1: ", EBADMSG},
        {"error: commlib error: got select error", "it breaks off", EBADMSG},
        {"critical error\n<a></a>", "line 1: ", EBADMSG},
    };
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        struct heard h = {.text = ""};
        struct error err = {.text = ""};
        assert_int_equal(walk(damaged[i].text, &h, &err), -1);
        assert_int_equal(err.code, damaged[i].code);
        if (strncmp(err.text, damaged[i].says, strlen(damaged[i].says)) != 0)
            fail_msg("'%s' says: %s", damaged[i].text, err.text);
    }
}

static void an_event_can_end_it(void **state)
{
    struct heard h = {.stop_at = "b"};
    struct error err;
    assert_int_equal(walk("<a><b></b><c></c></a>", &h, &err), -1);
    assert_int_equal(err.code, EDOM);
    assert_string_equal(err.text, "enough");
    assert_null(strstr(h.text, "+c"));
}

static void more_than_there_may_be_is_refused(void **state)
{
    size_t n = GRIDENGINE_XML_MAX + 1;
    char *text = calloc(1, n);
    struct heard h = {.text = ""};
    struct error err;
    assert_non_null(text);
    assert_int_equal(gridengine_xml_walk(text, n, &events, &h, &err), -1);
    assert_int_equal(err.code, EFBIG);
    assert_string_equal(err.text, "it is longer than 32 MiB");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_kept_or_replaced),
        cmocka_unit_test(a_zero_byte_is_one_of_them),
        cmocka_unit_test(a_document_type_is_refused),
        cmocka_unit_test(elements_are_told_with_their_own_text),
        cmocka_unit_test(the_parents_of_an_element_are_known),
        cmocka_unit_test(deep_and_long_ones_are_cut),
        cmocka_unit_test(what_is_damaged_is_an_error_with_its_place),
        cmocka_unit_test(an_event_can_end_it),
        cmocka_unit_test(more_than_there_may_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
