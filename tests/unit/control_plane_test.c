/* control_plane_test.c - who is heard, lost, back and forgotten; time is what the test says */
#include "tests/unit/signaling_world.h"

#include "tests/capture.h"

static struct capture printed; /* by the last call of a capturing function */

static uint64_t in_state(int control_state)
{
    return metric_get(&control_plane_counts(world.plane)->transceivers[control_state]);
}

static uint64_t heard(enum fleet_news news)
{
    return metric_get(&control_plane_counts(world.plane)->announcements_total[news]);
}

/* Gives the plane what has come on the wire, as of now_us. */
static void hear(uint64_t now_us)
{
    struct http_event event;
    http_server_wait(world.http, clock_now_us() + 5 * US_PER_MS);
    while (http_server_take(world.http, &event)) {
        assert_int_equal(event.kind, HTTP_EVENT_READABLE);
        control_plane_readable(world.plane, event.tag, now_us);
    }
}

/* The transceiver speaks until it is heard: NNG connects in the background. */
static void speak(enum fleet_news news, uint64_t now_us)
{
    const uint64_t before = heard(news);
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    capture_begin(&printed);
    while (heard(news) == before && clock_now_us() < give_up_us) {
        world_announce();
        hear(now_us);
    }
    capture_end(&printed);
    assert_true(heard(news) > before);
}

static void tick(uint64_t now_us)
{
    capture_begin(&printed);
    control_plane_tick(world.plane, now_us);
    capture_end(&printed);
}

#define T (1000 * US_PER_S)

static void an_instance_is_known_lost_once_and_back(void **state)
{
    (void)state;
    speak(FLEET_ADDED, T);
    assert_non_null(strstr(printed.text, "transceiver.known instance=5eed0001 name=kit"));
    tick(T + FLEET_LEASE_US);
    assert_string_equal(printed.text, "");
    assert_int_equal(in_state(CONTROL_STATE_READY), 1);
    tick(T + FLEET_LEASE_US + 1);
    assert_non_null(strstr(printed.text, "level=warn"));
    assert_non_null(
        strstr(printed.text, "transceiver.lost instance=5eed0001 name=kit state=ready"));
    assert_int_equal(in_state(CONTROL_PLANE_SILENT), 1);
    tick(T + FLEET_LEASE_US + US_PER_S);
    assert_string_equal(printed.text, "");
    speak(FLEET_UPDATED, T + 10 * US_PER_S);
    assert_non_null(strstr(printed.text, "transceiver.back instance=5eed0001 name=kit"));
    speak(FLEET_UPDATED, T + 11 * US_PER_S);
    assert_string_equal(printed.text, "");
    tick(T + 11 * US_PER_S);
    assert_int_equal(in_state(CONTROL_STATE_READY), 1);
}

static void after_a_minute_of_silence_it_is_forgotten_and_its_slot_is_free(void **state)
{
    (void)state;
    speak(FLEET_ADDED, T);
    tick(T + FLEET_MEMORY_US);
    assert_int_equal(fleet_slot_end(control_plane_fleet(world.plane)), 1);
    tick(T + FLEET_MEMORY_US + 1);
    assert_non_null(strstr(printed.text, "transceiver.forgotten instance=5eed0001"));
    assert_int_equal(fleet_slot_end(control_plane_fleet(world.plane)), 0);
    speak(FLEET_ADDED, T + FLEET_MEMORY_US + US_PER_S);
    assert_non_null(strstr(printed.text, "transceiver.known"));
    tick(T + FLEET_MEMORY_US + 2 * US_PER_S);
    assert_string_equal(printed.text, "");
}

static void a_name_that_is_no_word_is_escaped(void **state)
{
    (void)state;
    (void)snprintf(world.said.name, sizeof(world.said.name), "a b\nlevel=error");
    speak(FLEET_ADDED, T);
    assert_non_null(strstr(printed.text, "name=a%20b%0Alevel=error state=ready"));
}

static void what_is_no_announcement_is_counted(void **state)
{
    (void)state;
    speak(FLEET_ADDED, T);
    assert_true(message_port_send(world.pub, bytes_view_of_text("no protobuf at all")));
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    while (metric_get(&control_plane_counts(world.plane)->malformed_total) == 0) {
        assert_true(clock_now_us() < give_up_us);
        hear(T);
    }
}

static void an_address_that_can_not_be_dialled_takes_no_request(void **state)
{
    (void)state;
    const struct control_request request = {.kind = CONTROL_END_SESSION};
    (void)snprintf(world.said.control_url, sizeof(world.said.control_url), "ipc:///tmp/x");
    speak(FLEET_ADDED, T);
    assert_non_null(strstr(printed.text, "transceiver.unreachable instance=5eed0001"));
    assert_int_equal(metric_get(&control_plane_counts(world.plane)->unreachable_total), 1);
    assert_false(control_plane_submit(world.plane, WORLD_INSTANCE, 1, &request, T + US_PER_S));
}

static void only_a_known_instance_can_be_asked(void **state)
{
    (void)state;
    struct session_outcome outcome;
    const struct control_request request = {.kind = CONTROL_END_SESSION,
                                            .body.end_session.call.call_id = "rtc_x"};
    speak(FLEET_ADDED, T);
    assert_false(control_plane_submit(world.plane, WORLD_INSTANCE + 1, 1, &request, T + 9));
    assert_int_equal(control_plane_next_timeout(world.plane), TIME_NEVER);
    assert_true(control_plane_submit(world.plane, WORLD_INSTANCE, 1, &request, T + 9));
    assert_true(control_plane_next_timeout(world.plane) <= T + 9);
    assert_true(control_plane_next(world.plane, &outcome, T + 9)); /* its time is over */
    assert_int_equal(outcome.ticket, 1);
    assert_int_equal(outcome.instance_id, WORLD_INSTANCE);
    assert_int_equal(outcome.kind, SESSION_UNSENT);
    assert_false(control_plane_next(world.plane, &outcome, T + 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(an_instance_is_known_lost_once_and_back),
        WORLD_TEST(after_a_minute_of_silence_it_is_forgotten_and_its_slot_is_free),
        WORLD_TEST(a_name_that_is_no_word_is_escaped),
        WORLD_TEST(what_is_no_announcement_is_counted),
        WORLD_TEST(an_address_that_can_not_be_dialled_takes_no_request),
        WORLD_TEST(only_a_known_instance_can_be_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
