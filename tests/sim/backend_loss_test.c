/* backend_loss_test.c - calls whose voice agent dies and comes back, in virtual time */
#include "tests/sim/fleet_world.h"

#define AWAY_US (300 * US_PER_MS) /* a few redials */

static struct sim_fleet_config network(uint64_t seed, enum dialogue_mode mode, bool keeps_calls)
{
    print_message("seed %llu\n", (unsigned long long)seed);
    return (struct sim_fleet_config){.seed = seed,
                                     .link.delay_us = 15000,
                                     .cluster.mode = mode,
                                     .cluster.tone_hz = 1000,
                                     .cluster.keeps_calls = keeps_calls};
}

/* How many frames of this type passed since `since_us`, and the first of them. */
static size_t count_frames(const struct sim_fleet *f, unsigned type, uint64_t since_us,
                           struct sim_frame *first)
{
    size_t count = 0;
    size_t frame_count = 0;
    const struct sim_frame *frame = sim_fleet_frames(f, &frame_count);
    for (size_t i = 0; i < frame_count; i++) {
        if (frame[i].type == type && frame[i].at_us >= since_us) {
            if (count++ == 0) {
                *first = frame[i];
            }
        }
    }
    return count;
}

/* One packet each 20 ms, come what may; the phase may move once by a slot. */
static void assert_packets_flowed(struct sim_fleet *f, uint64_t before, uint64_t seconds)
{
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_in_range(heard->packets - before, seconds * 50 - 3, seconds * 50 + 3);
    assert_int_equal(heard->missing, 0);
    assert_true(heard->gap_us_max <= 45 * US_PER_MS);
}

static void assert_sounds(struct sim_fleet *f, uint64_t since_us, uint64_t within_us)
{
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_in_range(heard->latest_sound_us, since_us, since_us + within_us);
}

static void a_call_goes_on_with_a_backend_that_kept_it(void **state)
{
    (void)state;
    struct sim_frame frame;
    const struct sim_fleet_config config = network(501, DIALOGUE_ECHO, true);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    const uint64_t packets = sim_client_heard(sim_fleet_client(f))->packets;
    const uint64_t lost_us = sim_fleet_now(f);
    sim_fleet_lose_backend(f, AWAY_US);
    run_for(f, AWAY_US + SECOND);
    const uint64_t now_us = sim_fleet_now(f);
    assert_sounds(f, now_us - 100 * US_PER_MS, 100 * US_PER_MS);
    assert_int_equal(count_frames(f, BACKEND_SESSION_RESUME, lost_us, &frame), 1);
    assert_in_range(frame.at_us, lost_us + AWAY_US, lost_us + AWAY_US + 50 * US_PER_MS);
    assert_int_equal(count_frames(f, BACKEND_SESSION_START, lost_us, &frame), 0);
    assert_int_equal(count_frames(f, BACKEND_SESSION_ACCEPT, lost_us, &frame), 1);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->backend_resumes), 1);
    run_for(f, SECOND - AWAY_US);
    assert_packets_flowed(f, packets, 2);
    sim_fleet_destroy(f);
}

static void a_call_begins_anew_with_a_backend_that_does_not_know_it(void **state)
{
    (void)state;
    struct sim_frame frame;
    const struct sim_fleet_config config = network(502, DIALOGUE_TONE, false);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    const uint64_t packets = sim_client_heard(sim_fleet_client(f))->packets;
    const uint64_t lost_us = sim_fleet_now(f);
    sim_fleet_lose_backend(f, AWAY_US);
    run_for(f, AWAY_US + SECOND);
    assert_int_equal(count_frames(f, BACKEND_SESSION_RESUME, lost_us, &frame), 0);
    assert_int_equal(count_frames(f, BACKEND_SESSION_START, lost_us, &frame), 1);
    assert_int_equal(count_frames(f, BACKEND_CONNECTED, lost_us, &frame), 1);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->backend_restarts), 1);
    const uint64_t now_us = sim_fleet_now(f);
    assert_sounds(f, now_us - 100 * US_PER_MS, 100 * US_PER_MS);
    run_for(f, SECOND - AWAY_US);
    assert_packets_flowed(f, packets, 2);
    sim_fleet_destroy(f);
}

