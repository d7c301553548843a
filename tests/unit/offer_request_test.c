/* offer_request_test.c - what a request for a call brings, and what it may not */
#include "tests/testing.h"

#include "services/signaling/offer/session_json.h"
#include "services/signaling/offer_request.h"

#include <stdio.h>
#include <stdlib.h>

#define FORM_TYPE  "multipart/form-data; boundary=x"
#define PART(name) "--x\r\nContent-Disposition: form-data; name=" name "\r\n\r\n"

static struct http_request request_of(const char *type, const char *query, const char *body)
{
    return (struct http_request){.method = HTTP_POST,
                                 .content_type = bytes_view_of_text(type),
                                 .query = bytes_view_of_text(query),
                                 .body = bytes_view_of_text(body),
                                 .has_length = true};
}

static void assert_refused(const struct http_request *request, const char *secret_session,
                           unsigned status, const char *text)
{
    struct offer_request offer;
    struct http_response refusal;
    assert_false(offer_request_read(request, bytes_view_of_text(secret_session), &offer, &refusal));
    assert_null(offer.session);
    assert_int_equal(refusal.status, status);
    char body[HTTP_OWN_BODY_BYTES_MAX + 1] = "";
    memcpy(body, refusal.own_body, refusal.own_body_len);
    assert_non_null(strstr(body, text));
}

static void a_raw_offer_has_the_session_of_its_secret(void **state)
{
    (void)state;
    struct offer_request offer;
    struct http_response refusal;
    const struct http_request raw = request_of("application/sdp", "", "v=0\r\n");
    assert_true(offer_request_read(&raw, bytes_view_of_text("{\"a\":1}"), &offer, &refusal));
    assert_true(bytes_equal(offer.sdp, bytes_view_of_text("v=0\r\n")));
    assert_string_equal(offer.session, "{\"a\":1}");
    assert_false(offer.has_event_stream);
    offer_request_discard(&offer);
    assert_true(offer_request_read(&raw, bytes_view_of(NULL, 0), &offer, &refusal));
    assert_null(offer.session);
}

static void a_form_lays_its_session_over_it(void **state)
{
    (void)state;
    struct offer_request offer;
    struct http_response refusal;
    const struct http_request form =
        request_of(FORM_TYPE, "model=m&dcid=1023",
                   PART("session") "{\"a\":2,\"b\":{\"c\":3}}\r\n" PART("sdp") "v=0\r\n\r\n--x--");
    assert_true(offer_request_read(&form, bytes_view_of_text("{\"a\":1,\"b\":{\"d\":4}}"), &offer,
                                   &refusal));
    assert_true(bytes_equal(offer.sdp, bytes_view_of_text("v=0\r\n")));
    assert_string_equal(offer.session, "{\"a\":2,\"b\":{\"d\":4,\"c\":3}}");
    assert_true(offer.has_event_stream);
    assert_int_equal(offer.event_stream, 1023);
    offer_request_discard(&offer);
}

static void what_is_no_offer_has_its_own_answer(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *query;
        const char *body;
        unsigned status;
        const char *text;
    } bad_case[] = {
        {"text/plain", "", "v=0", 415, "unsupported_media_type"},
        {"", "", "v=0", 415, "unsupported_media_type"},
        {"application/sdp", "", "", 400, "The offer is empty."},
        {"application/sdp", "dcid=1024", "v=0", 400, "dcid"},
        {"application/sdp", "dcid=-1", "v=0", 400, "dcid"},
        {"application/sdp", "dcid=", "v=0", 400, "dcid"},
        {FORM_TYPE, "", "v=0", 400, "is not a form"},
        {FORM_TYPE, "", PART("session") "{}\r\n--x--", 400, "has no part sdp"},
        {FORM_TYPE, "", PART("sdp") "v=0\r\n" PART("session") "[]\r\n--x--", 400, "invalid_json"},
        {FORM_TYPE, "", PART("sdp") "v=0\r\n" PART("session") "{\"type\":\"x\"}\r\n--x--", 400,
         "invalid_value"},
    };
    for (size_t i = 0; i < COUNT_OF(bad_case); i++) {
        const struct http_request request =
            request_of(bad_case[i].type, bad_case[i].query, bad_case[i].body);
        assert_refused(&request, "{\"a\":1}", bad_case[i].status, bad_case[i].text);
    }
    struct http_request chunked = request_of("application/sdp", "", "");
    chunked.has_length = false;
    assert_refused(&chunked, "", 411, "length_required");
}

static void an_offer_of_64_kb_is_taken_and_one_more_byte_is_not(void **state)
{
    (void)state;
    char *sdp = malloc(OFFER_REQUEST_SDP_BYTES_MAX + 2);
    memset(sdp, 'x', OFFER_REQUEST_SDP_BYTES_MAX + 1);
    sdp[OFFER_REQUEST_SDP_BYTES_MAX + 1] = '\0';
    const struct http_request long_one = request_of("application/sdp", "", sdp);
    assert_refused(&long_one, "", 413, "longer than 65536 bytes");
    sdp[OFFER_REQUEST_SDP_BYTES_MAX] = '\0';
    const struct http_request good = request_of("application/sdp", "", sdp);
    struct offer_request offer;
    struct http_response refusal;
    assert_true(offer_request_read(&good, bytes_view_of(NULL, 0), &offer, &refusal));
    free(sdp);
}

static void the_longest_session_is_what_the_client_could_be_told(void **state)
{
    (void)state;
    static const struct {
        const char *sdp;
        size_t bytes_max;
    } size_case[] = {
        {"v=0\r\n", SESSION_JSON_BYTES_MAX},
        {"a=max-message-size:100\r\n", SESSION_JSON_BYTES_MAX}, /* of no data section */
        {"m=application 9 x\r\n", 65536 - 8192},
        {"m=application 9 x\na=max-message-size:65536", 65536 - 8192},
        {"m=application 9 x\r\na=max-message-size:0\r\n", SESSION_JSON_BYTES_MAX},
        {"m=application 9 x\r\na=max-message-size:8192\r\n", 0},
        {"m=application 9 x\r\na=max-message-size:8193\r\n", 1},
        {"m=application 9 x\r\na=max-message-size:204799\r\n", SESSION_JSON_BYTES_MAX - 1},
        {"m=application 9 x\r\na=max-message-size:204800\r\n", SESSION_JSON_BYTES_MAX},
        {"m=application 9 x\r\na=max-message-size:1073741823\r\n", SESSION_JSON_BYTES_MAX},
        {"m=application 9 x\r\na=max-message-size:many\r\n", 65536 - 8192},
        {"", SESSION_JSON_BYTES_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(size_case); i++) {
        assert_int_equal(offer_request_session_bytes_max(bytes_view_of_text(size_case[i].sdp)),
                         size_case[i].bytes_max);
    }
    const struct http_request tight =
        request_of("application/sdp", "", "m=application 9 x\r\na=max-message-size:8200\r\n");
    struct offer_request offer;
    struct http_response refusal;
    assert_refused(&tight, "{\"a\":123}", 413, "max-message-size");
    assert_true(offer_request_read(&tight, bytes_view_of_text("{\"a\":12}"), &offer, &refusal));
    offer_request_discard(&offer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_raw_offer_has_the_session_of_its_secret),
        cmocka_unit_test(a_form_lays_its_session_over_it),
        cmocka_unit_test(what_is_no_offer_has_its_own_answer),
        cmocka_unit_test(an_offer_of_64_kb_is_taken_and_one_more_byte_is_not),
        cmocka_unit_test(the_longest_session_is_what_the_client_could_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
