/* voice_sender_test.c - the clock of what is sent: exact, early for speech, never a burst */
#include "tests/voice_sender_world.h"

#define MINUTE_US (60 * US_PER_S)

static void one_packet_each_20_ms_is_exactly_30000_in_ten_minutes(void **state)
{
    struct voice_sender_world *w = *state;
    const uint64_t first_us = voice_sender_next_timeout(w->sender);
    const uint64_t end_us = first_us + 10 * MINUTE_US;
    uint64_t packets = 0;
    uint32_t first_timestamp = 0;
    uint32_t utterance = 0;
    while (voice_sender_next_timeout(w->sender) < end_us) {
        /* Served up to 15 ms late, each time anew: nothing adds up. */
        w->now_us =
            voice_sender_next_timeout(w->sender) + random_generator_next(&w->random) % 15000;
        assert_int_equal(voice_sender_world_poll(w), 1);
        first_timestamp = packets == 0 ? w->packet.timestamp : first_timestamp;
        assert_int_equal(w->packet.timestamp, (uint32_t)(first_timestamp + 960 * packets));
        packets++;
        if (packets % 500 == 0 && packets < 29000) {
            w->now_us += random_generator_next(&w->random) % 5000;
            voice_sender_world_say(w, ++utterance, 0, 730, true);
        }
    }
    assert_int_equal(packets, 30000);
    assert_int_equal(voice_sender_stats(w->sender)->skipped_slots, 0);
    assert_true(voice_sender_stats(w->sender)->speech_packets > 50 * 36);
}

static void the_sequence_counts_packets_and_the_timestamp_slots(void **state)
{
    struct voice_sender_world *w = *state;
    struct voice_sender_config config = voice_sender_world_config(w);
    config.idle_sparse = true;
    voice_sender_world_reopen(w, &config);
    assert_true(voice_sender_world_step(w));
    const struct rtp_packet first = w->packet;
    uint16_t packets = 0;
    for (uint32_t slot = 1; slot <= 100; slot++) {
        const bool is_sent = voice_sender_world_step(w);
        assert_int_equal(is_sent, slot % VOICE_SENDER_SPARSE_SLOTS == 0);
        packets = (uint16_t)(packets + is_sent);
        if (is_sent) {
            assert_int_equal(w->packet.timestamp, (uint32_t)(first.timestamp + 960 * slot));
            assert_int_equal(w->packet.sequence_number,
                             (uint16_t)(first.sequence_number + packets));
        }
    }
    assert_int_equal(packets, 5);
}

/* The client hears at once that speech is over; then one packet each 400 ms. */
static void sparse_silence_begins_right_behind_the_speech(void **state)
{
    struct voice_sender_world *w = *state;
    struct voice_sender_config config = voice_sender_world_config(w);
    config.idle_sparse = true;
    voice_sender_world_reopen(w, &config);
    for (int i = 0; i < 7; i++) {
        (void)voice_sender_world_step(w);
    }
    voice_sender_world_say(w, 1, 0, 60, true);
    assert_int_equal(voice_sender_world_hear_out(w), 4);
    const uint64_t silent_us = w->sent_us;
    while (!voice_sender_world_step(w)) {
    }
    assert_in_range(w->sent_us - silent_us, 400000, 420000);
}

static void silence_flows_in_each_slot_and_only_the_first_packet_of_speech_is_marked(void **state)
{
    struct voice_sender_world *w = *state;
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 30; i++) {
            assert_true(voice_sender_world_step(w));
            assert_true(voice_sender_world_is_silence(w));
            assert_false(w->packet.marker);
        }
        voice_sender_world_say(w, (uint32_t)round, 0, 100, true);
        for (int i = 0; i < 6; i++) {
            assert_true(voice_sender_world_step(w));
            assert_int_equal(w->packet.marker, i == 0);
        }
    }
}

