/* voice_downlink_test.c - AUDIO_OUT in, RTP out on a 20 ms clock, and what the backend is told */
#include "tests/testing.h"

#include "services/transceiver/core/media/playout_queue.h"
#include "services/transceiver/core/session/voice_downlink.h"
#include "tests/outbox_frames.h"

#define ID        0x00000301 /* slot 3: phase 6 ms */
#define START_US  UINT64_C(9000000)
#define BEGIN_US  (START_US + 250000)
#define CREDIT_US UINT64_C(2000000)
#define OPUS      96
#define RATE_KHZ  24
#define SLOT_US   SLOT_CLOCK_SLOT_US

static struct voice_silences silences;

struct world {
    struct random_generator random;
    struct outbox *outbox;
    struct outbox_frames frames;
    struct voice_downlink *downlink;
    struct rtp_packet packet; /* the latest, its payload in `bytes` */
    uint8_t bytes[OUTBOX_DATAGRAM_BYTES];
};

static uint8_t tone[2 * RATE_KHZ * 4000]; /* 4 s, not silent */

static int make_silences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tone); i += 2) {
        tone[i + 1] = (uint8_t)(i % 96 < 48 ? 0x10 : 0xf0);
    }
    return voice_silences_make(&silences) ? 0 : -1;
}

static struct backend_accept accept_of(uint8_t codec, uint8_t rate_khz, uint32_t prebuffer_ms)
{
    return (struct backend_accept){
        .in = {BACKEND_CODEC_PCM16, 16}, .out = {codec, rate_khz}, .prebuffer_ms = prebuffer_ms};
}

static void open_tuned(struct world *w, uint32_t session_id, uint32_t bitrate_bps)
{
    random_generator_init(&w->random, 5);
    w->outbox = outbox_create(1, 1u << 20);
    w->frames = (struct outbox_frames){.outbox = w->outbox};
    w->downlink = voice_downlink_create(&(struct voice_downlink_config){
        .session_id = session_id,
        .start_us = START_US,
        .credit_us = CREDIT_US,
        .outbox = w->outbox,
        .voice = {.session_id = session_id,
                  .payload_type = OPUS,
                  .bitrate_bps = bitrate_bps,
                  .silences = &silences,
                  .rtp = {.random = random_seeded(&w->random)}},
    });
}

static void open_session(struct world *w, uint32_t session_id)
{
    open_tuned(w, session_id, 0);
}

/* Accepted, and running from BEGIN_US. */
static void open_world(struct world *w)
{
    const struct backend_accept accept = accept_of(BACKEND_CODEC_PCM16, RATE_KHZ, 20);
    open_session(w, ID);
    assert_true(voice_downlink_attach(w->downlink, &accept, BEGIN_US));
    voice_downlink_start(w->downlink, BEGIN_US);
}

static void close_world(struct world *w)
{
    outbox_frames_end(&w->frames);
    voice_downlink_destroy(w->downlink);
    outbox_destroy(w->outbox);
}

/* The packet of the next slot, at its time. Returns that time. */
static uint64_t next_packet(struct world *w)
{
    const uint64_t now_us = voice_downlink_next_timeout(w->downlink);
    const size_t len = voice_downlink_poll_packet(w->downlink, w->bytes, now_us);
    assert_true(len > 0);
    assert_int_equal(rtp_packet_parse(bytes_view_of(w->bytes, len), &w->packet), RTP_PACKET_OK);
    assert_int_equal(voice_downlink_poll_packet(w->downlink, w->bytes, now_us), 0);
    assert_true(voice_downlink_next_timeout(w->downlink) > now_us);
    return now_us;
}

static const struct voice_sender_stats *stats_of(struct world *w)
{
    return voice_sender_stats(voice_downlink_sender(w->downlink));
}

static bool is_silence(const struct world *w, uint32_t rate_hz)
{
    return bytes_equal(w->packet.payload,
                       voice_silences_find(&silences, VOICE_CODEC_OPUS, rate_hz));
}

static void hear(struct world *w, const struct backend_frame *frame, uint64_t now_us)
{
    (void)voice_downlink_input(w->downlink, frame, now_us);
}

static struct backend_frame audio(uint32_t utterance, size_t ms, bool is_last)
{
    return (struct backend_frame){.type = BACKEND_AUDIO_OUT,
                                  .flags = is_last ? BACKEND_FLAG_LAST : 0,
                                  .session = ID,
                                  .sequence = 40 + utterance,
                                  .utterance = utterance,
                                  .codec = BACKEND_CODEC_PCM16,
                                  .rate_khz = RATE_KHZ,
                                  .channels = 1,
                                  .payload = bytes_view_of(tone, 2 * RATE_KHZ * ms)};
}

