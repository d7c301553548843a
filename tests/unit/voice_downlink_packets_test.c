/* voice_downlink_packets_test.c - a backend that speaks Opus: its packets reach the client as they
 * are, on the same clock and with the same life cycle */
#include "tests/unit/voice_downlink_world.h"

/* First bytes of Opus packets of one frame (RFC 6716 s.3.1), SILK narrowband. */
static const struct {
    uint8_t toc;
    uint32_t ms;
} opus[] = {{0x00, 10}, {0x08, 20}, {0x10, 40}, {0x18, 60}};

static struct backend_accept accept_opus(void)
{
    struct backend_accept accept = world_accept();
    accept.out = (struct backend_format){BACKEND_CODEC_OPUS, 48};
    return accept;
}

static void open_opus(struct world *w)
{
    const struct backend_accept accept = accept_opus();
    world_open_as(w, &accept);
}

static uint8_t packet_bytes[60];

static enum voice_downlink_result say(struct world *w, uint32_t utterance, uint8_t toc,
                                      uint8_t mark, bool is_last)
{
    memset(packet_bytes, mark, sizeof(packet_bytes));
    packet_bytes[0] = toc;
    struct backend_frame frame = world_audio(utterance, 0, is_last);
    frame.codec = BACKEND_CODEC_OPUS;
    frame.rate_khz = 48;
    frame.payload = bytes_view_of(packet_bytes, sizeof(packet_bytes));
    return world_hear(w, &frame);
}

static bool was_sent(const struct world *w, uint8_t mark)
{
    return w->packet.payload.len == sizeof(packet_bytes) && w->packet.payload.data[59] == mark;
}

static void each_packet_leaves_as_it_is_and_lasts_as_long_as_it_is(void **state)
{
    (void)state;
    struct world w;
    open_opus(&w);
    world_slot(&w);
    const uint64_t begin_us = w.now_us;
    struct rtp_packet before = w.packet;
    w.now_us += 20 * US_PER_MS - 1; /* it need not come earlier */
    for (size_t i = 0; i < COUNT_OF(opus); i++) {
        assert_int_equal(say(&w, 1, opus[i].toc, (uint8_t)(i + 1), i + 1 == COUNT_OF(opus)),
                         VOICE_DOWNLINK_TAKEN);
    }
    uint64_t due_us = begin_us + 20 * US_PER_MS - 1;
    uint32_t step = 960;
    for (size_t i = 0; i < COUNT_OF(opus); i++) {
        world_slot(&w);
        assert_true(was_sent(&w, (uint8_t)(i + 1)));
        assert_int_equal(w.now_us, due_us);
        assert_int_equal(w.packet.marker, i == 0);
        assert_int_equal(w.packet.timestamp, (uint32_t)(before.timestamp + step));
        assert_int_equal(w.packet.sequence_number, (uint16_t)(before.sequence_number + 1));
        before = w.packet;
        step = opus[i].ms * 48;
        due_us += opus[i].ms * US_PER_MS;
    }
    world_expect(&w, 1, "started");
    const struct backend_frame done = world_expect(&w, 1, "played");
    outbox_frames_assert_holds(&done, "\"sent_us\":130000");
    world_slot(&w); /* silence at once: no encoder of ours holds anything */
    assert_int_equal(w.packet.timestamp, (uint32_t)(before.timestamp + step));
    assert_true(w.packet.payload.len < sizeof(packet_bytes));
    assert_false(w.packet.marker);
    world_close(&w);
}

static void a_packet_that_is_none_is_a_bad_frame(void **state)
{
    (void)state;
    static const uint8_t toc[] = {0xe0 /* 2.5 ms */, 0x19 /* twice 60 ms, unequal */};
    for (size_t i = 0; i < COUNT_OF(toc); i++) {
        struct world w;
        open_opus(&w);
        assert_int_equal(say(&w, 1, toc[i], 1, false), VOICE_DOWNLINK_BAD_FRAME);
        const struct backend_frame error = outbox_frames_expect(&w.frames, BACKEND_ERROR);
        outbox_frames_assert_holds(&error, "\"code\":\"bad_frame\"");
        assert_int_equal(voice_downlink_position(w.downlink).utterance, 0);
        world_close(&w);
    }
}

static void samples_are_the_wrong_codec_then(void **state)
{
    (void)state;
    struct world w;
    open_opus(&w);
    assert_int_equal(world_say(&w, 1, 20, false), VOICE_DOWNLINK_CODEC);
    outbox_frames_expect(&w.frames, BACKEND_ERROR);
    world_close(&w);
}

static void pause_resume_and_flush_are_those_of_samples(void **state)
{
    (void)state;
    struct world w;
    open_opus(&w);
    for (uint8_t i = 1; i <= 5; i++) {
        (void)say(&w, 1, 0x08, i, false);
    }
    world_slot(&w);
    assert_true(was_sent(&w, 1));
    world_expect(&w, 1, "started");
    (void)world_order(&w, BACKEND_PAUSE, 1);
    world_expect(&w, 1, "paused");
    world_slot(&w);
    assert_false(was_sent(&w, 2));
    (void)world_order(&w, BACKEND_RESUME, 1);
    world_expect(&w, 1, "resumed");
    world_slot(&w);
    assert_true(was_sent(&w, 2));
    (void)world_order(&w, BACKEND_FLUSH, 1);
    const struct backend_frame flushed = outbox_frames_expect(&w.frames, BACKEND_FLUSHED);
    outbox_frames_assert_holds(&flushed, "\"sent_us\":40000");
    outbox_frames_assert_holds(&flushed, "\"dropped_us\":60000");
    world_expect_done(&w, 1, "flushed");
    assert_int_equal(say(&w, 1, 0x08, 6, false), VOICE_DOWNLINK_STALE);
    (void)say(&w, 2, 0x08, 7, true);
    world_slot(&w);
    assert_true(was_sent(&w, 7));
    world_expect(&w, 2, "started");
    world_expect(&w, 2, "played");
    world_close(&w);
}

static void opus_is_only_for_a_client_that_hears_opus(void **state)
{
    (void)state;
    struct world w;
    const struct backend_accept accept = accept_opus();
    world_open_early(&w);
    voice_downlink_destroy(w.downlink);
    struct voice_downlink_config config = world_config(&w);
    config.voice.codec = VOICE_CODEC_PCMU;
    w.downlink = voice_downlink_create(&config);
    assert_false(voice_downlink_attach(w.downlink, &accept, w.now_us));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_packet_leaves_as_it_is_and_lasts_as_long_as_it_is),
        cmocka_unit_test(a_packet_that_is_none_is_a_bad_frame),
        cmocka_unit_test(samples_are_the_wrong_codec_then),
        cmocka_unit_test(pause_resume_and_flush_are_those_of_samples),
        cmocka_unit_test(opus_is_only_for_a_client_that_hears_opus),
    };
    return cmocka_run_group_tests(tests, world_prepare, NULL);
}
