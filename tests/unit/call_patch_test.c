/* call_patch_test.c - PATCH of a call by itself, and through the service */
#include "tests/unit/signaling_world.h"

#define FRAGMENT "a=ice-ufrag:new1\r\na=ice-pwd:0123456789012345678901\r\n"

/* --- by itself -------------------------------------------------------------------------------- */

static struct http_request patch_request(const char *if_match)
{
    return (struct http_request){.method = HTTP_PATCH,
                                 .content_type = bytes_view_of_text(CALL_PATCH_TYPE),
                                 .if_match = bytes_view_of_text(if_match),
                                 .has_length = true,
                                 .body = bytes_view_of_text(FRAGMENT)};
}

static unsigned read_status(const struct http_request *request, struct control_update_session *out)
{
    struct http_response refusal = {0};
    enum call_patch_outcome outcome = CALL_PATCH_OUTCOME_COUNT;
    const bool is_good = call_patch_read(request, out, &refusal, &outcome);
    assert_int_equal(is_good, refusal.status == 0);
    assert_int_equal(outcome,
                     refusal.status == 412 ? CALL_PATCH_OTHER_GENERATION : CALL_PATCH_BAD_REQUEST);
    return refusal.status;
}

/* RFC 9725 s.4.3: "*" restarts, a strong entity tag is of one ICE generation. */
static void if_match_says_what_is_asked(void **state)
{
    (void)state;
    static const struct {
        const char *if_match;
        unsigned status;
        bool restarts_ice;
        unsigned generation;
    } row[] = {
        {"*", 0, true, 0},
        {"\"*\"", 0, true, 0},
        {"\"0\"", 0, false, 0},
        {"\"7\"", 0, false, 7},
        {"\"255\"", 0, false, 255},
        {"\"256\"", 412, false, 0},
        {"\"4294967297\"", 412, false, 0},
        {"\"\"", 412, false, 0},
        {"\"", 412, false, 0},
        {"0", 412, false, 0},
        {"\"x\"", 412, false, 0},
        {"\"0\", \"1\"", 412, false, 0},
        {"W/\"0\"", 412, false, 0}, /* weak tags never match (RFC 9110 s.13.1.1) */
        {"**", 412, false, 0},
        {"", 428, false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct control_update_session update;
        const struct http_request request = patch_request(row[i].if_match);
        assert_int_equal(read_status(&request, &update), row[i].status);
        if (row[i].status == 0) {
            assert_int_equal(update.restarts_ice, row[i].restarts_ice);
            assert_int_equal(update.ice_generation, row[i].generation);
            assert_true(bytes_equal(update.sdpfrag, request.body));
        }
    }
}

static void what_is_no_fragment_is_refused(void **state)
{
    (void)state;
    static const uint8_t large[CONTROL_SDPFRAG_BYTES_MAX + 1];
    struct control_update_session update;
    struct http_request request = patch_request("*");
    request.content_type = bytes_view_of_text("application/sdp");
    assert_int_equal(read_status(&request, &update), 415);
    request = patch_request("*");
    request.has_length = false;
    assert_int_equal(read_status(&request, &update), 411);
    request = patch_request("*");
    request.body = bytes_view_of(large, sizeof(large));
    assert_int_equal(read_status(&request, &update), 413);
    request.body.len--;
    assert_int_equal(read_status(&request, &update), 0);
}

static void each_outcome_has_its_answer(void **state)
{
    (void)state;
    static const struct {
        enum control_refusal refusal;
        unsigned status;
        enum call_patch_outcome outcome;
    } row[] = {
        {CONTROL_BAD_OFFER, 400, CALL_PATCH_BAD_REQUEST},
        {CONTROL_TOO_LARGE, 503, CALL_PATCH_NO_ANSWER},
        {CONTROL_INTERNAL, 503, CALL_PATCH_NO_ANSWER},
        {CONTROL_NOT_FOUND, 404, CALL_PATCH_NOT_FOUND},
        {CONTROL_NOT_IMPLEMENTED, 422, CALL_PATCH_REFUSED},
        {CONTROL_OTHER_GENERATION, 412, CALL_PATCH_OTHER_GENERATION},
        {CONTROL_RESTARTS_USED_UP, 422, CALL_PATCH_REFUSED},
    };
    enum call_patch_outcome outcome;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const struct session_outcome o = {
            .kind = SESSION_REPLIED,
            .reply = {.refusal = row[i].refusal, .message = bytes_view_of_text("as told")}};
        assert_int_equal(call_patch_response(&o, &outcome).status, row[i].status);
        assert_int_equal(outcome, row[i].outcome);
    }
    struct session_outcome o = {.kind = SESSION_SILENT};
    assert_int_equal(call_patch_response(&o, &outcome).status, 503);
    assert_int_equal(outcome, CALL_PATCH_NO_ANSWER);
    o = (struct session_outcome){.kind = SESSION_REPLIED, .reply.kind = CONTROL_END_SESSION};
    assert_int_equal(call_patch_response(&o, &outcome).status, 503);
    o = (struct session_outcome){.kind = SESSION_REPLIED,
                                 .reply = {.kind = CONTROL_UPDATE_SESSION,
                                           .ice_generation = 255,
                                           .sdpfrag = bytes_view_of_text("a=ice-lite\r\n")}};
    const struct http_response r = call_patch_response(&o, &outcome);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.etag, "\"255\"");
    assert_int_equal(outcome, CALL_PATCH_RESTARTED);
}

