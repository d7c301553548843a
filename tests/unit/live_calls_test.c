/* live_calls_test.c - calls of one client secret: so many may live, and each end is learnt of */
#include "tests/unit/signaling_world.h"

#include "services/signaling/call_operations.h"

#define CALLS_MAX 8

/* A new secret, as the line of a request. */
static void make_secret(char line[CLIENT_SECRET_CHARS_MAX + 64])
{
    world.config.limits.offers_per_minute_per_secret = 0; /* another limit */
    static char text[CLIENT_SECRET_CHARS_MAX + 1];
    const struct auth_identity who = {.tenant = {1}};
    const struct auth_wish wish = {
        .who = &who, .unix_s = clock_unix_us() / US_PER_S, .life_s = 600};
    struct client_secret made;
    assert_int_equal(
        auth_make_secret(access_gate_auth(world.access), &wish, random_system(), text, &made),
        CLIENT_SECRET_SEALED);
    (void)snprintf(line, CLIENT_SECRET_CHARS_MAX + 64, "Authorization: Bearer %s\r\n", text);
}

static unsigned call(const char *secret)
{
    static char lines[CLIENT_SECRET_CHARS_MAX + 256];
    (void)snprintf(lines, sizeof(lines), "%sContent-Type: application/sdp\r\nContent-Length: 5\r\n",
                   secret);
    (void)world_ask("POST /v1/realtime/calls", lines, "v=0\r\n");
    WORLD_UNTIL(calls_api_is_idle(world.calls));
    return (unsigned)strtoul(world.answer + strlen("HTTP/1.1 "), NULL, 10);
}

static void call_all(const char *secret)
{
    for (int i = 0; i < CALLS_MAX; i++) {
        assert_int_equal(call(secret), 201);
    }
    assert_int_equal(call(secret), 429);
}

/* The call of the last answer. */
static void read_call_id(char id[64])
{
    assert_int_equal(
        sscanf(strstr(world.answer, "Location: "), "Location: /v1/realtime/calls/%63s", id), 1);
}

static void bring_news(void)
{
    struct call_news news;
    while (call_watch_next(control_plane_watch(world.plane), control_plane_fleet(world.plane),
                           &news, clock_now_us())) {
        assert_int_equal(news.listener, CALL_WATCH_SECRET);
        calls_api_news(world.calls, &news);
    }
}

static void eight_calls_of_a_secret_may_live(void **state)
{
    (void)state;
    static char one[CLIENT_SECRET_CHARS_MAX + 64];
    static char other[CLIENT_SECRET_CHARS_MAX + 64];
    make_secret(one);
    make_secret(other);
    world_start_transceiver();
    call_all(one);
    assert_non_null(strstr(world.answer, "rate_limit_exceeded"));
    assert_non_null(strstr(world.answer, "This client secret has all the calls"));
    assert_null(strstr(world.answer, "Retry-After:")); /* to wait ends none of them */
    assert_int_equal(
        metric_get(&access_gate_counts(world.access)->limited_total[ACCESS_LIMIT_SECRET_CALLS]), 1);
    call_all(other);
    assert_int_equal(call(""), 201); /* an API key has no such limit */
}

static void a_call_that_ends_makes_room_for_another(void **state)
{
    (void)state;
    static char secret[CLIENT_SECRET_CHARS_MAX + 64];
    char id[64];
    make_secret(secret);
    world_start_transceiver();
    assert_int_equal(call(secret), 201);
    read_call_id(id);
    for (int i = 1; i < CALLS_MAX; i++) {
        assert_int_equal(call(secret), 201);
    }
    assert_int_equal(call(secret), 429);
    call_watch_note_ended(control_plane_watch(world.plane), id, bytes_view_of_text("hangup"));
    bring_news();
    assert_int_equal(call(secret), 201);
    assert_int_equal(call(secret), 429);
}

static void an_offer_that_comes_to_nothing_takes_no_place(void **state)
{
    (void)state;
    static char secret[CLIENT_SECRET_CHARS_MAX + 64];
    make_secret(secret);
    world_start_transceiver();
    world.refusal = CONTROL_BAD_OFFER;
    for (int i = 0; i < 2 * CALLS_MAX; i++) {
        assert_int_equal(call(secret), 400);
    }
    world.refusal = CONTROL_REFUSAL_NONE;
    call_all(secret);
}

static void an_end_that_was_told_in_vain_is_found_by_asking(void **state)
{
    (void)state;
    static char secret[CLIENT_SECRET_CHARS_MAX + 64];
    make_secret(secret);
    world_start_transceiver();
    call_all(secret);
    const uint64_t later_us = clock_now_us() + CALL_WATCH_ASK_US;
    world_live_until(later_us);
    call_operations_ask(world.calls, later_us - CALL_WATCH_ASK_US / 2);
    assert_true(calls_api_is_idle(world.calls));
    call_operations_ask(world.calls, later_us);
    WORLD_UNTIL(calls_api_is_idle(world.calls));
    assert_int_equal(world.asked, CALLS_MAX);
    bring_news();
    assert_int_equal(call(secret), 429); /* all are there */

    world.is_forgetful = true;
    world_live_until(later_us + CALL_WATCH_ASK_US);
    call_operations_ask(world.calls, later_us + CALL_WATCH_ASK_US);
    WORLD_UNTIL(calls_api_is_idle(world.calls));
    assert_int_equal(world.asked, 2 * CALLS_MAX);
    bring_news();
    call_all(secret);
}

static void a_transceiver_that_is_silent_is_not_asked(void **state)
{
    (void)state;
    static char secret[CLIENT_SECRET_CHARS_MAX + 64];
    make_secret(secret);
    world_start_transceiver();
    assert_int_equal(call(secret), 201);
    call_operations_ask(world.calls,
                        clock_now_us() + 2 * CALL_WATCH_ASK_US); /* its lease is over */
    assert_true(calls_api_is_idle(world.calls));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(eight_calls_of_a_secret_may_live),
        WORLD_TEST(a_call_that_ends_makes_room_for_another),
        WORLD_TEST(an_offer_that_comes_to_nothing_takes_no_place),
        WORLD_TEST(an_end_that_was_told_in_vain_is_found_by_asking),
        WORLD_TEST(a_transceiver_that_is_silent_is_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
