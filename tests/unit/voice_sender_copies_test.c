/* voice_sender_copies_test.c - what the encoder remembers, what FEC, RED and NACK repeat, and that
 * none of them repeats what a flush took back */
#include "tests/voice_sender_world.h"

/* An encoder beside ours that is told what ours should have been told. */
static struct voice_encoder *reference;

static int setup(void **state)
{
    reference = voice_encoder_create(VOICE_CODEC_OPUS, WORLD_RATE_HZ);
    return reference != NULL ? voice_sender_world_setup(state) : -1;
}

static int teardown(void **state)
{
    voice_encoder_destroy(reference);
    return voice_sender_world_teardown(state);
}

/* 20 ms of the fixture from first_ms, followed by zeros if they are past end_ms. */
static void expect_frame(struct voice_sender_world *w, size_t first_ms, size_t end_ms)
{
    int16_t frame[WORLD_FRAME] = {0};
    uint8_t expected[VOICE_PACKET_BYTES_MAX];
    if (first_ms < end_ms) {
        memcpy(frame, w->speech + first_ms * (WORLD_RATE_HZ / 1000), sizeof(frame));
    } else { /* the fall to zero in 5 ms */
        const int last = w->speech[end_ms * (WORLD_RATE_HZ / 1000) - 1];
        const int fade = WORLD_RATE_HZ * PLAYOUT_QUEUE_FADE_MS / 1000;
        for (int i = 0; i < fade; i++) {
            frame[i] = (int16_t)(last * (fade - 1 - i) / fade);
        }
    }
    const size_t len = voice_encoder_encode(reference, frame, expected);
    assert_true(voice_sender_world_step(w));
    assert_true(bytes_equal(w->payload, bytes_view_of(expected, len)));
}

static void expect_silence(struct voice_sender_world *w)
{
    assert_true(voice_sender_world_step(w));
    assert_true(voice_sender_world_is_silence(w));
}

/* The peer reports this fraction of 256 about us. */
static void report(struct voice_sender_world *w, uint8_t fraction_lost)
{
    const struct rtcp_report_block block = {.ssrc = rtp_sender_ssrc(voice_sender_rtp(w->sender)),
                                            .fraction_lost = fraction_lost};
    rtp_sender_report_block(voice_sender_rtp(w->sender), &block, w->now_us);
    voice_sender_follow_report(w->sender, w->now_us);
}

/* --- the encoder ------------------------------------------------------------------------------ */

static void the_slot_after_the_last_sample_is_of_the_running_encoder(void **state)
{
    struct voice_sender_world *w = *state;
    expect_silence(w);
    voice_sender_world_say(w, 1, 0, 60, true);
    for (size_t ms = 0; ms <= 60; ms += 20) {
        expect_frame(w, ms, 60);
    }
    expect_silence(w);
}

static void the_encoder_begins_anew_after_silence(void **state)
{
    struct voice_sender_world *w = *state;
    for (uint32_t n = 1; n <= 3; n++) {
        expect_silence(w);
        voice_sender_world_say(w, n, 0, 40, true);
        voice_encoder_reset(reference);
        expect_frame(w, 0, 40);
        expect_frame(w, 20, 40);
        expect_frame(w, 40, 40);
    }
}

static void the_encoder_runs_on_over_utterances_that_touch(void **state)
{
    struct voice_sender_world *w = *state;
    expect_silence(w);
    voice_sender_world_say(w, 1, 0, 40, true);
    voice_sender_world_say(w, 2, 40, 40, true);
    for (size_t ms = 0; ms <= 80; ms += 20) {
        expect_frame(w, ms, 80);
    }
    /* Also when the next one begins in the slot of the tail. */
    voice_sender_world_say(w, 3, 80, 20, true);
    expect_frame(w, 80, 100);
}

static void the_encoder_begins_anew_after_an_underrun(void **state)
{
    struct voice_sender_world *w = *state;
    expect_silence(w);
    voice_sender_world_say(w, 1, 0, 40, false);
    expect_frame(w, 0, 40);
    expect_frame(w, 20, 40);
    expect_frame(w, 40, 40);
    expect_silence(w);
    voice_sender_world_say(w, 1, 40, 40, true);
    voice_encoder_reset(reference);
    expect_frame(w, 40, 80);
    expect_frame(w, 60, 80);
}

