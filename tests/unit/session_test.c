/* session_test.c - a call of a client and a scripted backend: its begin, deadlines and size */
#include "tests/unit/session_world.h"

#include <malloc.h>

/* --- begin ------------------------------------------------------------------------------------ */

static void a_call_begins_with_start_then_connected_then_voice_both_ways(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain);
    assert_said(&w, 0, BACKEND_SESSION_START, "rtc_test");
    assert_int_equal(session_id(w.session), ID);
    assert_string_equal(session_call_id(w.session), "rtc_test");
    assert_int_equal(session_tenant(w.session)[1], 2);
    accept(&w);
    hear_audio(&w, 1, 100, true); /* allowed at once: it waits for the client */
    assert_int_equal(w.said_count, 1);
    run_for(&w, US_PER_S);
    assert_said(&w, 1, BACKEND_CONNECTED, "udp");
    assert_said(&w, 2, BACKEND_PLAYBACK, "started");
    assert_said(&w, 3, BACKEND_PLAYBACK, "played");
    assert_int_equal(w.said_count, 4);
    assert_in_range(w.audio_in_count, 40, 50);
    assert_true(sim_client_heard(w.client)->packets > 40);
    assert_int_equal(w.event_count, 1);
    assert_int_equal(w.event[0].kind, SESSION_EVENT_CONNECTED);
    const struct session_timeline *t = session_timeline(w.session);
    assert_true(t->created_us == BEGIN_US);
    assert_true(t->created_us < t->first_check_us);
    assert_true(t->first_check_us < t->connected_us);
    assert_true(t->connected_us <= t->first_audio_in_us);
    assert_true(t->connected_us <= t->first_audio_out_us);
    assert_true(t->ended_us == 0);
    close_world(&w);
}

static void a_client_that_speaks_pauses_the_reply_if_the_backend_wants_it(void **state)
{
    (void)state;
    for (int pauses = 0; pauses <= 1; pauses++) {
        struct world w;
        open_world(&w, &plain);
        hear(&w, BACKEND_SESSION_ACCEPT,
             pauses == 1 ? "{\"in\":\"pcm16/16000\",\"out\":\"pcm16/16000\",\"progress_ms\":0,"
                           "\"on_speech\":\"pause\"}"
                         : "{\"in\":\"pcm16/16000\",\"out\":\"pcm16/16000\",\"progress_ms\":0}");
        hear_audio(&w, 1, 1000, false);
        run_for(&w, 500 * US_PER_MS);
        assert_int_equal(w.speech_count, 1);
        assert_int_equal(w.said_count, 3 + pauses);
        assert_said(&w, 2, BACKEND_PLAYBACK, "started");
        if (pauses == 1) {
            assert_said(&w, 3, BACKEND_PLAYBACK, "paused");
        }
        close_world(&w);
    }
}

static void voice_flows_only_where_the_clients_direction_lets_it(void **state)
{
    (void)state;
    static const struct {
        const char *direction;
        bool up;
        bool down;
    } c[] = {{"sendrecv", true, true},
             {"sendonly", true, false},
             {"recvonly", false, true},
             {"inactive", false, false}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        const struct wanted wanted = {.direction = c[i].direction};
        open_world(&w, &wanted);
        accept(&w);
        run_for(&w, US_PER_S); /* the client speaks, whatever it offered */
        assert_true(session_is_connected(w.session));
        assert_int_equal(w.audio_in_count > 0, c[i].up);
        assert_int_equal(sim_client_heard(w.client)->packets > 0, c[i].down);
        assert_int_equal(w.rtcp_count > 0, c[i].up || c[i].down);
        close_world(&w);
    }
}

/* --- deadlines -------------------------------------------------------------------------------- */

