/* voice_downlink_test.c - AUDIO_OUT in, RTP out on a 20 ms clock, and what the backend is told */
#include "tests/unit/voice_downlink_world.h"

static void only_pcm16_at_our_rates_is_taken(void **state)
{
    (void)state;
    static const struct {
        uint8_t codec;
        uint8_t rate_khz;
        bool good;
    } c[] = {
        {BACKEND_CODEC_PCM16, 8, true},   {BACKEND_CODEC_PCM16, 16, true},
        {BACKEND_CODEC_PCM16, 24, true},  {BACKEND_CODEC_PCM16, 48, true},
        {BACKEND_CODEC_PCM16, 12, false}, {BACKEND_CODEC_PCM16, 0, false},
        {BACKEND_CODEC_PCMA, 8, false},   {BACKEND_CODEC_NONE, 0, false},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        struct backend_accept accept = world_accept();
        accept.out = (struct backend_format){c[i].codec, c[i].rate_khz};
        world_open_early(&w);
        assert_int_equal(voice_downlink_attach(w.downlink, &accept, WORLD_BEGIN_US), c[i].good);
        world_close(&w);
    }
}

static void a_prebuffer_of_an_hour_is_the_credit_and_still_plays(void **state)
{
    (void)state;
    struct world w;
    struct backend_accept accept = world_accept();
    accept.prebuffer_ms = UINT32_MAX;
    world_open_as(&w, &accept);
    (void)world_say(&w, 1, WORLD_CREDIT_US / 1000 - 1, false);
    world_slot(&w);
    assert_true(world_is_silent(&w));
    world_expect(&w, 1, "underrun");
    (void)world_say(&w, 1, 1, false);
    world_slot(&w);
    world_expect(&w, 1, "started");
    world_close(&w);
}

static void an_utterance_is_started_spoken_done_and_then_silence(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_slot(&w);
    assert_false(w.packet.marker);
    (void)world_say(&w, 7, 60, true);
    outbox_frames_end(&w.frames);
    world_slot(&w);
    assert_true(w.packet.marker);
    const struct backend_frame started = world_expect(&w, 7, "started");
    assert_int_equal(started.session, WORLD_ID);
    for (int i = 1; i < 3; i++) {
        world_slot(&w);
        assert_false(w.packet.marker);
        assert_false(world_is_silent(&w));
    }
    const struct backend_frame done = world_expect(&w, 7, "\"state\":\"done\"");
    outbox_frames_assert_holds(&done, "\"reason\":\"played\"");
    outbox_frames_assert_holds(&done, "\"sent_us\":60000");
    outbox_frames_assert_holds(&done, "\"heard_us\":0"); /* 60 ms lie in the browser's buffer */
    world_slot(&w);                                      /* what the encoder still holds */
    assert_false(world_is_silent(&w));
    world_slot(&w);
    assert_true(world_is_silent(&w));
    assert_int_equal(voice_sender_stats(voice_downlink_sender(w.downlink))->speech_packets, 4);
    assert_true(voice_downlink_is_drained(w.downlink));
    world_close(&w);
}

static void a_lower_bitrate_makes_smaller_packets(void **state)
{
    (void)state;
    static const uint32_t bitrate_bps[] = {6000, 0, 128000}; /* 0: 32,000 */
    uint64_t bytes[3];
    for (size_t i = 0; i < COUNT_OF(bitrate_bps); i++) {
        struct world w;
        const struct backend_accept accept = world_accept();
        world_open_early(&w);
        voice_downlink_destroy(w.downlink);
        struct voice_downlink_config config = world_config(&w);
        config.voice.bitrate_bps = bitrate_bps[i];
        w.downlink = voice_downlink_create(&config);
        assert_true(voice_downlink_attach(w.downlink, &accept, WORLD_BEGIN_US));
        voice_downlink_start(w.downlink, WORLD_BEGIN_US);
        (void)world_say(&w, 1, 1000, true);
        for (int slot = 0; slot < 50; slot++) {
            world_slot(&w);
        }
        bytes[i] =
            rtp_sender_stats(voice_sender_rtp(voice_downlink_sender(w.downlink))).payload_bytes;
        world_ignore_frames(&w);
        world_close(&w);
    }
    assert_in_range(bytes[0], 300, 1500); /* 750 in the mean */
    assert_in_range(bytes[1], 2500, 5500);
    assert_true(bytes[2] > 2 * bytes[1]);
}