/* Ids begin at 1 again, and what the old one had queued is done: backend_lost. */
static void a_restarted_call_drops_what_was_queued_and_begins_with_new_ids(void **state)
{
    (void)state;
    struct sim_frame frame;
    const struct sim_fleet_config config = network(503, DIALOGUE_TONE, false);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    const uint64_t lost_us = sim_fleet_now(f);
    sim_fleet_lose_backend(f, AWAY_US);
    run_for(f, 2 * SECOND);
    assert_true(count_frames(f, BACKEND_AUDIO_OUT, lost_us, &frame) > 0);
    assert_int_equal(frame.utterance, 1);
    assert_true(count_frames(f, BACKEND_PLAYBACK, lost_us, &frame) > 1);
    assert_non_null(strstr(frame.payload, "\"reason\":\"backend_lost\""));
    sim_fleet_destroy(f);
}

static void what_is_queued_is_spoken_while_the_backend_is_away_and_then_silence_flows(void **state)
{
    (void)state;
    const struct sim_fleet_config config = network(504, DIALOGUE_PARROT, true);
    struct sim_fleet *f = sim_fleet_create(&config);
    sim_client_mute(sim_fleet_client(f), true);
    while (session_timeline(sim_fleet_session(f))->first_audio_out_us == 0) {
        run_for(f, 20 * US_PER_MS);
    }
    const uint64_t begin_us = sim_fleet_now(f);
    run_for(f, 200 * US_PER_MS);
    const uint64_t packets = sim_client_heard(sim_fleet_client(f))->packets;
    sim_fleet_lose_backend(f, 4 * SECOND);
    run_for(f, 4 * SECOND);
    /* The greeting is two seconds long. */
    assert_sounds(f, begin_us + 1950 * US_PER_MS, 150 * US_PER_MS);
    assert_packets_flowed(f, packets, 4);
    assert_non_null(sim_fleet_session(f));
    run_for(f, SECOND);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->backend_resumes), 1);
    sim_fleet_destroy(f);
}

static void every_loss_in_a_call_is_survived(void **state)
{
    (void)state;
    const struct sim_fleet_config config = network(505, DIALOGUE_ECHO, true);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    for (uint64_t losses = 1; losses <= 4; losses++) {
        sim_fleet_lose_backend(f, AWAY_US);
        run_for(f, AWAY_US + SECOND);
        assert_int_equal(metric_get(&sim_fleet_counters(f)->backend_losses), losses);
        assert_int_equal(metric_get(&sim_fleet_counters(f)->backend_resumes), losses);
        const uint64_t now_us = sim_fleet_now(f);
        assert_sounds(f, now_us - 100 * US_PER_MS, 100 * US_PER_MS);
    }
    sim_fleet_destroy(f);
}

static void many_calls_are_moved_together(void **state)
{
    (void)state;
    struct sim_fleet_config config = network(506, DIALOGUE_ECHO, true);
    config.client_count = SIM_FLEET_CLIENTS_MAX;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 2 * SECOND);
    sim_fleet_lose_backend(f, AWAY_US);
    run_for(f, AWAY_US + SECOND);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->backend_resumes), SIM_FLEET_CLIENTS_MAX);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->sessions_active), SIM_FLEET_CLIENTS_MAX);
    sim_fleet_destroy(f);
}

static void a_call_that_is_hung_up_while_its_backend_is_away_is_over(void **state)
{
    (void)state;
    struct sim_frame frame;
    const struct sim_fleet_config config = network(507, DIALOGUE_ECHO, true);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 2 * SECOND);
    const uint64_t lost_us = sim_fleet_now(f);
    sim_fleet_lose_backend(f, SECOND);
    run_for(f, SECOND / 2);
    sim_fleet_hang_up(f);
    run_for(f, 2 * SECOND);
    assert_null(sim_fleet_session(f));
    assert_int_equal(count_frames(f, BACKEND_SESSION_RESUME, lost_us, &frame), 0);
    assert_int_equal(count_frames(f, BACKEND_SESSION_END, lost_us, &frame), 0);
    sim_fleet_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_goes_on_with_a_backend_that_kept_it),
        cmocka_unit_test(a_call_begins_anew_with_a_backend_that_does_not_know_it),
        cmocka_unit_test(a_restarted_call_drops_what_was_queued_and_begins_with_new_ids),
        cmocka_unit_test(what_is_queued_is_spoken_while_the_backend_is_away_and_then_silence_flows),
        cmocka_unit_test(every_loss_in_a_call_is_survived),
        cmocka_unit_test(many_calls_are_moved_together),
        cmocka_unit_test(a_call_that_is_hung_up_while_its_backend_is_away_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