static void each_deadline_ends_the_call_at_its_microsecond(void **state)
{
    (void)state;
    static const struct {
        struct wanted wanted;
        bool is_accepted;
        uint64_t after_us;
        enum session_end_reason reason;
    } c[] = {
        {{.stays_away = true}, false, 2 * US_PER_S, SESSION_END_BACKEND_UNAVAILABLE},
        {{0}, false, 2 * US_PER_S, SESSION_END_BACKEND_UNAVAILABLE},
        {{.stays_away = true, .setup_timeout_us = 9 * US_PER_S},
         true,
         9 * US_PER_S,
         SESSION_END_SETUP_TIMEOUT},
        {{.setup_timeout_us = US_PER_S, .duration_max_us = 7 * US_PER_S},
         true,
         7 * US_PER_S,
         SESSION_END_DURATION},
        {{.stays_away = true, .duration_max_us = 7 * US_PER_S},
         true,
         7 * US_PER_S,
         SESSION_END_DURATION},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, &c[i].wanted);
        if (c[i].is_accepted) {
            accept(&w);
        }
        run_to(&w, BEGIN_US + c[i].after_us - 1);
        assert_true(session_timeline(w.session)->ended_us == 0);
        run_for(&w, 1);
        assert_ended(&w, c[i].reason, BACKEND_SESSION_END);
        assert_true(session_timeline(w.session)->ended_us == w.now_us);
        close_world(&w);
    }
}

static void a_client_that_falls_silent_is_lost_and_gets_no_goodbye(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    w.link.config.loss_per_mille = SIM_LINK_PER_MILLE;
    run_for(&w, 29 * US_PER_S);
    assert_int_equal(w.event_count, 1);
    const size_t rtcp_before = w.rtcp_count;
    run_for(&w, US_PER_S);
    assert_ended(&w, SESSION_END_CLIENT_LOST, BACKEND_SESSION_END);
    assert_true(session_is_over(w.session));
    assert_in_range(w.rtcp_count, rtcp_before, rtcp_before + 1); /* a report, perhaps, no BYE */
    assert_false(sim_client_heard(w.client)->was_closed);
    close_world(&w);
}

static void a_backend_that_listens_hears_of_the_network_each_second(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain);
    run_for(&w, 1500000); /* within the two seconds that an ACCEPT may take */
    assert_int_equal(w.net_stats_count, 0);
    accept(&w);
    run_for(&w, 3 * US_PER_S);
    assert_int_equal(w.net_stats_count, 3);
    session_backend_lost(w.session, w.now_us);
    run_for(&w, 3 * US_PER_S);
    assert_int_equal(w.net_stats_count, 3);
    close_world(&w);
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* A socket that takes nothing: the clocks run on, and voice is there again when it does. */
static void a_full_outbox_stops_no_clock(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    const struct net_path path = {0};
    while (outbox_reserve(w.outbox) != NULL) {
        outbox_commit(w.outbox, 1, ID, &path);
    }
    const struct backend_frame large = {.session = ID,
                                        .payload = bytes_view_of(w.said, sizeof(w.said))};
    while (outbox_frame_bytes(w.outbox) + sizeof(w.said) < 60000) {
        outbox_add_frame(w.outbox, ID, &large);
    }
    const uint64_t packets_before = session_stats(w.session).voice.packets;
    const uint64_t until_us = w.now_us + 5 * US_PER_S;
    while (w.now_us < until_us) {
        w.now_us = virtual_time_us = session_next_timeout(w.session);
        session_tick(w.session, w.now_us);
        assert_true(session_next_timeout(w.session) > w.now_us);
    }
    assert_in_range(session_stats(w.session).voice.packets - packets_before, 250, 251);
    assert_int_equal(session_stats(w.session).voice.skipped_slots, 0);
    outbox_clear(w.outbox);
    const uint64_t heard_before = sim_client_heard(w.client)->packets;
    run_for(&w, US_PER_S);
    assert_in_range(sim_client_heard(w.client)->packets - heard_before, 49, 51);
    close_world(&w);
}

