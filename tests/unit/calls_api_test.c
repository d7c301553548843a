/* calls_api_test.c - offers, hang-ups, and that no session is left behind */
#include "tests/unit/signaling_world.h"

#include "services/signaling/call_operations.h"

static uint64_t offers(enum offer_outcome outcome)
{
    return metric_get(&calls_api_counts(world.calls)->offers_total[outcome]);
}

static uint64_t hangups(enum calls_hangup hangup)
{
    return metric_get(&calls_api_counts(world.calls)->hangups_total[hangup]);
}

/* The path in the Location field of the last answer. */
static void read_location(char path[128])
{
    const char *found = strstr(world.answer, "Location: ");
    assert_non_null(found);
    assert_int_equal(sscanf(found, "Location: %127s", path), 1);
}

static const char *hang_up(const char *path)
{
    char first_line[160];
    (void)snprintf(first_line, sizeof(first_line), "DELETE %s", path);
    return world_ask(first_line, "", "");
}

static void a_call_is_made_and_ended_once(void **state)
{
    (void)state;
    char path[128];
    world_start_transceiver();
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(201, WORLD_ANSWER));
    read_location(path);
    assert_memory_equal(path, "/v1/realtime/calls/rtc_A", 24);
    (void)hang_up(path);
    assert_true(world_answer_is(200, ""));
    assert_string_equal(world.ended_reason, "hangup");
    (void)hang_up(path);
    assert_true(world_answer_is(404, "call_id_not_found"));
    assert_int_equal(offers(OFFER_ANSWERED), 1);
    assert_int_equal(hangups(CALLS_ENDED), 1);
    assert_int_equal(hangups(CALLS_NOT_FOUND), 1);
    assert_true(calls_api_is_idle(world.calls));
}

static void what_is_no_offer_reaches_no_transceiver(void **state)
{
    (void)state;
    world_start_transceiver();
    (void)world_ask("POST /whip", "Content-Type: text/plain\r\nContent-Length: 3\r\n", "v=0");
    assert_true(world_answer_is(415, "unsupported_media_type"));
    (void)world_offer("");
    assert_true(world_answer_is(400, "The offer is empty."));
    (void)world_ask("POST /whip", "Content-Type: application/sdp\r\n", "");
    assert_true(world_answer_is(411, "length_required"));
    assert_int_equal(offers(OFFER_BAD_REQUEST), 3);
    assert_int_equal(world.created, 0);
}

static void without_a_transceiver_the_word_is_not_full(void **state)
{
    (void)state;
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(503, "No transceiver is known."));
    assert_non_null(strstr(world.answer, "Retry-After: 1"));
    assert_int_equal(offers(OFFER_NO_TRANSCEIVER), 1);
    assert_int_equal(offers(OFFER_SERVER_OVERLOADED), 0);
}

static void a_silent_transceiver_is_told_to_forget(void **state)
{
    (void)state;
    world_start_transceiver();
    world_be_silent();
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(503, "No transceiver answers."));
    assert_int_equal(offers(OFFER_NO_ANSWER), 1);
    WORLD_UNTIL(world.ended == 1);
    assert_string_equal(world.ended_reason, "client_gone");
}

static void a_refusal_is_told_in_the_words_of_the_contract(void **state)
{
    (void)state;
    world_start_transceiver();
    world.refusal = CONTROL_BAD_OFFER;
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(400, "as told"));
    world.refusal = CONTROL_FULL;
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(503, "server_overloaded"));
    assert_int_equal(offers(OFFER_INVALID), 1);
    assert_int_equal(offers(OFFER_SERVER_OVERLOADED), 1);
}

static void a_client_that_leaves_leaves_no_session(void **state)
{
    (void)state;
    world_start_transceiver();
    world_be_silent(); /* so that the client is gone before the answer */
    const int fd = world_send("POST /whip HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n"
                              "Content-Length: 3\r\n\r\nv=0");
    WORLD_UNTIL(world.created == 1);
    (void)close(fd);
    WORLD_UNTIL(world.ended == 1);
    assert_string_equal(world.ended_reason, "client_gone");
    WORLD_UNTIL(calls_api_is_idle(world.calls));
    assert_int_equal(offers(OFFER_CLIENT_GONE), 1);
    assert_true(metric_get(&calls_api_counts(world.calls)->orphans_total) >= 1);
}

static void ended_and_refused_calls_take_no_place(void **state)
{
    (void)state;
    char path[128];
    world.said.capacity = 1;
    world_start_transceiver();
    world_live_until(clock_now_us() + WORLD_PATIENCE_US);
    for (int i = 0; i < 3; i++) {
        (void)world_offer("v=0\r\n");
        assert_true(world_answer_is(201, WORLD_ANSWER));
        read_location(path);
        (void)hang_up(path);
        assert_true(world_answer_is(200, ""));
        world.refusal = CONTROL_BAD_OFFER;
        (void)world_offer("v=0\r\n");
        assert_true(world_answer_is(400, "as told"));
        world.refusal = CONTROL_REFUSAL_NONE;
    }
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(201, WORLD_ANSWER));
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(503, "No server has room"));
}