static void say(struct world *w, uint32_t utterance, size_t ms, bool is_last)
{
    const struct backend_frame frame = audio(utterance, ms, is_last);
    hear(w, &frame, BEGIN_US);
}

static struct backend_frame expect_playback(struct world *w, uint32_t utterance, const char *what)
{
    const struct backend_frame frame = outbox_frames_expect(&w->frames, BACKEND_PLAYBACK);
    assert_int_equal(frame.utterance, utterance);
    outbox_frames_assert_holds(&frame, what);
    return frame;
}

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
        const struct backend_accept accept = accept_of(c[i].codec, c[i].rate_khz, 20);
        open_session(&w, ID);
        assert_int_equal(voice_downlink_attach(w.downlink, &accept, BEGIN_US), c[i].good);
        close_world(&w);
    }
}

static void a_prebuffer_of_an_hour_is_the_credit_and_still_plays(void **state)
{
    (void)state;
    struct world w;
    const struct backend_accept accept = accept_of(BACKEND_CODEC_PCM16, RATE_KHZ, UINT32_MAX);
    open_session(&w, ID);
    assert_true(voice_downlink_attach(w.downlink, &accept, BEGIN_US));
    voice_downlink_start(w.downlink, BEGIN_US);
    say(&w, 1, CREDIT_US / 1000 - 1, false);
    next_packet(&w);
    assert_true(is_silence(&w, 24000));
    expect_playback(&w, 1, "underrun");
    say(&w, 1, 1, false);
    next_packet(&w);
    expect_playback(&w, 1, "started");
    close_world(&w);
}

static void nothing_leaves_before_start_and_then_one_packet_each_slot(void **state)
{
    (void)state;
    struct world w;
    open_session(&w, ID);
    assert_true(voice_downlink_next_timeout(w.downlink) == TIME_NEVER);
    assert_int_equal(voice_downlink_poll_packet(w.downlink, w.bytes, BEGIN_US), 0);
    voice_downlink_start(w.downlink, BEGIN_US);
    const uint64_t first_us = next_packet(&w);
    const struct rtp_packet first = w.packet;
    assert_int_equal(first.payload_type, OPUS);
    assert_false(first.marker);
    assert_int_equal(first.ssrc,
                     rtp_sender_ssrc(voice_sender_rtp(voice_downlink_sender(w.downlink))));
    for (uint32_t i = 1; i < 100; i++) {
        assert_true(next_packet(&w) == first_us + i * SLOT_US);
        assert_int_equal(w.packet.timestamp, (uint32_t)(first.timestamp + 960 * i));
        assert_int_equal(w.packet.sequence_number, (uint16_t)(first.sequence_number + i));
        assert_true(is_silence(&w, 16000)); /* no rate is agreed yet */
        assert_false(w.packet.marker);
    }
    assert_int_equal(stats_of(&w)->packets, 100);
    assert_int_equal(stats_of(&w)->speech_packets, 0);
    close_world(&w);
}

/* The phase follows from the session's slot, not from when it was connected. */
static void sessions_are_spread_over_the_slot(void **state)
{
    (void)state;
    unsigned sessions_of_phase[SLOT_CLOCK_PHASES] = {0};
    for (uint32_t slot = 0; slot < 100; slot++) {
        struct world w;
        open_session(&w, slot << 8 | 1);
        const uint64_t begin_us = BEGIN_US + slot * 3777;
        voice_downlink_start(w.downlink, begin_us);
        const uint64_t first_us = voice_downlink_next_timeout(w.downlink);
        assert_in_range(first_us, begin_us, begin_us + SLOT_US - 1);
        assert_int_equal(first_us % 2000, 0);
        sessions_of_phase[first_us % SLOT_US / 2000]++;
        close_world(&w);
    }
    for (size_t i = 0; i < SLOT_CLOCK_PHASES; i++) {
        assert_int_equal(sessions_of_phase[i], 10);
    }
}