static void progress_comes_each_time_that_was_asked_for(void **state)
{
    (void)state;
    struct world w;
    struct backend_accept accept = world_accept();
    accept.progress_ms = 100;
    world_open_as(&w, &accept);
    (void)world_say(&w, 1, 400, true);
    for (int slot = 1; slot <= 20; slot++) {
        world_slot(&w);
        if (slot == 1) {
            world_expect(&w, 1, "started");
        }
        if (slot % 5 == 0 && slot < 20) {
            world_expect(&w, 1, "progress");
        }
    }
    world_expect(&w, 1, "done");
    world_close(&w);
}

static void credit_is_told_when_a_quarter_was_freed_and_is_absolute(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 2000, false);
    uint64_t told_us = WORLD_CREDIT_US;
    for (uint64_t slot = 1; slot <= 99; slot++) {
        struct backend_frame frame;
        world_slot(&w);
        while (outbox_frames_next(&w.frames, &frame)) {
            if (frame.type == BACKEND_CREDIT) {
                struct byte_reader r;
                byte_reader_init(&r, frame.payload);
                told_us = byte_reader_u64_le(&r);
                assert_int_equal(byte_reader_left(&r), 0);
                assert_int_equal(told_us, WORLD_CREDIT_US + slot * SLOT_CLOCK_SLOT_US);
            }
        }
        assert_true(WORLD_CREDIT_US + slot * SLOT_CLOCK_SLOT_US - told_us < WORLD_CREDIT_US / 4);
    }
    world_close(&w);
}

/* What exceeds the credit is dropped, to the sample, and said. */
static void beyond_the_credit_is_an_error(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 2000, false);
    outbox_frames_end(&w.frames);
    struct backend_frame one_sample = world_audio(1, 1, false);
    one_sample.payload.len = 2;
    one_sample.sequence = 99;
    (void)voice_downlink_input(w.downlink, &one_sample, WORLD_BEGIN_US);
    const struct backend_frame error = outbox_frames_expect(&w.frames, BACKEND_ERROR);
    outbox_frames_assert_holds(&error, "\"code\":\"credit\"");
    outbox_frames_assert_holds(&error, "\"fatal\":false");
    outbox_frames_assert_holds(&error, "\"type\":33");
    outbox_frames_assert_holds(&error, "\"sequence\":99");
    world_close(&w);
}

static void a_wrong_frame_is_dropped_with_its_reason_once_a_second(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        uint32_t utterance;
        uint8_t codec;
        uint8_t rate_khz;
        uint8_t channels;
        size_t bytes;
    } c[] = {
        {"bad_frame", 0, BACKEND_CODEC_PCM16, WORLD_RATE_KHZ, 1, 960},
        {"codec", 1, BACKEND_CODEC_PCM16, 16, 1, 960},
        {"codec", 1, BACKEND_CODEC_PCM16, WORLD_RATE_KHZ, 2, 960},
        {"codec", 1, BACKEND_CODEC_OPUS, 48, 1, 960},
        {"codec", 1, BACKEND_CODEC_NONE, 0, 0, 960},
        {"bad_frame", 1, BACKEND_CODEC_PCM16, WORLD_RATE_KHZ, 1, 961},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        world_open(&w);
        struct backend_frame frame = world_audio(c[i].utterance, 100, false);
        frame.codec = c[i].codec;
        frame.rate_khz = c[i].rate_khz;
        frame.channels = c[i].channels;
        frame.payload.len = c[i].bytes;
        static const struct {
            uint64_t after_us;
            bool is_said;
        } at[] = {{0, true}, {1, false}, {999999, false}, {1000000, true}, {1000001, false}};
        for (size_t k = 0; k < COUNT_OF(at); k++) {
            (void)voice_downlink_input(w.downlink, &frame, WORLD_BEGIN_US + at[k].after_us);
            if (at[k].is_said) {
                const struct backend_frame e = outbox_frames_expect(&w.frames, BACKEND_ERROR);
                outbox_frames_assert_holds(&e, c[i].code);
            }
            outbox_frames_end(&w.frames);
        }
        assert_true(voice_downlink_is_drained(w.downlink));
        world_close(&w);
    }
}

static void an_empty_last_needs_no_codec(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 20, false);
    world_slot(&w);
    world_expect(&w, 1, "started");
    struct backend_frame last = world_audio(1, 0, true);
    last.codec = last.rate_khz = last.channels = 0;
    (void)voice_downlink_input(w.downlink, &last, WORLD_BEGIN_US);
    world_slot(&w);
    world_expect(&w, 1, "played");
    world_close(&w);
}