static void the_encoder_begins_anew_when_a_paused_utterance_goes_on(void **state)
{
    struct voice_sender_world *w = *state;
    expect_silence(w);
    voice_sender_world_say(w, 1, 0, 100, true);
    expect_frame(w, 0, 100);
    expect_frame(w, 20, 100);
    assert_true(playout_queue_pause(w->queue, 1));
    expect_frame(w, 40, 40); /* the fall to zero */
    expect_silence(w);
    expect_silence(w);
    playout_queue_resume(w->queue, 1);
    voice_sender_wake(w->sender, w->now_us);
    assert_true(voice_sender_next_timeout(w->sender) == w->now_us);
    voice_encoder_reset(reference);
    expect_frame(w, 40, 100);
    expect_frame(w, 60, 100);
}

static void complexity_is_what_the_shard_can_afford(void **state)
{
    struct voice_sender_world *w = *state;
    expect_silence(w);
    voice_sender_world_say(w, 1, 0, 1000, true);
    for (size_t ms = 0; ms < 200; ms += 20) {
        expect_frame(w, ms, 1000);
    }
    encoder_effort_note(&w->effort, 1000, w->now_us);
    voice_encoder_tune(reference, 32000, 1);
    for (size_t ms = 200; ms < 400; ms += 20) {
        expect_frame(w, ms, 1000);
    }
}

/* --- FEC -------------------------------------------------------------------------------------- */

/* Of 50 packets of speech, how many carry the one before. */
static size_t count_fec(struct voice_sender_world *w)
{
    size_t count = 0;
    for (int i = 0; i < 50; i++) {
        assert_true(voice_sender_world_step(w));
        count += voice_packet_has_fec(w->payload);
    }
    return count;
}

static void fec_follows_the_reports_of_the_client(void **state)
{
    struct voice_sender_world *w = *state;
    voice_sender_world_say(w, 1, 0, 1900, false);
    assert_int_equal(count_fec(w), 0);
    voice_sender_world_say(w, 1, 0, 1000, false);
    for (int i = 0; i < 6; i++) {
        report(w, 26); /* 10 % */
    }
    assert_true(count_fec(w) > 25);
    voice_sender_world_say(w, 1, 0, 1000, false);
    for (int i = 0; i < 40; i++) {
        report(w, 0);
    }
    (void)voice_sender_world_step(w);
    assert_int_equal(count_fec(w), 0);
}

/* --- RED -------------------------------------------------------------------------------------- */

static void begin_red(struct voice_sender_world *w)
{
    report(w, 26);
    report(w, 26);
}

static void red_repeats_the_packet_before_once_two_reports_tell_of_loss(void **state)
{
    struct voice_sender_world *w = *state;
    uint8_t before[VOICE_PACKET_BYTES_MAX];
    expect_silence(w);
    voice_sender_world_say(w, 1, 0, 1000, true);
    report(w, 26);
    assert_true(voice_sender_world_step(w));
    assert_false(w->has_copy);
    report(w, 26);
    for (int i = 0; i < 40; i++) {
        const struct bytes_view last = {before, w->payload.len};
        memcpy(before, w->payload.data, w->payload.len);
        assert_true(voice_sender_world_step(w));
        assert_true(w->has_copy);
        assert_int_equal(w->copy.payload_type, WORLD_OPUS);
        assert_int_equal(w->copy.timestamp_offset, 960);
        assert_true(bytes_equal(w->copy.data, last));
    }
    assert_int_equal(voice_sender_stats(w->sender)->red_packets, 40);
}

static void the_first_packet_of_speech_and_silence_behind_silence_repeat_nothing(void **state)
{
    struct voice_sender_world *w = *state;
    begin_red(w);
    expect_silence(w);
    assert_false(w->has_copy);
    voice_sender_world_say(w, 1, 0, 40, true);
    static const bool has_copy[] = {false, true, true, true, false, false};
    for (size_t i = 0; i < COUNT_OF(has_copy); i++) {
        assert_true(voice_sender_world_step(w));
        assert_int_equal(w->has_copy, has_copy[i]);
    }
}

