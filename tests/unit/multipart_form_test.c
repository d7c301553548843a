/* multipart_form_test.c - forms as real clients write them, and none other */
#include "tests/testing.h"

#include "services/signaling/offer/multipart_form.h"

#include <stdio.h>

#define TYPE "multipart/form-data; boundary=xyz"
#define FORM                                                                                       \
    "--xyz\r\nContent-Disposition: form-data; name=\"sdp\"\r\nContent-Type: application/sdp\r\n"   \
    "\r\nv=0\r\n\r\n--xyz\r\nContent-Disposition: form-data; name=\"session\"\r\n\r\n{}\r\n"       \
    "--xyz--\r\n"

static bool read_form(const char *type, const char *body, struct multipart_form *out)
{
    return multipart_form_read(bytes_view_of_text(type), bytes_view_of_text(body), out);
}

static void assert_part(const struct multipart_form *form, const char *name, const char *content)
{
    struct bytes_view found;
    assert_true(multipart_form_find(form, name, &found));
    assert_true(bytes_equal(found, bytes_view_of_text(content)));
}

static void parts_are_found_by_name_in_any_order(void **state)
{
    (void)state;
    struct multipart_form form;
    struct bytes_view absent;
    assert_true(read_form(TYPE, FORM, &form));
    assert_int_equal(form.count, 2);
    assert_part(&form, "sdp", "v=0\r\n");
    assert_part(&form, "session", "{}");
    assert_false(multipart_form_find(&form, "sd", &absent));
    assert_true(read_form("Multipart/Form-Data;charset=x; Boundary=\"a b\"",
                          "--a b\r\ncontent-disposition:form-data;name=session\r\n\r\n\r\n--a b\r\n"
                          "X: y\r\nContent-Disposition: form-data; filename=\"a;name=b\\\"\"; "
                          "name=\"sdp\"\r\n\r\n\r\n--a\r\n\r\n--a b--",
                          &form));
    assert_part(&form, "session", "");
    assert_part(&form, "sdp", "\r\n--a\r\n");
}

static void what_is_no_form_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *body;
    } form_case[] = {
        {"multipart/mixed; boundary=xyz", FORM},
        {"multipart/form-data", FORM},
        {"multipart/form-data; boundary=", FORM},
        {"multipart/form-data; boundary=\"\"", FORM},
        {"multipart/form-data; bound=xyz", FORM},
        {"multipart/form-data; boundary=xy", FORM},
        {TYPE, ""},
        {TYPE, "--xyz"},
        {TYPE, "preamble--xyz--"},
        {TYPE, "preamble\n--xyz--"},
        {TYPE, "--xyz--epilogue"},
        {TYPE, "--xyzz\r\n--xyz-\r\n"},
        {TYPE, "--xyz\n\n--xyz--"},
        {TYPE, "--xyz\r\n\r\n\r\n--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data\r\n\r\n\r\n--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n\r\n--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: attachment; name=a\r\n\r\n\r\n--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; name=a\r\n"
               "Content-Disposition: form-data; name=b\r\n\r\n\r\n--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; name=a\n\r\n\r\n--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--xyz\r\n"
               "Content-Disposition: form-data; name=a\r\n\r\n2\r\n--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--xyzz\r\n--xyz--"},
    };
    for (size_t i = 0; i < COUNT_OF(form_case); i++) {
        struct multipart_form form;
        assert_false(read_form(form_case[i].type, form_case[i].body, &form));
    }
}

/* RFC 2046 s.5.1.1: preamble, epilogue, transport-padding. */
static void what_stands_around_the_parts_is_skipped(void **state)
{
    (void)state;
    static const char *const body[] = {
        "preamble\r\n" FORM,
        "\r\n" FORM,
        "a--xyz\r\n--xy\r\n--xyzz\r\n" FORM,
        FORM "epilogue",
        FORM "\r\n--xyz\r\nnothing\r\n",
        ("--xyz \t\r\nContent-Disposition: form-data; name=sdp\r\n\r\nv=0\r\n\r\n--xyz\t\r\n"
         "Content-Disposition: form-data; name=session\r\n\r\n{}\r\n--xyz-- \t"),
    };
    for (size_t i = 0; i < COUNT_OF(body); i++) {
        struct multipart_form form;
        assert_true(read_form(TYPE, body[i], &form));
        assert_int_equal(form.count, 2);
        assert_part(&form, "sdp", "v=0\r\n");
        assert_part(&form, "session", "{}");
    }
}

