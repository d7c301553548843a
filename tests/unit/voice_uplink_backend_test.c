/* voice_uplink_backend_test.c - a backend that comes late, goes and returns, or wants it coded */
#include "tests/unit/uplink_world.h"

static uint64_t session_time(uint32_t slot)
{
    return time_of(slot) - START_US;
}

/* The replay's turns. */
static void replay(struct world *w, uint64_t now_us)
{
    uint64_t due_us = voice_uplink_next_timeout(w->uplink);
    while (due_us <= now_us + 100 * US_PER_MS) {
        voice_uplink_tick(w->uplink, due_us);
        due_us = voice_uplink_next_timeout(w->uplink);
    }
}

static void what_was_said_before_the_accept_is_heard(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 0);
    assert_int_equal(voice_uplink_history_from_us(w.uplink), 0);
    for (uint32_t slot = 0; slot < 30; slot++) {
        assert_int_equal(slot == 7 ? VOICE_UPLINK_TAKEN : speak(&w, slot), VOICE_UPLINK_TAKEN);
    }
    outbox_frames_end(&w.frames);
    assert_true(voice_uplink_history_from_us(w.uplink) == session_time(0));
    assert_true(attach(&w, BACKEND_CODEC_PCM16, 24, 0, time_of(30)));
    /* In turns of 200 ms, so that a thousand calls can be served. */
    for (uint32_t slot = 0; slot < 10; slot++) {
        const uint16_t filled = slot == 7 ? BACKEND_AUDIO_CONCEALED : 0;
        const struct backend_frame frame = expect(&w, slot, BACKEND_AUDIO_LATE | filled);
        assert_int_equal(frame.payload.len, 960);
        assert_int_equal(frame.time_us, session_time(slot));
    }
    outbox_frames_end(&w.frames);
    assert_true(voice_uplink_next_timeout(w.uplink) == time_of(30) + 1000);
    replay(&w, time_of(30));
    for (uint32_t slot = 10; slot < 30; slot++) {
        expect(&w, slot, BACKEND_AUDIO_LATE);
    }
    (void)speak(&w, 30);
    expect(&w, 30, 0);
    close_world(&w);
}

static void what_comes_during_a_replay_waits_for_its_turn(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 0);
    for (uint32_t slot = 0; slot < 50; slot++) {
        (void)speak(&w, slot);
    }
    assert_true(attach(&w, BACKEND_CODEC_PCM16, 16, 0, time_of(49) + 19900));
    (void)speak(&w, 50);
    replay(&w, time_of(50));
    for (uint32_t slot = 0; slot < 51; slot++) {
        expect(&w, slot, slot < 50 ? BACKEND_AUDIO_LATE : 0);
    }
    close_world(&w);
}

static void two_seconds_are_kept_for_a_backend_that_is_away(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    for (uint32_t slot = 0; slot < 50; slot++) {
        (void)speak(&w, slot);
        expect(&w, slot, 0);
    }
    voice_uplink_detach(w.uplink);
    for (uint32_t slot = 50; slot < 300; slot++) {
        assert_int_equal(speak(&w, slot), VOICE_UPLINK_TAKEN);
    }
    outbox_frames_end(&w.frames);
    const uint64_t from_us = voice_uplink_history_from_us(w.uplink);
    assert_true(from_us == session_time(200));
    assert_true(attach(&w, BACKEND_CODEC_PCM16, RATE_KHZ, from_us, time_of(300)));
    replay(&w, time_of(300));
    expect(&w, 200, BACKEND_AUDIO_LATE | BACKEND_AUDIO_DISCONTINUITY);
    for (uint32_t slot = 201; slot < 300; slot++) {
        expect(&w, slot, BACKEND_AUDIO_LATE);
    }
    (void)speak(&w, 300);
    expect(&w, 300, 0);
    close_world(&w);
}

static void a_backend_that_missed_less_is_sent_less(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    for (uint32_t slot = 0; slot < 50; slot++) {
        (void)speak(&w, slot);
    }
    forget_frames(&w);
    /* Attached again without a detach, as after a restart. */
    assert_true(attach(&w, BACKEND_CODEC_PCM16, 48, session_time(47), time_of(50)));
    uint16_t flags = BACKEND_AUDIO_LATE | BACKEND_AUDIO_DISCONTINUITY;
    for (uint32_t slot = 47; slot < 50; slot++) {
        assert_int_equal(expect(&w, slot, flags).payload.len, 1920);
        flags = BACKEND_AUDIO_LATE;
    }
    close_world(&w);
}