static void late_by_slots_sends_two_at_most_skips_the_rest_and_loses_no_speech(void **state)
{
    struct voice_sender_world *w = *state;
    static const struct {
        uint64_t late_us;
        uint64_t packets;
        uint64_t skipped;
    } t[] = {{0, 1, 0},     {19999, 1, 0}, {20000, 2, 0}, {39999, 2, 0},
             {40000, 2, 1}, {59999, 2, 1}, {60000, 2, 2}, {1000000, 2, 49}};
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        const struct voice_sender_config config = voice_sender_world_config(w);
        voice_sender_world_reopen(w, &config);
        voice_sender_world_say(w, 1, 0, 400, true);
        assert_true(voice_sender_world_step(w));
        const struct rtp_packet before = w->packet;
        const uint64_t due_us = voice_sender_next_timeout(w->sender);
        w->now_us = due_us + t[i].late_us;
        assert_int_equal(voice_sender_world_poll(w), t[i].packets);
        assert_int_equal(voice_sender_stats(w->sender)->skipped_slots, t[i].skipped);
        assert_int_equal(w->packet.timestamp,
                         (uint32_t)(before.timestamp + 960 * (t[i].packets + t[i].skipped)));
        assert_int_equal(w->packet.sequence_number,
                         (uint16_t)(before.sequence_number + t[i].packets));
        assert_false(w->packet.marker);
        assert_int_equal(voice_sender_next_timeout(w->sender) % SLOT_US, due_us % SLOT_US);
        /* 20 packets of speech and one of the tail, as if nothing had happened. */
        assert_int_equal(1 + t[i].packets + voice_sender_world_hear_out(w), 21);
    }
}

static void speech_that_begins_leaves_at_once_wherever_in_the_slot(void **state)
{
    struct voice_sender_world *w = *state;
    for (uint32_t n = 1; n <= 200; n++) {
        (void)voice_sender_world_hear_out(w);
        assert_true(voice_sender_world_step(w)); /* on the grid again */
        const uint64_t grid_us = voice_sender_next_timeout(w->sender);
        const uint32_t timestamp = w->packet.timestamp;
        w->now_us += n * 997 % SLOT_US;
        const uint64_t said_us = w->now_us;
        voice_sender_world_say(w, n, 0, 20 + n % 40, true);
        assert_true(voice_sender_next_timeout(w->sender) == said_us);
        assert_true(voice_sender_world_step(w));
        assert_true(w->sent_us == said_us);
        assert_true(w->packet.marker);
        assert_false(voice_sender_world_is_silence(w));
        assert_int_equal(w->packet.timestamp, timestamp + 960);
        assert_true(voice_sender_next_timeout(w->sender) == said_us + SLOT_US);
        assert_in_range(grid_us - said_us, 0, SLOT_US);
    }
}

static void speech_before_the_prebuffer_waits_and_the_rest_of_it_does_not(void **state)
{
    struct voice_sender_world *w = *state;
    assert_true(voice_sender_world_step(w));
    const uint64_t grid_us = voice_sender_next_timeout(w->sender);
    w->now_us += 3000;
    voice_sender_world_say(w, 1, 0, 19, false);
    assert_true(voice_sender_next_timeout(w->sender) == grid_us);
    w->now_us += 3000;
    voice_sender_world_say(w, 1, 19, 1, false);
    assert_true(voice_sender_next_timeout(w->sender) == w->now_us);
}

/* jitterBufferDelay of a browser grows by what timestamps run away from time. */
static void a_hundred_utterances_leave_the_clock_where_it_was(void **state)
{
    struct voice_sender_world *w = *state;
    assert_true(voice_sender_world_step(w));
    const uint64_t first_us = w->sent_us;
    const uint32_t first_timestamp = w->packet.timestamp;
    for (uint32_t n = 1; n <= 100; n++) {
        w->now_us += random_generator_next(&w->random) % SLOT_US;
        voice_sender_world_say(w, n, 0, 20 + random_generator_next(&w->random) % 500, true);
        (void)voice_sender_world_hear_out(w); /* this silence may be early, the next is not */
        assert_true(voice_sender_world_step(w));
        const uint64_t slots = (w->sent_us - first_us) / SLOT_US;
        assert_int_equal((w->sent_us - first_us) % SLOT_US, 0);
        assert_int_equal(w->packet.timestamp, (uint32_t)(first_timestamp + 960 * slots));
    }
}