static void a_flush_is_answered_between_what_was_before_and_done(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 5, 1000, true);
    (void)world_say(&w, 6, 200, true);
    for (int i = 0; i < 10; i++) {
        world_slot(&w);
    }
    world_expect(&w, 5, "started");
    const struct backend_frame flush = {.type = BACKEND_FLUSH, .session = WORLD_ID, .utterance = 6};
    (void)voice_downlink_input(w.downlink, &flush, WORLD_BEGIN_US + 300000);
    const struct backend_frame flushed = outbox_frames_expect(&w.frames, BACKEND_FLUSHED);
    assert_int_equal(flushed.utterance, 6);
    assert_int_equal(flushed.time_us, 550000);
    outbox_frames_assert_holds(&flushed, "\"utterance\":5");
    outbox_frames_assert_holds(&flushed, "\"sent_us\":200000");
    outbox_frames_assert_holds(&flushed, "\"heard_us\":140000");
    outbox_frames_assert_holds(&flushed, "\"dropped_us\":1000000");
    world_expect(&w, 5, "\"reason\":\"flushed\"");
    world_expect(&w, 6, "\"reason\":\"flushed\"");
    outbox_frames_expect(&w.frames, BACKEND_CREDIT);
    outbox_frames_end(&w.frames);
    world_slot(&w); /* the ramp */
    assert_false(world_is_silent(&w));
    world_slot(&w); /* what the encoder held */
    world_slot(&w);
    assert_true(world_is_silent(&w));
    (void)world_say(&w, 6, 100, true); /* dead, however late it comes */
    (void)world_say(&w, 7, 20, true);  /* not a mode: the next one plays */
    world_slot(&w);
    world_expect(&w, 7, "started");
    world_expect(&w, 7, "played");
    world_close(&w);
}

static void a_flush_of_nothing_is_answered_too(void **state)
{
    (void)state;
    static const uint32_t utterance[] = {0, 3, UTTERANCE_ALL};
    for (size_t i = 0; i < COUNT_OF(utterance); i++) {
        struct world w;
        world_open(&w);
        const struct backend_frame flush = {
            .type = BACKEND_FLUSH, .session = WORLD_ID, .utterance = utterance[i]};
        (void)voice_downlink_input(w.downlink, &flush, WORLD_BEGIN_US);
        const struct backend_frame flushed = outbox_frames_expect(&w.frames, BACKEND_FLUSHED);
        assert_int_equal(flushed.utterance, utterance[i] == 3 ? 3 : 0);
        outbox_frames_assert_holds(&flushed, "\"dropped_us\":0");
        world_close(&w);
    }
}

static void before_accept_frames_are_ignored(void **state)
{
    (void)state;
    struct world w;
    world_open_early(&w);
    (void)world_say(&w, 1, 100, true);
    const struct backend_frame flush = {.type = BACKEND_FLUSH, .session = WORLD_ID};
    (void)voice_downlink_input(w.downlink, &flush, WORLD_BEGIN_US);
    assert_true(voice_downlink_is_drained(w.downlink));
    voice_downlink_end(w.downlink, false, WORLD_BEGIN_US);
    world_close(&w);
}

static void the_end_finishes_each_utterance_once_and_with_its_reason(void **state)
{
    (void)state;
    for (int lost = 0; lost <= 1; lost++) {
        struct world w;
        world_open(&w);
        (void)world_say(&w, 1, 100, true);
        (void)world_say(&w, 2, 100, false);
        world_slot(&w);
        world_expect(&w, 1, "started");
        voice_downlink_end(w.downlink, lost == 1, WORLD_BEGIN_US);
        for (uint32_t utterance = 1; utterance <= 2; utterance++) {
            world_expect(&w, utterance, lost == 1 ? "backend_lost" : "session_end");
        }
        voice_downlink_end(w.downlink, lost == 1, WORLD_BEGIN_US);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_pcm16_at_our_rates_is_taken),
        cmocka_unit_test(a_prebuffer_of_an_hour_is_the_credit_and_still_plays),
        cmocka_unit_test(an_utterance_is_started_spoken_done_and_then_silence),
        cmocka_unit_test(a_lower_bitrate_makes_smaller_packets),
        cmocka_unit_test(progress_comes_each_time_that_was_asked_for),
        cmocka_unit_test(credit_is_told_when_a_quarter_was_freed_and_is_absolute),
        cmocka_unit_test(beyond_the_credit_is_an_error),
        cmocka_unit_test(a_wrong_frame_is_dropped_with_its_reason_once_a_second),
        cmocka_unit_test(an_empty_last_needs_no_codec),
        cmocka_unit_test(a_flush_is_answered_between_what_was_before_and_done),
        cmocka_unit_test(a_flush_of_nothing_is_answered_too),
        cmocka_unit_test(before_accept_frames_are_ignored),
        cmocka_unit_test(the_end_finishes_each_utterance_once_and_with_its_reason),
    };
    return cmocka_run_group_tests(tests, world_prepare, NULL);
}