static void a_late_clock_sends_two_at_most_and_skips_the_rest(void **state)
{
    (void)state;
    static const struct {
        uint64_t late_us;
        uint64_t packets;
        uint64_t skipped;
    } c[] = {
        {0, 1, 0},     {19999, 1, 0}, {20000, 2, 0},    {39999, 2, 0},           {40000, 2, 1},
        {59999, 2, 1}, {60000, 2, 2}, {1000000, 2, 49}, {3600000000, 2, 179999},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        const uint64_t due_us = next_packet(&w) + SLOT_US;
        const struct rtp_packet before = w.packet;
        uint64_t packets = 0;
        size_t len = 0;
        while ((len = voice_downlink_poll_packet(w.downlink, w.bytes, due_us + c[i].late_us)) > 0) {
            packets++;
            (void)rtp_packet_parse(bytes_view_of(w.bytes, len), &w.packet);
        }
        assert_int_equal(packets, c[i].packets);
        assert_int_equal(stats_of(&w)->skipped_slots, c[i].skipped);
        /* The timestamp runs on over the skipped ones, the sequence does not. */
        assert_int_equal(w.packet.timestamp,
                         (uint32_t)(before.timestamp + 960 * (packets + c[i].skipped)));
        assert_int_equal(w.packet.sequence_number, (uint16_t)(before.sequence_number + packets));
        assert_true(voice_downlink_next_timeout(w.downlink) > due_us + c[i].late_us);
        assert_int_equal(voice_downlink_next_timeout(w.downlink) % SLOT_US, due_us % SLOT_US);
        close_world(&w);
    }
}

static void an_utterance_is_started_spoken_done_and_then_silence(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    next_packet(&w);
    assert_false(w.packet.marker);
    say(&w, 7, 60, true);
    outbox_frames_end(&w.frames);
    next_packet(&w);
    assert_true(w.packet.marker);
    const struct backend_frame started = expect_playback(&w, 7, "started");
    assert_int_equal(started.session, ID);
    for (int i = 1; i < 3; i++) {
        next_packet(&w);
        assert_false(w.packet.marker);
        assert_false(is_silence(&w, 24000));
    }
    const struct backend_frame done = expect_playback(&w, 7, "\"state\":\"done\"");
    outbox_frames_assert_holds(&done, "\"reason\":\"played\"");
    outbox_frames_assert_holds(&done, "\"sent_us\":60000");
    outbox_frames_assert_holds(&done, "\"heard_us\":0"); /* 60 ms lie in the browser's buffer */
    next_packet(&w);                                     /* what the encoder still holds */
    assert_false(is_silence(&w, 24000));
    next_packet(&w);
    assert_true(is_silence(&w, 24000));
    assert_int_equal(stats_of(&w)->speech_packets, 4);
    assert_true(voice_downlink_is_drained(w.downlink));
    close_world(&w);
}

/* Opus that was not forgotten would click: its first frame says something else then. */
static void speech_after_silence_is_encoded_as_if_nothing_had_been_before(void **state)
{
    (void)state;
    struct world w;
    uint8_t first[VOICE_PACKET_BYTES_MAX];
    open_world(&w);
    say(&w, 1, 20, true);
    next_packet(&w);
    const size_t first_bytes = w.packet.payload.len;
    memcpy(first, w.packet.payload.data, first_bytes);
    say(&w, 2, 20, true); /* it touches the one before */
    next_packet(&w);
    assert_false(bytes_equal(w.packet.payload, bytes_view_of(first, first_bytes)));
    while (!is_silence(&w, 24000)) {
        next_packet(&w);
    }
    say(&w, 3, 20, true);
    next_packet(&w);
    assert_true(bytes_equal(w.packet.payload, bytes_view_of(first, first_bytes)));
    outbox_clear(w.outbox);
    close_world(&w);
}

static void a_lower_bitrate_makes_smaller_packets(void **state)
{
    (void)state;
    static const uint32_t bitrate_bps[] = {6000, 0, 128000}; /* 0: 32,000 */
    uint64_t bytes[3];
    for (size_t i = 0; i < COUNT_OF(bitrate_bps); i++) {
        struct world w;
        const struct backend_accept accept = accept_of(BACKEND_CODEC_PCM16, RATE_KHZ, 20);
        open_tuned(&w, ID, bitrate_bps[i]);
        assert_true(voice_downlink_attach(w.downlink, &accept, BEGIN_US));
        voice_downlink_start(w.downlink, BEGIN_US);
        say(&w, 1, 1000, true);
        for (int slot = 0; slot < 50; slot++) {
            next_packet(&w);
        }
        bytes[i] =
            rtp_sender_stats(voice_sender_rtp(voice_downlink_sender(w.downlink))).payload_bytes;
        outbox_clear(w.outbox);
        close_world(&w);
    }
    assert_in_range(bytes[0], 300, 1500); /* 750 in the mean */
    assert_in_range(bytes[1], 2500, 5500);
    assert_true(bytes[2] > 2 * bytes[1]);
}

