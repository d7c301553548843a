/* backend_start_test.c - the session of a SESSION_START comes out as it went in */
#include "tests/testing.h"

#include "common/backend_link/backend_start.h"

static void the_session_of_a_start_comes_out_as_text(void **state)
{
    (void)state;
    static const struct {
        const char *start;
        const char *session; /* NULL: none */
    } row[] = {
        {"{\"call_id\":\"a\",\"session\":{\"a\": [1, {\"b\": \"\xc3\xa9\"}]}}",
         "{\"a\":[1,{\"b\":\"\xc3\xa9\"}]}"},
        {"{\"session\":{}}", "{}"},
        {"{\"call_id\":\"a\"}", NULL},
        {"{\"session\":", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        size_t len = 0;
        char *text = backend_start_session_create(bytes_view_of_text(row[i].start), &len);
        assert_int_equal(text != NULL, row[i].session != NULL);
        if (text != NULL) {
            assert_int_equal(len, strlen(row[i].session));
            assert_memory_equal(text, row[i].session, len);
        }
        backend_start_text_destroy(text, len);
    }
}

static void what_was_written_is_read_again(void **state)
{
    (void)state;
    const struct backend_start start = {.call_id = "rtc_1",
                                        .expires_at_s = 1700000000,
                                        .session_json = bytes_view_of_text("{\"n\":1}")};
    struct backend_start_request request;
    size_t len;
    size_t session_len;
    char *text = backend_start_text_create(&start, &len);
    assert_non_null(text);
    const struct bytes_view payload = bytes_view_of(text, len);
    assert_true(backend_start_decode(payload, &request));
    assert_int_equal(request.expires_at_s, 1700000000);
    char *session = backend_start_session_create(payload, &session_len);
    assert_int_equal(session_len, strlen("{\"n\":1}"));
    backend_start_text_destroy(session, session_len);
    backend_start_text_destroy(text, len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_session_of_a_start_comes_out_as_text),
        cmocka_unit_test(what_was_written_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
