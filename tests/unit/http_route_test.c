/* http_route_test.c - each path names one resource, and a near miss names none of ours */
#include "tests/testing.h"

#include "services/signaling/http_route.h"

static void each_path_leads_where_the_table_says(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum http_resource resource;
        bool is_whip;
        const char *call_id;
    } path_case[] = {
        {"/v1/realtime/calls", HTTP_CALLS, false, ""},
        {"/whip", HTTP_CALLS, true, ""},
        {"/v1/realtime/calls/rtc_x", HTTP_CALL, false, "rtc_x"},
        {"/whip/rtc_x", HTTP_CALL, true, "rtc_x"},
        {"/v1/realtime/calls/rtc_x/hangup", HTTP_HANGUP, false, "rtc_x"},
        {"/healthz", HTTP_HEALTH, false, ""},
        {"/readyz", HTTP_READY, false, ""},
        {"/", HTTP_FILE, false, ""},
        {"/app.js", HTTP_FILE, false, ""},
        {"", HTTP_FILE, false, ""},
        {"/v1/realtime/calls/", HTTP_FILE, false, ""},
        {"/v1/realtime/callsx", HTTP_FILE, false, ""},
        {"/v1/realtime/calls/rtc_x/", HTTP_FILE, false, ""},
        {"/v1/realtime/calls/rtc_x/hangup/", HTTP_FILE, false, ""},
        {"/v1/realtime/calls//hangup", HTTP_FILE, false, ""},
        {"/v1/realtime/calls/rtc_x/other", HTTP_FILE, false, ""},
        {"/whip/rtc_x/hangup", HTTP_FILE, false, ""},
        {"/whipx", HTTP_FILE, false, ""},
        {"/healthz/", HTTP_FILE, false, ""},
        {"/v1/realtime", HTTP_REALTIME, false, ""},
        {"/v1/realtime/", HTTP_FILE, false, ""},
        {"/v1/realtime/client_secrets", HTTP_CLIENT_SECRETS, false, ""},
        {"/v1/realtime/client_secrets/x", HTTP_FILE, false, ""},
        {"/demo/secret", HTTP_DEMO_SECRET, false, ""},
        {"/demo", HTTP_FILE, false, ""},
    };
    for (size_t i = 0; i < COUNT_OF(path_case); i++) {
        const struct http_route route = http_route_find(bytes_view_of_text(path_case[i].path));
        assert_int_equal(route.resource, path_case[i].resource);
        assert_int_equal(route.is_whip, path_case[i].is_whip);
        assert_true(bytes_equal(route.call_id, bytes_view_of_text(path_case[i].call_id)));
    }
}

static void the_allow_field_names_exactly_the_methods_that_are_allowed(void **state)
{
    (void)state;
    static const char *const name[] = {
        [HTTP_GET] = "GET",        [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",        [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
        [HTTP_OPTIONS] = "OPTIONS"};
    static const enum http_resource resource[] = {HTTP_CALLS,  HTTP_CALL,  HTTP_HANGUP,
                                                  HTTP_HEALTH, HTTP_READY, HTTP_FILE};
    for (size_t i = 0; i < COUNT_OF(resource); i++) {
        for (int method = 0; method < HTTP_METHOD_COUNT; method++) {
            const bool is_named = strstr(http_route_allow(resource[i]), name[method]) != NULL;
            assert_int_equal(http_route_allows(resource[i], (enum http_method)method), is_named);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_leads_where_the_table_says),
        cmocka_unit_test(the_allow_field_names_exactly_the_methods_that_are_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