static void progress_comes_each_time_that_was_asked_for(void **state)
{
    (void)state;
    struct world w;
    struct backend_accept accept = accept_of(BACKEND_CODEC_PCM16, RATE_KHZ, 20);
    accept.progress_ms = 100;
    open_session(&w, ID);
    assert_true(voice_downlink_attach(w.downlink, &accept, BEGIN_US));
    voice_downlink_start(w.downlink, BEGIN_US);
    say(&w, 1, 400, true);
    for (int slot = 1; slot <= 20; slot++) {
        next_packet(&w);
        if (slot == 1) {
            expect_playback(&w, 1, "started");
        }
        if (slot % 5 == 0 && slot < 20) {
            expect_playback(&w, 1, "progress");
        }
    }
    expect_playback(&w, 1, "done");
    close_world(&w);
}

static void credit_is_told_when_a_quarter_was_freed_and_is_absolute(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    say(&w, 1, 2000, false);
    uint64_t told_us = CREDIT_US;
    for (uint64_t slot = 1; slot <= 99; slot++) {
        struct backend_frame frame;
        next_packet(&w);
        while (outbox_frames_next(&w.frames, &frame)) {
            if (frame.type == BACKEND_CREDIT) {
                struct byte_reader r;
                byte_reader_init(&r, frame.payload);
                told_us = byte_reader_u64_le(&r);
                assert_int_equal(byte_reader_left(&r), 0);
                assert_int_equal(told_us, CREDIT_US + slot * SLOT_US);
            }
        }
        assert_true(CREDIT_US + slot * SLOT_US - told_us < CREDIT_US / 4);
    }
    close_world(&w);
}

/* What exceeds the credit is dropped, to the sample, and said. */
static void beyond_the_credit_is_an_error(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    say(&w, 1, 2000, false);
    outbox_frames_end(&w.frames);
    struct backend_frame one_sample = audio(1, 1, false);
    one_sample.payload.len = 2;
    one_sample.sequence = 99;
    hear(&w, &one_sample, BEGIN_US);
    const struct backend_frame error = outbox_frames_expect(&w.frames, BACKEND_ERROR);
    outbox_frames_assert_holds(&error, "\"code\":\"credit\"");
    outbox_frames_assert_holds(&error, "\"fatal\":false");
    outbox_frames_assert_holds(&error, "\"type\":33");
    outbox_frames_assert_holds(&error, "\"sequence\":99");
    close_world(&w);
}

static void a_wrong_frame_is_dropped_with_its_reason_once_a_second(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        uint32_t utterance;
        uint8_t codec;
        uint8_t rate_khz;
        size_t bytes;
    } c[] = {
        {"bad_frame", 0, BACKEND_CODEC_PCM16, RATE_KHZ, 960},
        {"codec", 1, BACKEND_CODEC_PCM16, 16, 960},
        {"codec", 1, BACKEND_CODEC_OPUS, 48, 960},
        {"codec", 1, BACKEND_CODEC_NONE, 0, 960},
        {"bad_frame", 1, BACKEND_CODEC_PCM16, RATE_KHZ, 961},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        struct backend_frame frame = audio(c[i].utterance, 100, false);
        frame.codec = c[i].codec;
        frame.rate_khz = c[i].rate_khz;
        frame.payload.len = c[i].bytes;
        static const struct {
            uint64_t after_us;
            bool is_said;
        } at[] = {{0, true}, {1, false}, {999999, false}, {1000000, true}, {1000001, false}};
        for (size_t k = 0; k < COUNT_OF(at); k++) {
            hear(&w, &frame, BEGIN_US + at[k].after_us);
            if (at[k].is_said) {
                const struct backend_frame e = outbox_frames_expect(&w.frames, BACKEND_ERROR);
                outbox_frames_assert_holds(&e, c[i].code);
            }
            outbox_frames_end(&w.frames);
        }
        assert_true(voice_downlink_is_drained(w.downlink));
        close_world(&w);
    }
}

static void an_empty_last_needs_no_codec(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    say(&w, 1, 20, false);
    next_packet(&w);
    expect_playback(&w, 1, "started");
    struct backend_frame last = audio(1, 0, true);
    last.codec = last.rate_khz = last.channels = 0;
    hear(&w, &last, BEGIN_US);
    next_packet(&w);
    expect_playback(&w, 1, "played");
    close_world(&w);
}