static void speech_queued_before_the_start_leaves_with_the_start(void **state)
{
    struct voice_sender_world *w = *state;
    const struct voice_sender_config config = voice_sender_world_config(w);
    const struct playout_queue_config queue = {.rate_hz = WORLD_RATE_HZ, .window_us = 2 * US_PER_S};
    voice_sender_world_close(w);
    w->queue = playout_queue_create(&queue);
    playout_queue_attach(w->queue, 20 * US_PER_MS, 0, w->now_us);
    w->sender = voice_sender_create(&config);
    voice_sender_attach(w->sender, w->queue, WORLD_RATE_HZ);
    voice_sender_world_say(w, 1, 0, 100, true);
    assert_true(voice_sender_next_timeout(w->sender) == TIME_NEVER);
    voice_sender_start(w->sender, w->now_us);
    assert_true(voice_sender_next_timeout(w->sender) == w->now_us);
}

/* RFC 3551 s.4.5.14: 8 kHz, so 160 units a slot. Coded zeros are 0xff in u-law. */
static void g711_counts_160_units_a_slot_and_its_silence_is_coded_zeros(void **state)
{
    struct voice_sender_world *w = *state;
    struct voice_sender_config config = voice_sender_world_config(w);
    struct rtcp_sender_info info;
    uint8_t zeros[160];
    memset(zeros, 0xff, sizeof(zeros));
    config.codec = VOICE_CODEC_PCMU;
    config.payload_type = 0;
    config.red_payload_type = 0;
    voice_sender_world_reopen(w, &config);
    assert_true(voice_sender_world_step(w));
    assert_true(bytes_equal(w->payload, bytes_view_of(zeros, sizeof(zeros))));
    const uint64_t first_us = w->sent_us;
    const uint32_t first = w->packet.timestamp;
    voice_sender_world_say(w, 1, 0, 100, true);
    for (uint32_t i = 1; i <= 5; i++) {
        assert_true(voice_sender_world_step(w));
        assert_int_equal(w->packet.timestamp, first + 160 * i);
        assert_int_equal(w->payload.len, 160);
        assert_false(bytes_equal(w->payload, bytes_view_of(zeros, sizeof(zeros))));
        assert_int_equal(w->packet.marker, i == 1);
    }
    assert_true(rtp_sender_report(voice_sender_rtp(w->sender), &info, first_us + US_PER_S));
    assert_int_equal(info.timestamp, first + 8000);
}

static void reports_tell_the_grid_also_while_speech_is_early(void **state)
{
    struct voice_sender_world *w = *state;
    struct rtcp_sender_info info;
    assert_true(voice_sender_world_step(w));
    const uint64_t grid_us = w->sent_us;
    const uint32_t timestamp = w->packet.timestamp;
    w->now_us += 5000;
    voice_sender_world_say(w, 1, 0, 200, true);
    for (int i = 0; i < 15; i++) {
        assert_true(voice_sender_world_step(w));
        assert_true(rtp_sender_report(voice_sender_rtp(w->sender), &info, w->now_us));
        assert_int_equal(info.timestamp - timestamp, (w->now_us - grid_us) * 48 / 1000);
    }
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, voice_sender_world_setup, voice_sender_world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_packet_each_20_ms_is_exactly_30000_in_ten_minutes),
        TEST(the_sequence_counts_packets_and_the_timestamp_slots),
        TEST(sparse_silence_begins_right_behind_the_speech),
        TEST(silence_flows_in_each_slot_and_only_the_first_packet_of_speech_is_marked),
        TEST(late_by_slots_sends_two_at_most_skips_the_rest_and_loses_no_speech),
        TEST(speech_that_begins_leaves_at_once_wherever_in_the_slot),
        TEST(speech_before_the_prebuffer_waits_and_the_rest_of_it_does_not),
        TEST(a_hundred_utterances_leave_the_clock_where_it_was),
        TEST(speech_queued_before_the_start_leaves_with_the_start),
        TEST(g711_counts_160_units_a_slot_and_its_silence_is_coded_zeros),
        TEST(reports_tell_the_grid_also_while_speech_is_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
