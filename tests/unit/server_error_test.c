/* server_error_test.c - what the transceiver itself says on the event channel */
#include "tests/testing.h"

#include "services/transceiver/core/session/server_error.h"

#include <jansson.h>

static const char *const code[SERVER_ERROR_COUNT] = {
    [SERVER_ERROR_SESSION_EXPIRING] = "session_expiring",
    [SERVER_ERROR_BACKEND_LOST] = "backend_lost",
    [SERVER_ERROR_MESSAGE_TOO_LARGE] = "message_too_large",
};

static json_t *written(enum server_error error, struct random_source random)
{
    char text[SERVER_ERROR_BYTES_MAX];
    const size_t len = server_error_write(error, random, text);
    assert_in_range(len, 1, sizeof(text));
    json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    return json;
}

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    assert_non_null(text);
    return text;
}

static void each_is_an_error_of_the_server_with_null_where_a_client_reads_null(void **state)
{
    (void)state;
    struct random_generator seed;
    random_generator_init(&seed, 1);
    for (size_t i = 0; i < COUNT_OF(code); i++) {
        json_t *json = written((enum server_error)i, random_seeded(&seed));
        const json_t *error = json_object_get(json, "error");
        assert_string_equal(text_of(json, "type"), "error");
        assert_string_equal(text_of(error, "type"), "server_error");
        assert_string_equal(text_of(error, "code"), code[i]);
        assert_true(strlen(text_of(error, "message")) > 0);
        assert_true(json_is_null(json_object_get(error, "param")));
        assert_true(json_is_null(json_object_get(error, "event_id")));
        json_decref(json);
    }
}

static void each_has_an_event_id_of_its_own(void **state)
{
    (void)state;
    struct random_generator seed;
    random_generator_init(&seed, 1);
    json_t *first = written(SERVER_ERROR_BACKEND_LOST, random_seeded(&seed));
    json_t *second = written(SERVER_ERROR_BACKEND_LOST, random_seeded(&seed));
    assert_true(strncmp(text_of(first, "event_id"), "event_", 6) == 0);
    assert_int_equal(strlen(text_of(first, "event_id")), 30);
    assert_string_not_equal(text_of(first, "event_id"), text_of(second, "event_id"));
    json_decref(first);
    json_decref(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_an_error_of_the_server_with_null_where_a_client_reads_null),
        cmocka_unit_test(each_has_an_event_id_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