static void every_outcome_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < CALL_PATCH_OUTCOME_COUNT; i++) {
        assert_non_null(call_patch_outcome_name((enum call_patch_outcome)i));
    }
}

/* --- through the service ---------------------------------------------------------------------- */

static uint64_t patches(enum call_patch_outcome outcome)
{
    return metric_get(&calls_api_counts(world.calls)->patches_total[outcome]);
}

static const char *make_call(void)
{
    static char path[128];
    world_start_transceiver();
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(201, "Accept-Patch: " CALL_PATCH_TYPE));
    const char *found = strstr(world.answer, "Location: ");
    assert_non_null(found);
    assert_int_equal(sscanf(found, "Location: %127s", path), 1);
    return path;
}

static const char *patch(const char *path, const char *if_match)
{
    char first_line[160];
    char lines[200];
    (void)snprintf(first_line, sizeof(first_line), "PATCH %s", path);
    (void)snprintf(lines, sizeof(lines),
                   "Content-Type: " CALL_PATCH_TYPE "\r\nContent-Length: %zu\r\nIf-Match: %s\r\n",
                   strlen(FRAGMENT), if_match);
    return world_ask(first_line, lines, FRAGMENT);
}

static void a_restart_is_answered_by_the_calls_own_transceiver(void **state)
{
    (void)state;
    const char *path = make_call();
    (void)patch(path, "*");
    assert_true(world_answer_is(200, WORLD_FRAGMENT));
    assert_non_null(strstr(world.answer, "ETag: \"1\"\r\n"));
    assert_non_null(strstr(world.answer, "Content-Type: " CALL_PATCH_TYPE "\r\n"));
    assert_string_equal(world.update.call.call_id, strrchr(path, '/') + 1);
    assert_true(world.update.restarts_ice);
    assert_int_equal(world.update.ingress_count, 1);
    assert_int_equal(patches(CALL_PATCH_RESTARTED), 1);
    assert_true(calls_api_is_idle(world.calls));
}

static void candidates_get_no_content(void **state)
{
    (void)state;
    const char *path = make_call();
    (void)patch(path, "\"1\"");
    assert_true(world_answer_is(204, ""));
    assert_null(strstr(world.answer, "\r\nETag:"));
    assert_int_equal(world.update.ice_generation, 1);
    assert_int_equal(patches(CALL_PATCH_CANDIDATES), 1);
    assert_true(calls_api_is_idle(world.calls));
}

static void what_cannot_be_done_leaves_nothing_behind(void **state)
{
    (void)state;
    const char *path = make_call();
    world.refusal = CONTROL_RESTARTS_USED_UP;
    (void)patch(path, "*");
    assert_true(world_answer_is(422, "as told"));
    (void)patch("/whip/rtc_x", "*");
    assert_true(world_answer_is(404, "call_id_not_found"));
    world_be_silent();
    (void)patch(path, "*");
    assert_true(world_answer_is(503, "Retry-After: 1"));
    assert_int_equal(patches(CALL_PATCH_REFUSED), 1);
    assert_int_equal(patches(CALL_PATCH_NOT_FOUND), 1);
    assert_int_equal(patches(CALL_PATCH_NO_ANSWER), 1);
    assert_true(calls_api_is_idle(world.calls));
}

/* Not after the patience that a silent one gets. */
static void a_lost_transceiver_is_not_asked(void **state)
{
    (void)state;
    const char *path = make_call();
    world.is_announcing = false;
    world.is_silent = true;
    const struct fleet *fleet = control_plane_fleet(world.plane);
    WORLD_UNTIL(!fleet_instance_is_live(fleet_at(fleet, 0), clock_now_us()));
    (void)patch(path, "*");
    assert_true(world_answer_is(503, "does not answer"));
    assert_int_equal(world.updated, 0);
}

static void a_client_that_leaves_takes_its_patch_with_it(void **state)
{
    (void)state;
    char text[512];
    const char *path = make_call();
    (void)snprintf(text, sizeof(text),
                   "PATCH %s HTTP/1.1\r\nHost: x\r\nContent-Type: " CALL_PATCH_TYPE
                   "\r\nIf-Match: *\r\nContent-Length: %zu\r\n\r\n" FRAGMENT,
                   path, strlen(FRAGMENT));
    const int fd = world_send(text);
    WORLD_UNTIL(!calls_api_is_idle(world.calls));
    (void)close(fd);
    WORLD_UNTIL(calls_api_is_idle(world.calls));
    assert_int_equal(world.updated, 1);
    assert_int_equal(world.ended, 0); /* the call lives on */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(if_match_says_what_is_asked),
        cmocka_unit_test(what_is_no_fragment_is_refused),
        cmocka_unit_test(each_outcome_has_its_answer),
        cmocka_unit_test(every_outcome_has_a_name),
        WORLD_TEST(a_restart_is_answered_by_the_calls_own_transceiver),
        WORLD_TEST(candidates_get_no_content),
        WORLD_TEST(what_cannot_be_done_leaves_nothing_behind),
        WORLD_TEST(a_lost_transceiver_is_not_asked),
        WORLD_TEST(a_client_that_leaves_takes_its_patch_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