static void silence_and_losses_are_replayed_as_they_were(void **state)
{
    (void)state;
    static const uint8_t dtx[] = {0x08};
    struct world w;
    open_world(&w, 0);
    (void)speak_red(&w, 0);
    (void)speak_red(&w, 2);
    (void)input(&w, 3, 3, bytes_view_of(dtx, 1), OPUS);
    voice_uplink_tick(w.uplink, voice_uplink_next_timeout(w.uplink));
    w.ssrc++;
    (void)input(&w, 12, 12, tone(&w), OPUS);
    assert_true(attach(&w, BACKEND_CODEC_PCM16, RATE_KHZ, 0, time_of(13)));
    expect(&w, 0, BACKEND_AUDIO_LATE);
    expect(&w, 1, BACKEND_AUDIO_LATE | BACKEND_AUDIO_RED);
    expect(&w, 2, BACKEND_AUDIO_LATE);
    expect(&w, 3, BACKEND_AUDIO_LATE | BACKEND_AUDIO_SILENCE);
    assert_int_equal(expect(&w, 4, BACKEND_AUDIO_LATE | BACKEND_AUDIO_SILENCE).duration_2500us, 40);
    expect(&w, 12, BACKEND_AUDIO_LATE | BACKEND_AUDIO_DISCONTINUITY);
    close_world(&w);
}

static void opus_passes_as_it_is_and_a_gap_is_a_discontinuity(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 0);
    assert_true(attach(&w, BACKEND_CODEC_OPUS, 48, 0, START_US));
    (void)speak(&w, 0);
    (void)speak_red(&w, 1);
    (void)speak_red(&w, 3);
    (void)speak(&w, 5);
    static const struct {
        uint32_t slot;
        uint16_t flags;
    } c[] = {{0, 0}, {1, 0}, {2, BACKEND_AUDIO_RED}, {3, 0}, {5, BACKEND_AUDIO_DISCONTINUITY}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        const struct backend_frame frame = expect(&w, c[i].slot, c[i].flags);
        assert_int_equal(frame.codec, BACKEND_CODEC_OPUS);
        assert_int_equal(frame.rate_khz, 48);
        assert_int_equal(frame.duration_2500us, 8);
        assert_true(bytes_equal(frame.payload, tone(&w)));
        assert_int_equal(frame.time_us, session_time(c[i].slot));
    }
    close_world(&w);
}

/* 8 kHz on the wire: 160 of its timestamp are 20 ms. */
static enum voice_uplink_result speak_g711(struct world *w, uint32_t slot)
{
    uint8_t pcmu[160];
    for (size_t i = 0; i < sizeof(pcmu); i++) {
        pcmu[i] = (uint8_t)(i % 16 < 8 ? 0x10 : 0x90); /* 500 Hz */
    }
    struct rtp_packet p = packet_of(w, slot, slot, bytes_view_of(pcmu, sizeof(pcmu)), 0);
    p.timestamp = FIRST_TIME + 160 * slot;
    return voice_uplink_input(w->uplink, &p, time_of(slot));
}

static void g711_is_heard_at_the_backends_rate_on_the_same_clock(void **state)
{
    (void)state;
    static const struct sdp_offer offer = {
        .has_audio = true, .audio_codec = VOICE_CODEC_PCMU, .audio_payload_type = 0};
    struct world w;
    open_world_of(&w, &offer);
    assert_false(attach(&w, BACKEND_CODEC_OPUS, 48, 0, START_US));
    assert_true(attach(&w, BACKEND_CODEC_PCM16, 24, 0, START_US));
    for (uint32_t slot = 0; slot < 400; slot++) { /* the timestamp wraps */
        if (slot % 10 != 5) {
            assert_int_equal(speak_g711(&w, slot), VOICE_UPLINK_TAKEN);
        }
    }
    struct backend_frame frame;
    for (uint32_t slot = 0; slot < 400; slot++) {
        assert_true(next_voice(&w, &frame));
        assert_int_equal(frame.flags, slot % 10 == 5 ? BACKEND_AUDIO_CONCEALED : 0);
        assert_int_equal(frame.utterance, (uint32_t)(FIRST_TIME + 160 * slot));
        assert_int_equal(frame.time_us, session_time(slot));
        assert_int_equal(frame.payload.len, 960);
        assert_int_equal(frame.duration_2500us, 8);
    }
    const struct voice_uplink_quality q = voice_uplink_quality(w.uplink);
    assert_int_equal(q.jitter_us, 0);
    assert_int_equal(q.concealed_us, 40 * 20000);
    forget_frames(&w);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_said_before_the_accept_is_heard),
        cmocka_unit_test(what_comes_during_a_replay_waits_for_its_turn),
        cmocka_unit_test(two_seconds_are_kept_for_a_backend_that_is_away),
        cmocka_unit_test(a_backend_that_missed_less_is_sent_less),
        cmocka_unit_test(silence_and_losses_are_replayed_as_they_were),
        cmocka_unit_test(opus_passes_as_it_is_and_a_gap_is_a_discontinuity),
        cmocka_unit_test(g711_is_heard_at_the_backends_rate_on_the_same_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