static void a_draining_service_takes_no_offer_and_still_hangs_up(void **state)
{
    (void)state;
    char path[128];
    world_start_transceiver();
    (void)world_offer("v=0\r\n");
    read_location(path);
    calls_api_drain(world.calls);
    (void)world_offer("v=0\r\n");
    assert_true(world_answer_is(503, "takes no new call"));
    (void)hang_up(path);
    assert_true(world_answer_is(200, ""));
}

static void a_new_ring_names_calls_and_forgets_those_of_the_old(void **state)
{
    (void)state;
    char old_path[128];
    char new_path[128];
    world_start_transceiver();
    (void)world_offer("v=0\r\n");
    read_location(old_path);
    calls_api_set_ring(world.calls, world_ring(1)); /* without key 00 */
    assert_int_equal(metric_get(&calls_api_counts(world.calls)->key_ids), 2);
    assert_int_equal(metric_get(&calls_api_counts(world.calls)->key_id_active), 1);
    (void)world_offer("v=0\r\n");
    read_location(new_path);
    assert_memory_equal(new_path, "/v1/realtime/calls/rtc_B", 24);
    (void)hang_up(old_path);
    assert_true(world_answer_is(404, "call_id_not_found"));
    (void)hang_up(new_path);
    assert_true(world_answer_is(200, ""));
}

/* Of askers with numbers that http_server never gives. */
#define ASKER UINT64_C(0x7777000000000007)

static struct {
    unsigned status;
    char location[HTTP_LOCATION_CHARS];
    char body[64];
} told;

static bool tell(void *context, uint64_t asker, const struct http_response *answer)
{
    assert_ptr_equal(context, &told);
    if (asker != ASKER) {
        return false;
    }
    const struct bytes_view body = http_response_body(answer);
    told.status = answer->status;
    (void)snprintf(told.location, sizeof(told.location), "%s", answer->location);
    (void)snprintf(told.body, sizeof(told.body), "%.*s", (int)body.len, (const char *)body.data);
    return true;
}

static void an_offer_from_elsewhere_is_told_there(void **state)
{
    (void)state;
    const struct auth_identity who = {.tenant = {1}};
    const struct calls_visitor visitor = {.asker = ASKER, .who = &who};
    struct offer_request offer = {.sdp = bytes_view_of_text("v=0\r\n")};
    world_start_transceiver();
    memset(&told, 0, sizeof(told));
    calls_api_set_teller(world.calls, tell, &told);
    calls_api_place(world.calls, &visitor, &offer, clock_now_us());
    WORLD_UNTIL(told.status != 0);
    assert_int_equal(told.status, 201);
    assert_string_equal(told.body, WORLD_ANSWER);
    calls_api_end(world.calls, ASKER, true, clock_now_us());
    assert_true(calls_api_is_idle(world.calls));
    const struct call_operation operation = {
        .exchange = ASKER,
        .call_id = bytes_view_of_text(strrchr(told.location, '/') + 1),
        .who = &who};
    told.status = 0;
    call_operations_hang_up(world.calls, &operation, clock_now_us());
    WORLD_UNTIL(told.status != 0);
    assert_int_equal(told.status, 200);
    assert_int_equal(world.ended, 1);
    (void)world_offer("v=0\r\n"); /* others are answered over HTTP */
    assert_true(world_answer_is(201, WORLD_ANSWER));
}

static void an_asker_that_leaves_leaves_no_session(void **state)
{
    (void)state;
    const struct auth_identity who = {.tenant = {1}};
    const struct calls_visitor visitor = {.asker = ASKER, .who = &who};
    struct offer_request offer = {.sdp = bytes_view_of_text("v=0\r\n")};
    world_start_transceiver();
    memset(&told, 0, sizeof(told));
    calls_api_set_teller(world.calls, tell, &told);
    calls_api_place(world.calls, &visitor, &offer, clock_now_us());
    calls_api_end(world.calls, ASKER, false, clock_now_us());
    WORLD_UNTIL(world.ended == 1);
    WORLD_UNTIL(calls_api_is_idle(world.calls));
    assert_int_equal(told.status, 0);
    assert_string_equal(world.ended_reason, "client_gone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_call_is_made_and_ended_once),
        WORLD_TEST(what_is_no_offer_reaches_no_transceiver),
        WORLD_TEST(without_a_transceiver_the_word_is_not_full),
        WORLD_TEST(a_silent_transceiver_is_told_to_forget),
        WORLD_TEST(a_refusal_is_told_in_the_words_of_the_contract),
        WORLD_TEST(a_client_that_leaves_leaves_no_session),
        WORLD_TEST(ended_and_refused_calls_take_no_place),
        WORLD_TEST(a_draining_service_takes_no_offer_and_still_hangs_up),
        WORLD_TEST(an_offer_from_elsewhere_is_told_there),
        WORLD_TEST(an_asker_that_leaves_leaves_no_session),
        WORLD_TEST(a_new_ring_names_calls_and_forgets_those_of_the_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