static void a_start_that_is_too_long_makes_no_session(void **state)
{
    (void)state;
    static char json[BACKEND_MESSAGE_BYTES_MAX];
    struct world w;
    open_world(&w, &plain);
    const struct session_config config = {
        .event_label = "oai-events",
        .session_id = ID,
        .offer = &w.answer.offer,
        .ice_ufrag = w.answer.ufrag,
        .ice_pwd = w.answer.pwd,
        .identity = w.identity,
        .backend_start = {.call_id = "",
                          .credit_us = US_PER_S,
                          .session_json = bytes_view_of(json, sizeof(json))},
        .silences = &silences,
        .outbox = w.outbox,
        .random = random_seeded(&w.random),
    };
    memset(json, ' ', sizeof(json));
    assert_null(session_create(&config, w.now_us));
    drain(&w);
    assert_int_equal(w.said_count, 1); /* of the other one */
    session_destroy(NULL);
    close_world(&w);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A connected call in which nobody has spoken yet, and whose TLS is gone. */
#define IDLE_BYTES_MAX 16384
/* The same with a data channel, whose TLS stays. */
#define IDLE_DATA_BYTES_MAX (90 * 1024)
/* The allocator keeps some freed pieces of each size; of many calls these are few. */
#define IDLE_CALLS 40

static size_t allocated_bytes(void)
{
    const struct mallinfo2 m = mallinfo2(); /* zeros below a sanitizer */
    return m.uordblks + m.hblkhd;
}

static size_t bytes_of_an_idle_call(struct world w[IDLE_CALLS], const struct wanted *wanted)
{
    for (size_t i = 0; i < IDLE_CALLS; i++) {
        open_world(&w[i], wanted);
        accept(&w[i]);
        if (wanted->has_data) {
            (void)sim_data_open(sim_client_data(w[i].client), "oai-events", w[i].now_us);
        }
        run_for(&w[i], 1900 * US_PER_MS);
        assert_true(session_is_connected(w[i].session));
        assert_int_equal(session_stats(w[i].session).channels.opened, wanted->has_data);
    }
    const size_t before = allocated_bytes();
    for (size_t i = 0; i < IDLE_CALLS; i++) {
        session_destroy(w[i].session);
        w[i].session = NULL;
    }
    const size_t taken = (before - allocated_bytes()) / IDLE_CALLS;
    print_message("%zu bytes\n", taken);
    assert_true(taken > 1000 || before == 0);
    for (size_t i = 0; i < IDLE_CALLS; i++) {
        close_world(&w[i]);
    }
    return taken;
}

static void an_idle_call_takes_at_most_16_kilobytes(void **state)
{
    (void)state;
    static struct world w[IDLE_CALLS];
    const struct wanted listens = {.direction = "recvonly"};
    assert_true(bytes_of_an_idle_call(w, &listens) <= IDLE_BYTES_MAX);
}

static void one_with_a_data_channel_takes_at_most_90_kilobytes(void **state)
{
    (void)state;
    static struct world w[IDLE_CALLS];
    const struct wanted wanted = {.direction = "recvonly", .has_data = true};
    assert_true(bytes_of_an_idle_call(w, &wanted) <= IDLE_DATA_BYTES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_begins_with_start_then_connected_then_voice_both_ways),
        cmocka_unit_test(a_client_that_speaks_pauses_the_reply_if_the_backend_wants_it),
        cmocka_unit_test(voice_flows_only_where_the_clients_direction_lets_it),
        cmocka_unit_test(each_deadline_ends_the_call_at_its_microsecond),
        cmocka_unit_test(a_client_that_falls_silent_is_lost_and_gets_no_goodbye),
        cmocka_unit_test(a_backend_that_listens_hears_of_the_network_each_second),
        cmocka_unit_test(a_full_outbox_stops_no_clock),
        cmocka_unit_test(a_start_that_is_too_long_makes_no_session),
        cmocka_unit_test(an_idle_call_takes_at_most_16_kilobytes),
        cmocka_unit_test(one_with_a_data_channel_takes_at_most_90_kilobytes),
    };
    return cmocka_run_group_tests(tests, start_libraries, NULL);
}
