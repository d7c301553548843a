/* http_field_test.c - header fields are read strictly, and what is echoed is harmless */
#include "tests/testing.h"

#include "services/signaling/http_field.h"

static void media_types_compare_without_case_and_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        bool is_sdp;
    } field_case[] = {
        {"application/sdp", true},
        {"Application/SDP", true},
        {"application/sdp; charset=utf-8", true},
        {"application/sdp;charset=\"a;b\"", true},
        {" application/sdp\t; x", true},
        {"application/sdp;", true},
        {"", false},
        {";", false},
        {"application/sdpx", false},
        {"application/sd", false},
        {"application /sdp", false},
        {"application/sdp, text/plain", false},
        {"text/plain; application/sdp", false},
        {"multipart/form-data; boundary=x", false},
    };
    for (size_t i = 0; i < COUNT_OF(field_case); i++) {
        assert_int_equal(
            http_field_is_media_type(bytes_view_of_text(field_case[i].field), "application/sdp"),
            field_case[i].is_sdp);
    }
    assert_false(http_field_is_media_type((struct bytes_view){0}, "application/sdp"));
}

static void a_content_length_is_digits_alone(void **state)
{
    (void)state;
    uint64_t value = 1;
    assert_true(http_field_content_length(bytes_view_of_text("0"), &value));
    assert_int_equal(value, 0);
    assert_true(http_field_content_length(bytes_view_of_text("000065536"), &value));
    assert_int_equal(value, 65536);
    assert_true(http_field_content_length(bytes_view_of_text("999999999999999999"), &value));
    assert_int_equal(value, 999999999999999999);
    static const char *const bad[] = {"",    "-1",
                                      "+1",  " 1",
                                      "1 ",  "0x1",
                                      "1,1", "1.0",
                                      "ten", "1000000000000000000",
                                      "1\n", "18446744073709551617"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(http_field_content_length(bytes_view_of_text(bad[i]), &value));
    }
}

static void only_names_of_our_clients_are_allowed_and_all_or_none(void **state)
{
    (void)state;
    static const struct {
        const char *asked;
        bool is_allowed;
    } asked_case[] = {
        {"content-type", true},
        {"Authorization, Content-Type", true},
        {"authorization,content-type,if-match,openai-beta", true},
        {"x-openai-agents-sdk", true},
        {"x-stainless-os , x-stainless-runtime", true},
        {"", false},
        {",", false},
        {"content-type,", true}, /* an empty last element is no name */
        {"content-type,,if-match", false},
        {"cookie", false},
        {"content-type, cookie", false},
        {"x-openai-", false},
        {"x-openai-a b", false},
        {"x-openai-a\r\nset-cookie: b", false},
        {"x-openai-a:b", false},
        {"content-type\r\nx: y", false},
    };
    for (size_t i = 0; i < COUNT_OF(asked_case); i++) {
        assert_int_equal(http_field_allows_request_headers(bytes_view_of_text(asked_case[i].asked)),
                         asked_case[i].is_allowed);
    }
}

static void a_note_is_printable_and_ends_where_it_must(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        const char *end;
        const char *note;
    } row[] = {
        {"kit/1.0", "", "kit/1.0"}, {"de-DE,de;q=0.9", ",;", "de-DE"},
        {"a\nb", "", "a"},          {"a\x7f", "", "a"},
        {"\xc3\xa4", "", ""},       {"", ",", ""},
        {"~ !", "", "~ !"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_true(bytes_equal(http_field_note(bytes_view_of_text(row[i].field), row[i].end),
                                bytes_view_of_text(row[i].note)));
    }
}

static void a_query_gives_the_first_parameter_of_a_name(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        const char *value; /* NULL: not there */
    } query_case[] = {
        {"dcid=5", "5"},    {"model=a&dcid=7&dcid=8", "7"},
        {"dcid=", ""},      {"dcid", NULL},
        {"xdcid=5", NULL},  {"", NULL},
        {"a=dcid=1", NULL}, {"&&dcid=1&", "1"},
        {"DCID=1", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(query_case); i++) {
        struct bytes_view value = {0};
        assert_int_equal(http_field_query(bytes_view_of_text(query_case[i].query), "dcid", &value),
                         query_case[i].value != NULL);
        assert_true(query_case[i].value == NULL ||
                    bytes_equal(value, bytes_view_of_text(query_case[i].value)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(media_types_compare_without_case_and_parameters),
        cmocka_unit_test(a_content_length_is_digits_alone),
        cmocka_unit_test(only_names_of_our_clients_are_allowed_and_all_or_none),
        cmocka_unit_test(a_note_is_printable_and_ends_where_it_must),
        cmocka_unit_test(a_query_gives_the_first_parameter_of_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