static void over_skipped_slots_red_tells_how_much_older_its_copy_is(void **state)
{
    struct voice_sender_world *w = *state;
    begin_red(w);
    voice_sender_world_say(w, 1, 0, 1000, true);
    assert_true(voice_sender_world_step(w));
    w->now_us = voice_sender_next_timeout(w->sender) + 5 * SLOT_US;
    const size_t len = voice_sender_poll_packet(w->sender, w->bytes, w->now_us);
    voice_sender_world_read(w, len);
    assert_true(w->has_copy);
    assert_int_equal(w->copy.timestamp_offset, 5 * 960); /* four were left out */
    /* RFC 2198 s.3: the offset has 14 bits. */
    w->now_us += 20 * SLOT_US;
    const size_t far_len = voice_sender_poll_packet(w->sender, w->bytes, w->now_us);
    voice_sender_world_read(w, far_len);
    assert_false(w->has_copy);
}

static void red_ends_after_half_a_minute_without_loss(void **state)
{
    struct voice_sender_world *w = *state;
    begin_red(w);
    voice_sender_world_say(w, 1, 0, 1000, true);
    (void)voice_sender_world_step(w);
    assert_true(voice_sender_world_step(w) && w->has_copy);
    report(w, 0);
    w->now_us += 30 * US_PER_S;
    report(w, 0);
    (void)voice_sender_world_poll(w);
    assert_false(w->has_copy);
}

static void without_agreement_there_is_no_red(void **state)
{
    struct voice_sender_world *w = *state;
    struct voice_sender_config config = voice_sender_world_config(w);
    config.red_payload_type = 0;
    voice_sender_world_reopen(w, &config);
    begin_red(w);
    voice_sender_world_say(w, 1, 0, 1000, true);
    for (int i = 0; i < 20; i++) {
        assert_true(voice_sender_world_step(w));
        assert_int_equal(w->packet.payload_type, WORLD_OPUS);
    }
}

/* --- flush ------------------------------------------------------------------------------------ */

static void flush(struct voice_sender_world *w, uint32_t utterance)
{
    const struct playout_flushed flushed = playout_queue_flush(w->queue, utterance, w->now_us);
    struct utterance_event event;
    while (playout_queue_poll_event(w->queue, &event)) {
    }
    if (flushed.is_cut) {
        voice_sender_cut(w->sender);
    }
    voice_sender_wake(w->sender, w->now_us);
}

/* Two utterances touch, and the first is taken back while the second speaks. */
static void no_copy_of_what_was_flushed_leaves_while_another_speaks(void **state)
{
    struct voice_sender_world *w = *state;
    struct bytes_view packet;
    begin_red(w);
    voice_sender_world_say(w, 5, 0, 30, true);
    voice_sender_world_say(w, 6, 0, 200, true);
    assert_true(voice_sender_world_step(w));
    assert_true(voice_sender_world_step(w)); /* of both */
    const uint16_t last = w->packet.sequence_number;
    flush(w, 5);
    rtp_history_want(voice_sender_history(w->sender), last);
    rtp_history_want(voice_sender_history(w->sender), (uint16_t)(last - 1));
    assert_false(rtp_history_poll(voice_sender_history(w->sender), &packet));
    assert_true(voice_sender_world_step(w));
    assert_false(voice_sender_world_is_silence(w));
    assert_false(w->has_copy);
    assert_false(voice_packet_has_fec(w->payload));
    assert_true(voice_sender_world_step(w) && w->has_copy); /* of 6 */
}

