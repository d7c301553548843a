/* offer_refusal_test.c - each reason has the words of the contract */
#include "tests/testing.h"

#include "services/signaling/offer_refusal.h"

static bool says(const struct http_response *r, const char *text)
{
    const struct bytes_view body = http_response_body(r);
    return memmem(body.data, body.len, text, strlen(text)) != NULL;
}

static void each_refusal_has_status_code_and_outcome(void **state)
{
    (void)state;
    static const struct {
        enum control_refusal refusal;
        unsigned status;
        const char *code;
        enum offer_outcome outcome;
        bool is_local;
    } row[] = {
        {CONTROL_REFUSAL_NONE, 500, "internal", OFFER_INTERNAL, false},
        {CONTROL_BAD_OFFER, 400, "invalid_offer", OFFER_INVALID, false},
        {CONTROL_TOO_LARGE, 413, "too_large", OFFER_TOO_LARGE, false},
        {CONTROL_NO_COMMON_CODEC, 400, "no_common_codec", OFFER_NO_COMMON_CODEC, false},
        {CONTROL_FULL, 503, "server_overloaded", OFFER_SERVER_OVERLOADED, true},
        {CONTROL_DRAINING, 503, "server_overloaded", OFFER_SERVER_OVERLOADED, true},
        {CONTROL_BACKEND_UNAVAILABLE, 503, "backend_unavailable", OFFER_BACKEND_UNAVAILABLE, true},
        {CONTROL_INTERNAL, 500, "internal", OFFER_INTERNAL, false},
        {CONTROL_NOT_FOUND, 500, "internal", OFFER_INTERNAL, false},
        {CONTROL_NOT_IMPLEMENTED, 500, "internal", OFFER_INTERNAL, false},
        {CONTROL_OTHER_GENERATION, 500, "internal", OFFER_INTERNAL, false},
        {CONTROL_RESTARTS_USED_UP, 500, "internal", OFFER_INTERNAL, false},
    };
    assert_int_equal(COUNT_OF(row), CONTROL_REFUSAL_COUNT);
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const struct offer_refusal *r = offer_refusal_of(row[i].refusal);
        assert_int_equal(r->status, row[i].status);
        assert_string_equal(r->code, row[i].code);
        assert_int_equal(r->outcome, row[i].outcome);
        assert_int_equal(offer_refusal_is_local(r), row[i].is_local);
        if (row[i].refusal != CONTROL_REFUSAL_NONE) {
            assert_string_equal(r->reason, control_refusal_name(row[i].refusal));
        }
    }
}

static void nobody_there_and_nobody_answering_are_not_called_full(void **state)
{
    (void)state;
    const struct offer_refusal *none = offer_refusal_no_transceiver();
    const struct offer_refusal *late = offer_refusal_no_answer();
    assert_string_equal(none->reason, "no_transceiver");
    assert_string_equal(late->reason, "no_answer");
    assert_string_equal(offer_outcome_name(none->outcome), "no_transceiver");
    assert_string_equal(offer_outcome_name(late->outcome), "no_answer");
    const struct http_response r =
        offer_refusal_response(none, bytes_view_of_text("other words"), 0);
    assert_int_equal(r.status, 503);
    assert_true(says(&r, "\"code\":\"server_overloaded\""));
    assert_true(says(&r, "No transceiver is known."));
    assert_false(says(&r, "other words"));
}

static void the_words_of_a_transceiver_are_shown_where_they_help(void **state)
{
    (void)state;
    const struct bytes_view said = bytes_view_of_text("line 7: no fingerprint");
    struct http_response r = offer_refusal_response(offer_refusal_of(CONTROL_BAD_OFFER), said, 0);
    assert_true(says(&r, "line 7: no fingerprint"));
    r = offer_refusal_response(offer_refusal_of(CONTROL_INTERNAL), said, 0);
    assert_false(says(&r, "line 7"));
    r = offer_refusal_response(offer_refusal_of(CONTROL_BAD_OFFER), (struct bytes_view){0}, 0);
    assert_true(says(&r, "The offer was refused."));
}

static void a_503_says_when_to_come_back_in_whole_seconds_rounded_up(void **state)
{
    (void)state;
    static const struct {
        uint32_t said_ms;
        unsigned retry_after_s;
    } row[] = {{0, 1}, {1, 1}, {1000, 1}, {1001, 2}, {30000, 30}, {UINT32_MAX, 4294968}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const struct http_response r = offer_refusal_response(
            offer_refusal_of(CONTROL_FULL), (struct bytes_view){0}, row[i].said_ms);
        assert_int_equal(r.retry_after_s, row[i].retry_after_s);
    }
    const struct http_response r =
        offer_refusal_response(offer_refusal_of(CONTROL_BAD_OFFER), (struct bytes_view){0}, 5000);
    assert_int_equal(r.retry_after_s, 0);
}

static void each_outcome_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < OFFER_OUTCOME_COUNT; i++) {
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(offer_outcome_name((enum offer_outcome)i),
                                    offer_outcome_name((enum offer_outcome)j));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_refusal_has_status_code_and_outcome),
        cmocka_unit_test(nobody_there_and_nobody_answering_are_not_called_full),
        cmocka_unit_test(the_words_of_a_transceiver_are_shown_where_they_help),
        cmocka_unit_test(a_503_says_when_to_come_back_in_whole_seconds_rounded_up),
        cmocka_unit_test(each_outcome_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
