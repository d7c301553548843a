/* http_response_test.c - heads and error bodies as the client contract has them */
#include "tests/testing.h"

#include "services/signaling/http_response.h"

#include <jansson.h>

static const struct http_origins any_origin = {.is_any = true};
static const struct http_origins one_origin = {.allowed = {"https://app.example"},
                                               .allowed_count = 1};

static char head[HTTP_HEAD_BYTES_MAX + 1];

static const char *head_of(const struct http_response *r, struct http_head_context context)
{
    const size_t len = http_response_head(r, &context, head);
    head[len] = '\0';
    assert_string_equal(head + len - 4, "\r\n\r\n");
    return head;
}

static bool has_line(const char *text, const char *line)
{
    const char *found = strstr(text, line);
    return found != NULL && strncmp(found + strlen(line), "\r\n", 2) == 0 &&
           strncmp(found - 2, "\r\n", 2) == 0;
}

static void an_answer_carries_its_fields_and_a_date(void **state)
{
    (void)state;
    const struct http_response r = {.status = 201,
                                    .content_type = "application/sdp",
                                    .location = "/v1/realtime/calls/rtc_x",
                                    .etag = "\"0\"",
                                    .body = bytes_view_of_text("v=0\r\n")};
    const char *text =
        head_of(&r, (struct http_head_context){.origins = &any_origin, .unix_s = 784111777});
    assert_memory_equal(text, "HTTP/1.1 201 Created\r\n", 22);
    assert_true(has_line(text, "Date: Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_true(has_line(text, "Content-Type: application/sdp"));
    assert_true(has_line(text, "Content-Length: 5"));
    assert_true(has_line(text, "Location: /v1/realtime/calls/rtc_x"));
    assert_true(has_line(text, "ETag: \"0\""));
    assert_true(has_line(text, "Access-Control-Allow-Origin: *"));
    assert_true(has_line(text, "Access-Control-Expose-Headers: Location, ETag, Link, "
                               "Accept-Patch, Retry-After, x-request-id"));
    assert_null(strstr(text, "Access-Control-Allow-Methods"));
    assert_null(strstr(text, "Connection"));
    assert_null(strstr(text, "Retry-After: "));
    assert_null(strstr(text, "Credentials"));
}

static void a_204_has_no_length_and_a_last_answer_says_close(void **state)
{
    (void)state;
    const struct http_response r = {.status = 204};
    const char *text =
        head_of(&r, (struct http_head_context){.origins = &any_origin, .is_last = true});
    assert_null(strstr(text, "Content-Length"));
    assert_true(has_line(text, "Connection: close"));
}

static void a_preflight_names_methods_age_and_the_headers_asked_for(void **state)
{
    (void)state;
    const struct http_response r = {.status = 204, .is_preflight = true};
    struct http_head_context context = {
        .origins = &any_origin,
        .asked_request_headers = bytes_view_of_text("authorization, x-openai-agents-sdk")};
    const char *text = head_of(&r, context);
    assert_true(has_line(text, "Access-Control-Allow-Methods: POST, GET, PATCH, DELETE, OPTIONS"));
    assert_true(has_line(text, "Access-Control-Allow-Headers: authorization, x-openai-agents-sdk"));
    assert_true(has_line(text, "Access-Control-Max-Age: 600"));
    context.asked_request_headers = bytes_view_of_text("authorization, cookie");
    assert_null(strstr(head_of(&r, context), "Access-Control-Allow-Headers"));
}

static void a_listed_origin_is_named_and_a_foreign_one_is_not(void **state)
{
    (void)state;
    const struct http_response r = {.status = 200};
    struct http_head_context context = {.origins = &one_origin,
                                        .origin = bytes_view_of_text("https://app.example")};
    const char *text = head_of(&r, context);
    assert_true(has_line(text, "Access-Control-Allow-Origin: https://app.example"));
    assert_true(has_line(text, "Vary: Origin"));
    context.origin = bytes_view_of_text("https://app.example.evil");
    text = head_of(&r, context);
    assert_null(strstr(text, "Access-Control-Allow-Origin"));
    assert_true(has_line(text, "Vary: Origin"));
}

static json_t *error_of(const struct http_response *r)
{
    const struct bytes_view body = http_response_body(r);
    json_t *root = json_loadb((const char *)body.data, body.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    return root;
}

static void assert_error(const struct http_response *r, const char *message, const char *code)
{
    json_t *root = error_of(r);
    json_t *error = json_object_get(root, "error");
    assert_string_equal(json_string_value(json_object_get(error, "message")), message);
    assert_string_equal(json_string_value(json_object_get(error, "type")), "invalid_request_error");
    assert_string_equal(json_string_value(json_object_get(error, "code")), code);
    assert_true(json_is_null(json_object_get(error, "param")));
    json_decref(root);
}

static void an_error_body_is_json_whatever_the_message_holds(void **state)
{
    (void)state;
    struct http_response r =
        http_response_error(400, "invalid_offer", bytes_view_of_text("line 3: no \"ufrag\"\n"));
    assert_int_equal(r.status, 400);
    assert_string_equal(r.content_type, "application/json");
    assert_error(&r, "line 3: no \"ufrag\"\n", "invalid_offer");

    static const char plain[] = "The server could not say what went wrong.";
    r = http_response_error(400, "invalid_offer", bytes_view_of_text("\xff"));
    assert_error(&r, plain, "internal");
    char control_characters[255];
    memset(control_characters, 1, sizeof(control_characters)); /* six bytes each, escaped */
    r = http_response_error(400, "invalid_offer",
                            bytes_view_of(control_characters, sizeof(control_characters)));
    assert_error(&r, plain, "internal");
}

static void the_longest_head_fits(void **state)
{
    (void)state;
    static struct http_origins origins = {.allowed_count = 1};
    memset(origins.allowed[0], 'o', HTTP_ORIGIN_CHARS_MAX);
    char asked[HTTP_ASKED_CHARS_MAX + 1];
    memset(asked, 'a', sizeof(asked));
    memcpy(asked, "x-openai-", 9);
    struct http_response r = {.status = 201,
                              .content_type = "text/javascript; charset=utf-8",
                              .etag = "\"65535\"",
                              .allow = http_route_allow(HTTP_CALL),
                              .accept_post = "application/sdp",
                              .cache_control = "no-cache",
                              .page_policy = "default-src 'self'; media-src 'self' blob:; "
                                             "object-src 'none'; base-uri 'none'; "
                                             "frame-ancestors 'none'; form-action 'none'",
                              .retry_after_s = 4294967295,
                              .is_preflight = true};
    memset(r.location, 'l', sizeof(r.location) - 1);
    struct http_head_context context = {
        .origins = &origins,
        .origin = bytes_view_of(origins.allowed[0], HTTP_ORIGIN_CHARS_MAX),
        .asked_request_headers = bytes_view_of(asked, HTTP_ASKED_CHARS_MAX),
        .is_last = true,
        .unix_s = UINT32_MAX};
    assert_non_null(strstr(head_of(&r, context), "Access-Control-Allow-Headers"));
    context.asked_request_headers.len++; /* too many to echo */
    assert_null(strstr(head_of(&r, context), "Access-Control-Allow-Headers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_carries_its_fields_and_a_date),
        cmocka_unit_test(a_204_has_no_length_and_a_last_answer_says_close),
        cmocka_unit_test(a_preflight_names_methods_age_and_the_headers_asked_for),
        cmocka_unit_test(a_listed_origin_is_named_and_a_foreign_one_is_not),
        cmocka_unit_test(an_error_body_is_json_whatever_the_message_holds),
        cmocka_unit_test(the_longest_head_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
