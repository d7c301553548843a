/* control_decoder_test.c - each field is taken within its bound; one beyond marks the message */
#include "tests/testing.h"

#include "common/control/control_decoder.h"

#include "placement.pb-c.h"

#include <stdlib.h>

#define TEXT_MAX       8
#define TAG_NAME       0x1a /* Announcement.name: field 3, by length */
#define TAG_CLUSTER_ID 0x08 /* Announcement.cluster_id: field 1, a number */

static struct control_decoder *fixture;

static int open_fixture(void **state)
{
    (void)state;
    fixture = control_decoder_create();
    return fixture != NULL ? 0 : -1;
}

static int close_fixture(void **state)
{
    (void)state;
    control_decoder_destroy(fixture);
    return 0;
}

static Earshot__Placement__Announcement *unpack(const void *message, size_t len)
{
    return control_decoder_unpack(fixture, &earshot__placement__announcement__descriptor,
                                  bytes_view_of(message, len));
}

/* The name field of a message that holds it alone, as unpack left it. */
static const char *unpack_name(const char *name, size_t len)
{
    uint8_t message[2 + 64] = {TAG_NAME, (uint8_t)len};
    assert_true(len <= 64);
    memcpy(message + 2, name, len);
    const Earshot__Placement__Announcement *a = unpack(message, 2 + len);
    assert_non_null(a);
    return a->name;
}

static const struct {
    const char *what;
    const char *text;
    size_t len;
    bool is_good;
} text_case[] = {
    {"an empty text", "", 0, true},
    {"a short text", "abc", 3, true},
    {"as long as allowed", "12345678", 8, true},
    {"one too many", "123456789", 9, false},
    {"a NUL inside", "ab\0cd", 5, false},
    {"a NUL in front", "\0ab", 3, false},
    {"a NUL at the end", "ab\0", 3, false},
};

static void a_text_is_viewed_up_to_its_bound_and_never_with_a_nul(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(text_case); i++) {
        const char *name = unpack_name(text_case[i].text, text_case[i].len);
        const struct bytes_view view = control_decoder_text(fixture, name, TEXT_MAX);
        if (control_decoder_has_failed(fixture) == text_case[i].is_good) {
            fail_msg("%s", text_case[i].what);
        }
        assert_int_equal(view.len, text_case[i].is_good ? text_case[i].len : 0);
        assert_memory_equal(view.data, text_case[i].text, view.len);
    }
}

static void a_text_is_copied_with_its_end_or_left_empty(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(text_case); i++) {
        const char *name = unpack_name(text_case[i].text, text_case[i].len);
        char copy[TEXT_MAX + 2] = "#########";
        control_decoder_copy_text(fixture, name, copy, TEXT_MAX + 1);
        if (control_decoder_has_failed(fixture) == text_case[i].is_good) {
            fail_msg("%s", text_case[i].what);
        }
        assert_string_equal(copy, text_case[i].is_good ? text_case[i].text : "");
        assert_int_equal(copy[TEXT_MAX],
                         text_case[i].is_good && text_case[i].len == TEXT_MAX ? '\0' : '#');
    }
}

static void an_absent_text_is_empty_and_no_failure(void **state)
{
    (void)state;
    const Earshot__Placement__Announcement *a = unpack("", 0);
    char copy[TEXT_MAX] = "###";
    assert_non_null(a);
    assert_int_equal(control_decoder_text(fixture, a->name, TEXT_MAX).len, 0);
    control_decoder_copy_text(fixture, a->name, copy, sizeof(copy));
    assert_string_equal(copy, "");
    assert_false(control_decoder_has_failed(fixture));
}

static void an_address_is_one_or_marks_the_message(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_good;
    } addr_case[] = {
        {"192.0.2.1:3478", true}, {"[2001:db8::1]:3478", true}, {"192.0.2.1:65536", false},
        {"192.0.2.1", false},     {"host:3478", false},         {"", false},
    };
    for (size_t i = 0; i < COUNT_OF(addr_case); i++) {
        struct net_addr addr;
        const char *name = unpack_name(addr_case[i].text, strlen(addr_case[i].text));
        control_decoder_copy_addr(fixture, name, &addr);
        if (control_decoder_has_failed(fixture) == addr_case[i].is_good) {
            fail_msg("\"%s\"", addr_case[i].text);
        }
        if (addr_case[i].is_good) {
            assert_int_equal(addr.port, 3478);
        }
    }
}