static void a_flush_is_answered_between_what_was_before_and_done(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    say(&w, 5, 1000, true);
    say(&w, 6, 200, true);
    for (int i = 0; i < 10; i++) {
        next_packet(&w);
    }
    expect_playback(&w, 5, "started");
    const struct backend_frame flush = {.type = BACKEND_FLUSH, .session = ID, .utterance = 6};
    hear(&w, &flush, BEGIN_US + 300000);
    const struct backend_frame flushed = outbox_frames_expect(&w.frames, BACKEND_FLUSHED);
    assert_int_equal(flushed.utterance, 6);
    assert_int_equal(flushed.time_us, 550000);
    outbox_frames_assert_holds(&flushed, "\"utterance\":5");
    outbox_frames_assert_holds(&flushed, "\"sent_us\":200000");
    outbox_frames_assert_holds(&flushed, "\"heard_us\":140000");
    outbox_frames_assert_holds(&flushed, "\"dropped_us\":1000000");
    expect_playback(&w, 5, "\"reason\":\"flushed\"");
    expect_playback(&w, 6, "\"reason\":\"flushed\"");
    outbox_frames_expect(&w.frames, BACKEND_CREDIT);
    outbox_frames_end(&w.frames);
    next_packet(&w); /* the ramp */
    assert_false(is_silence(&w, 24000));
    next_packet(&w); /* what the encoder held */
    next_packet(&w);
    assert_true(is_silence(&w, 24000));
    say(&w, 6, 100, true); /* dead, however late it comes */
    say(&w, 7, 20, true);  /* not a mode: the next one plays */
    next_packet(&w);
    expect_playback(&w, 7, "started");
    expect_playback(&w, 7, "played");
    close_world(&w);
}

static void a_flush_of_nothing_is_answered_too(void **state)
{
    (void)state;
    static const uint32_t utterance[] = {0, 3, UTTERANCE_ALL};
    for (size_t i = 0; i < COUNT_OF(utterance); i++) {
        struct world w;
        open_world(&w);
        const struct backend_frame flush = {
            .type = BACKEND_FLUSH, .session = ID, .utterance = utterance[i]};
        hear(&w, &flush, BEGIN_US);
        const struct backend_frame flushed = outbox_frames_expect(&w.frames, BACKEND_FLUSHED);
        assert_int_equal(flushed.utterance, utterance[i] == 3 ? 3 : 0);
        outbox_frames_assert_holds(&flushed, "\"dropped_us\":0");
        close_world(&w);
    }
}

static void before_accept_frames_are_ignored(void **state)
{
    (void)state;
    struct world w;
    open_session(&w, ID);
    say(&w, 1, 100, true);
    const struct backend_frame flush = {.type = BACKEND_FLUSH, .session = ID};
    hear(&w, &flush, BEGIN_US);
    assert_true(voice_downlink_is_drained(w.downlink));
    voice_downlink_end(w.downlink, false, BEGIN_US);
    close_world(&w);
}

static void the_end_finishes_each_utterance_once_and_with_its_reason(void **state)
{
    (void)state;
    for (int lost = 0; lost <= 1; lost++) {
        struct world w;
        open_world(&w);
        say(&w, 1, 100, true);
        say(&w, 2, 100, false);
        next_packet(&w);
        expect_playback(&w, 1, "started");
        voice_downlink_end(w.downlink, lost == 1, BEGIN_US);
        for (uint32_t utterance = 1; utterance <= 2; utterance++) {
            expect_playback(&w, utterance, lost == 1 ? "backend_lost" : "session_end");
        }
        voice_downlink_end(w.downlink, lost == 1, BEGIN_US);
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_pcm16_at_our_rates_is_taken),
        cmocka_unit_test(a_prebuffer_of_an_hour_is_the_credit_and_still_plays),
        cmocka_unit_test(nothing_leaves_before_start_and_then_one_packet_each_slot),
        cmocka_unit_test(sessions_are_spread_over_the_slot),
        cmocka_unit_test(a_late_clock_sends_two_at_most_and_skips_the_rest),
        cmocka_unit_test(an_utterance_is_started_spoken_done_and_then_silence),
        cmocka_unit_test(speech_after_silence_is_encoded_as_if_nothing_had_been_before),
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
    return cmocka_run_group_tests(tests, make_silences, NULL);
}
