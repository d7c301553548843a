/* http_site_test.c - who answers what, over a real connection */
#include "tests/unit/signaling_world.h"

static void each_path_and_method_has_its_answer(void **state)
{
    (void)state;
    static const struct {
        const char *first_line;
        unsigned status;
        const char *contains;
    } row[] = {
        {"GET /healthz", 200, "\r\n\r\nok\n"},
        {"POST /healthz", 405, "Allow: GET, HEAD, OPTIONS"},
        {"GET /v1/realtime/calls", 204, "Access-Control-Allow-Origin: *"},
        {"HEAD /whip", 204, "nosniff"},
        {"OPTIONS /v1/realtime/calls", 204, "Access-Control-Max-Age: 600"},
        {"OPTIONS /whip", 200, "Accept-Post: application/sdp"},
        {"OPTIONS /nothing", 404, "\"code\":\"not_found\""},
        {"PUT /whip/rtc_x", 405, "Allow: PATCH, DELETE, GET, HEAD, OPTIONS"},
        {"PATCH /whip", 405, "\"code\":\"method_not_allowed\""},
        {"PATCH /whip/rtc_x", 415, "Accept-Patch: application/trickle-ice-sdpfrag"},
        {"OPTIONS /whip/rtc_x", 200, "Accept-Patch: application/trickle-ice-sdpfrag"},
        {"GET /nothing", 404, "\"code\":\"not_found\""},
        {"GET /", 404, "\"code\":\"not_found\""}, /* this site has no page */
        {"DELETE /whip/rtc_x", 404, "\"code\":\"call_id_not_found\""},
        {"POST /v1/realtime/calls/rtc_x/hangup", 404, "\"code\":\"call_id_not_found\""},
        {"POST /whip/rtc_x/hangup", 404, "\"code\":\"not_found\""},
        {"GET /whip/rtc_x", 404, "\"code\":\"call_id_not_found\""},
        {"OPTIONS /v1/realtime", 204, "Accept-Post: application/sdp"},
        {"POST /v1/realtime", 415, "\"code\":\"unsupported_media_type\""},
        {"DELETE /v1/realtime", 405, "Allow: POST, OPTIONS"},
        {"POST /v1/realtime/client_secrets", 200, "{\"value\":\"ek_"},
        {"GET /v1/realtime/client_secrets", 405, "Allow: POST, OPTIONS"},
        {"OPTIONS /v1/realtime/client_secrets", 204, "Access-Control-Allow-Methods"},
        {"POST /demo/secret", 404, "\"code\":\"not_found\""}, /* this site has no demo */
        {"OPTIONS /demo/secret", 404, "\"code\":\"not_found\""},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const bool is_post = strncmp(row[i].first_line, "POST", 4) == 0;
        (void)world_ask(row[i].first_line, is_post ? "Content-Length: 0\r\n" : "", "");
        assert_true(world_answer_is(row[i].status, row[i].contains));
    }
}

static void it_is_ready_when_every_condition_holds(void **state)
{
    (void)state;
    (void)world_ask("GET /readyz", "", "");
    assert_true(world_answer_is(503, "ready_for_all: no\n"));
    metric_set(&world.is_ready, 1);
    (void)world_ask("GET /readyz", "", "");
    assert_true(world_answer_is(200, "ready_for_all: yes\n"));
    assert_non_null(strstr(world.answer, "Cache-Control: no-store"));
}

static void the_page_comes_with_its_policy(void **state)
{
    (void)state;
    char directory[] = "/tmp/earshot_site_XXXXXX";
    char path[64];
    struct fault fault = {0};
    assert_non_null(mkdtemp(directory));
    (void)snprintf(path, sizeof(path), "%s/index.html", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("<p>the page", file) >= 0);
    assert_int_equal(fclose(file), 0);
    struct web_files *files = web_files_load(directory, &fault);
    assert_non_null(files);
    world.site.files = files;
    (void)world_ask("GET /", "", "");
    assert_true(world_answer_is(200, "<p>the page"));
    assert_non_null(strstr(world.answer, "Content-Security-Policy: default-src 'self'"));
    (void)world_ask("DELETE /", "", "");
    assert_true(world_answer_is(405, "Allow: GET, HEAD, OPTIONS"));
    (void)world_ask("OPTIONS /", "", "");
    assert_true(world_answer_is(204, "Access-Control-Allow-Methods"));
    web_files_destroy(files);
    (void)remove(path);
    (void)remove(directory);
}

static void an_offer_goes_to_the_calls(void **state)
{
    (void)state;
    world_start_transceiver();
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(201, WORLD_ANSWER));
    assert_int_equal(world.created, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(each_path_and_method_has_its_answer),
        WORLD_TEST(it_is_ready_when_every_condition_holds),
        WORLD_TEST(the_page_comes_with_its_policy),
        WORLD_TEST(an_offer_goes_to_the_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