static void what_stands_around_the_parts_is_bounded(void **state)
{
    (void)state;
    char body[4 * MULTIPART_FORM_AROUND_BYTES_MAX];
    struct multipart_form form;
    for (int over = 0; over <= 1; over++) {
        const int len = MULTIPART_FORM_AROUND_BYTES_MAX + over;
        (void)snprintf(body, sizeof(body), "%0*d\r\n--xyz--", len - 2, 7);
        assert_int_equal(read_form(TYPE, body, &form), over == 0);
        (void)snprintf(body, sizeof(body), "--xyz--\r\n%0*d", len - 2, 7);
        assert_int_equal(read_form(TYPE, body, &form), over == 0);
        (void)snprintf(body, sizeof(body), "--xyz--%*s", len, "");
        assert_int_equal(read_form(TYPE, body, &form), over == 0);
    }
}

static void a_form_without_parts_is_one(void **state)
{
    (void)state;
    struct multipart_form form;
    assert_true(read_form(TYPE, "--xyz--", &form));
    assert_int_equal(form.count, 0);
}

static void no_beginning_of_a_form_is_a_form(void **state)
{
    (void)state;
    struct multipart_form form;
    const size_t len = strlen(FORM);
    for (size_t cut = 0; cut < len - 2; cut++) {
        assert_false(
            multipart_form_read(bytes_view_of_text(TYPE), bytes_view_of(FORM, cut), &form));
    }
    assert_true(multipart_form_read(bytes_view_of_text(TYPE), bytes_view_of(FORM, len - 2), &form));
}

/* A form of `parts`, the last of which has `lines` lines in its header, one of line_bytes. */
static bool read_sized(size_t parts, size_t lines, size_t line_bytes)
{
    static char body[16384];
    struct multipart_form form;
    size_t len = (size_t)snprintf(body, sizeof(body), "--xyz");
    for (size_t i = 0; i < parts; i++) {
        len += (size_t)snprintf(body + len, sizeof(body) - len,
                                "\r\nContent-Disposition: form-data; name=p%zu\r\n", i);
        for (size_t line = 1; i + 1 == parts && line < lines; line++) {
            len += (size_t)snprintf(body + len, sizeof(body) - len, "%-*s\r\n",
                                    line == 1 ? (int)line_bytes : 2, "X:");
        }
        len += (size_t)snprintf(body + len, sizeof(body) - len, "\r\n\r\n--xyz");
    }
    (void)snprintf(body + len, sizeof(body) - len, "--");
    return read_form(TYPE, body, &form) && form.count == parts;
}

static void bounds_hold_on_both_sides(void **state)
{
    (void)state;
    assert_true(read_sized(MULTIPART_FORM_PARTS_MAX, 1, 0));
    assert_false(read_sized(MULTIPART_FORM_PARTS_MAX + 1, 1, 0));
    assert_true(read_sized(1, MULTIPART_FORM_LINES_MAX, 2));
    assert_false(read_sized(1, MULTIPART_FORM_LINES_MAX + 1, 2));
    assert_true(read_sized(1, 2, MULTIPART_FORM_LINE_BYTES_MAX));
    assert_false(read_sized(1, 2, MULTIPART_FORM_LINE_BYTES_MAX + 1));
    for (int len = MULTIPART_FORM_BOUNDARY_CHARS_MAX; len <= MULTIPART_FORM_BOUNDARY_CHARS_MAX + 1;
         len++) {
        char type[128];
        char body[128];
        struct multipart_form form;
        (void)snprintf(type, sizeof(type), "multipart/form-data; boundary=%0*d", len, 7);
        (void)snprintf(body, sizeof(body), "--%0*d--", len, 7);
        assert_int_equal(read_form(type, body, &form), len == MULTIPART_FORM_BOUNDARY_CHARS_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_found_by_name_in_any_order),
        cmocka_unit_test(what_is_no_form_is_refused),
        cmocka_unit_test(what_stands_around_the_parts_is_skipped),
        cmocka_unit_test(what_stands_around_the_parts_is_bounded),
        cmocka_unit_test(a_form_without_parts_is_one),
        cmocka_unit_test(no_beginning_of_a_form_is_a_form),
        cmocka_unit_test(bounds_hold_on_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