static void data_is_viewed_up_to_its_bound(void **state)
{
    (void)state;
    static const uint8_t data[TEXT_MAX + 1] = {1, 2, 3};
    for (size_t len = 0; len <= sizeof(data); len++) {
        assert_non_null(unpack("", 0));
        const struct bytes_view view =
            control_decoder_data(fixture, bytes_view_of(data, len), TEXT_MAX);
        assert_int_equal(control_decoder_has_failed(fixture), len > TEXT_MAX);
        assert_int_equal(view.len, len > TEXT_MAX ? 0 : len);
    }
}

static void data_is_copied_at_exactly_its_length(void **state)
{
    (void)state;
    static const uint8_t data[] = {1, 2, 3, 4, 5};
    for (size_t len = 0; len <= sizeof(data); len++) {
        uint8_t out[5] = {0};
        assert_non_null(unpack("", 0));
        control_decoder_copy_data(fixture, bytes_view_of(data, len), out, 4);
        assert_int_equal(control_decoder_has_failed(fixture), len != 4);
        assert_memory_equal(out, len == 4 ? "\1\2\3\4\0" : "\0\0\0\0\0", sizeof(out));
    }
}

static void a_number_is_taken_up_to_its_bound(void **state)
{
    (void)state;
    static const struct {
        uint32_t value, max, taken;
        bool is_good;
    } number_case[] = {
        {0, 0, 0, true},
        {1, 0, 0, false},
        {63, 63, 63, true},
        {64, 63, 0, false},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX, true},
        {UINT32_MAX, UINT32_MAX - 1, 0, false},
    };
    for (size_t i = 0; i < COUNT_OF(number_case); i++) {
        assert_non_null(unpack("", 0));
        assert_int_equal(control_decoder_number(fixture, number_case[i].value, number_case[i].max),
                         number_case[i].taken);
        assert_int_equal(control_decoder_has_failed(fixture), !number_case[i].is_good);
    }
}

static void one_field_out_of_bounds_marks_the_message_until_the_next(void **state)
{
    (void)state;
    assert_non_null(unpack("", 0));
    (void)control_decoder_number(fixture, 2, 1);
    assert_int_equal(control_decoder_number(fixture, 1, 1), 1);
    assert_true(control_decoder_has_failed(fixture));
    assert_non_null(unpack("", 0));
    assert_false(control_decoder_has_failed(fixture));
}

static void a_malformed_message_gives_nothing(void **state)
{
    (void)state;
    static const uint8_t whole[] = {TAG_CLUSTER_ID, 0x80, 0x01, TAG_NAME, 2, 'a', 'b'};
    for (size_t len = 0; len <= sizeof(whole); len++) {
        const bool is_between_fields = len == 0 || len == 3 || len == sizeof(whole);
        const Earshot__Placement__Announcement *a = unpack(whole, len);
        if ((a != NULL) != is_between_fields) {
            fail_msg("%zu bytes", len);
        }
        assert_true(a == NULL || len == 0 || a->cluster_id == 128);
    }
}

/* Fields that nobody knows are kept by protobuf-c, at many times their size. */
static void a_message_that_needs_more_than_the_arena_is_refused_and_the_next_is_read(void **state)
{
    (void)state;
    const size_t len = 300 * 1024;
    uint8_t *message = malloc(len);
    assert_non_null(message);
    for (size_t i = 0; i < len; i += 3) { /* field 31, a number */
        memcpy(message + i, "\xf8\x01\x00", 3);
    }
    assert_null(unpack(message, len));
    free(message);
    assert_int_equal(strlen(unpack_name("abc", 3)), 3);
}

static void destroying_nothing_is_fine(void **state)
{
    (void)state;
    control_decoder_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_viewed_up_to_its_bound_and_never_with_a_nul),
        cmocka_unit_test(a_text_is_copied_with_its_end_or_left_empty),
        cmocka_unit_test(an_absent_text_is_empty_and_no_failure),
        cmocka_unit_test(an_address_is_one_or_marks_the_message),
        cmocka_unit_test(data_is_viewed_up_to_its_bound),
        cmocka_unit_test(data_is_copied_at_exactly_its_length),
        cmocka_unit_test(a_number_is_taken_up_to_its_bound),
        cmocka_unit_test(one_field_out_of_bounds_marks_the_message_until_the_next),
        cmocka_unit_test(a_malformed_message_gives_nothing),
        cmocka_unit_test(a_message_that_needs_more_than_the_arena_is_refused_and_the_next_is_read),
        cmocka_unit_test(destroying_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