/* All repairs run, and are cut at every frame of 1.5 s of speech. */
static void after_a_flush_one_ramp_frame_leaves_and_no_copy_of_anything_older(void **state)
{
    struct voice_sender_world *w = *state;
    for (int i = 0; i < 8; i++) {
        report(w, 52); /* 20 % */
    }
    size_t fec_before = 0;
    for (uint32_t n = 1; n <= 70; n++) {
        struct bytes_view packet;
        voice_sender_world_say(w, n, 0, 1500, false);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(voice_sender_world_step(w));
        }
        fec_before += voice_packet_has_fec(w->payload);
        const uint16_t last = w->packet.sequence_number;
        flush(w, n);
        for (uint16_t i = 0; i < RTP_HISTORY_PACKETS; i++) {
            rtp_history_want(voice_sender_history(w->sender), (uint16_t)(last - i));
        }
        assert_false(rtp_history_poll(voice_sender_history(w->sender), &packet));
        assert_true(voice_sender_world_step(w)); /* the ramp */
        assert_false(voice_sender_world_is_silence(w));
        assert_false(w->has_copy);
        assert_false(voice_packet_has_fec(w->payload));
        expect_silence(w); /* which may repeat the ramp, and nothing else */
        expect_silence(w);
        assert_false(w->has_copy);
    }
    assert_true(fec_before > 20); /* so there was something to switch off */
}

static void the_next_utterance_behind_a_flush_speaks_in_the_frame_of_the_ramp(void **state)
{
    struct voice_sender_world *w = *state;
    for (int i = 0; i < 8; i++) {
        report(w, 52);
    }
    voice_sender_world_say(w, 1, 0, 1000, false);
    for (int i = 0; i < 10; i++) {
        assert_true(voice_sender_world_step(w));
    }
    voice_sender_world_say(w, 2, 0, 500, true);
    flush(w, 1);
    assert_true(voice_sender_world_step(w));
    assert_false(voice_sender_world_is_silence(w));
    assert_false(w->packet.marker);
    assert_false(w->has_copy);
    assert_false(voice_packet_has_fec(w->payload));
    const struct bytes_view ramp = w->payload;
    uint8_t copy[VOICE_PACKET_BYTES_MAX];
    memcpy(copy, ramp.data, ramp.len);
    assert_true(voice_sender_world_step(w)); /* and now repairs go on */
    assert_true(w->has_copy);
    assert_true(bytes_equal(w->copy.data, bytes_view_of(copy, ramp.len)));
}

static void a_flush_of_what_was_taken_back_before_changes_nothing(void **state)
{
    struct voice_sender_world *w = *state;
    struct bytes_view packet;
    voice_sender_world_say(w, 1, 0, 40, true);
    (void)voice_sender_world_hear_out(w);
    voice_sender_world_say(w, 2, 0, 400, true);
    flush(w, 1);
    assert_true(voice_sender_world_step(w));
    const uint16_t last = w->packet.sequence_number;
    flush(w, 1);
    assert_true(voice_sender_world_step(w));
    assert_false(voice_sender_world_is_silence(w));
    rtp_history_want(voice_sender_history(w->sender), last);
    assert_true(rtp_history_poll(voice_sender_history(w->sender), &packet));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_slot_after_the_last_sample_is_of_the_running_encoder),
        TEST(the_encoder_begins_anew_after_silence),
        TEST(the_encoder_runs_on_over_utterances_that_touch),
        TEST(the_encoder_begins_anew_after_an_underrun),
        TEST(the_encoder_begins_anew_when_a_paused_utterance_goes_on),
        TEST(complexity_is_what_the_shard_can_afford),
        TEST(fec_follows_the_reports_of_the_client),
        TEST(red_repeats_the_packet_before_once_two_reports_tell_of_loss),
        TEST(the_first_packet_of_speech_and_silence_behind_silence_repeat_nothing),
        TEST(over_skipped_slots_red_tells_how_much_older_its_copy_is),
        TEST(red_ends_after_half_a_minute_without_loss),
        TEST(without_agreement_there_is_no_red),
        TEST(no_copy_of_what_was_flushed_leaves_while_another_speaks),
        TEST(after_a_flush_one_ramp_frame_leaves_and_no_copy_of_anything_older),
        TEST(the_next_utterance_behind_a_flush_speaks_in_the_frame_of_the_ramp),
        TEST(a_flush_of_what_was_taken_back_before_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
