/* voice_uplink_test.c - RTP in, AUDIO_IN out: when, in which order, and what is said of a gap */
#include "tests/unit/uplink_world.h"

#include "services/transceiver/core/media/reorder_buffer.h"
#include "services/transceiver/core/media/voice_decoder.h"

static void what_can_be_made_of_opus_is_given(void **state)
{
    (void)state;
    static const struct {
        uint8_t codec;
        uint8_t rate_khz;
        bool good;
    } c[] = {
        {BACKEND_CODEC_PCM16, 8, true},  {BACKEND_CODEC_PCM16, 16, true},
        {BACKEND_CODEC_PCM16, 24, true}, {BACKEND_CODEC_PCM16, 48, true},
        {BACKEND_CODEC_OPUS, 48, true},  {BACKEND_CODEC_PCMU, 8, false},
        {BACKEND_CODEC_PCMA, 8, false},  {BACKEND_CODEC_NONE, 0, false},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, 0);
        assert_int_equal(attach(&w, c[i].codec, c[i].rate_khz, 0, START_US), c[i].good);
        close_world(&w);
    }
}

static void a_packet_in_order_is_a_frame_at_once(void **state)
{
    (void)state;
    static const uint8_t rate_khz[] = {8, 16, 24, 48};
    for (size_t r = 0; r < COUNT_OF(rate_khz); r++) {
        struct world w;
        int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
        size_t samples = 0;
        struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, rate_khz[r] * 1000u);
        open_world(&w, rate_khz[r]);
        for (uint32_t slot = 0; slot < 50; slot++) {
            assert_int_equal(speak(&w, slot), VOICE_UPLINK_TAKEN);
            const struct backend_frame frame = expect(&w, slot, 0);
            assert_int_equal(frame.session, ID);
            assert_int_equal(frame.time_us, time_of(slot) - START_US);
            assert_int_equal(frame.codec, BACKEND_CODEC_PCM16);
            assert_int_equal(frame.rate_khz, rate_khz[r]);
            assert_int_equal(frame.channels, 1);
            assert_int_equal(frame.duration_2500us, 8);
            (void)voice_decoder_decode(d, tone(&w), pcm, &samples, 0);
            assert_int_equal(frame.payload.len, 2 * samples);
            assert_int_equal(samples, rate_khz[r] * 20);
            for (size_t i = 0; i < samples; i++) {
                assert_int_equal(frame.payload.data[2 * i], pcm[i] & 0xff);
                assert_int_equal(frame.payload.data[2 * i + 1], pcm[i] >> 8 & 0xff);
            }
        }
        assert_true(voice_uplink_next_timeout(w.uplink) ==
                    time_of(49) + REORDER_BUFFER_STALL_US); /* nothing is waited for */
        assert_int_equal(voice_uplink_stats(w.uplink)->frames, 50);
        voice_decoder_destroy(d);
        close_world(&w);
    }
}

static void a_lost_packet_is_concealed_when_the_next_one_comes(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak(&w, 0);
    (void)speak(&w, 2);
    expect(&w, 0, 0);
    const struct backend_frame filled = expect(&w, 1, BACKEND_AUDIO_CONCEALED);
    assert_int_equal(filled.payload.len, 640);
    assert_int_equal(filled.time_us, time_of(1) - START_US);
    expect(&w, 2, 0);
    assert_int_equal(voice_uplink_stats(w.uplink)->frames, 3);
    assert_int_equal(voice_uplink_stats(w.uplink)->concealed, 1);
    close_world(&w);
}

/* After a late packet a gap waits for two newer ones, or for the window. */
static void a_gap_that_waits_is_closed_by_its_timer(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak(&w, 0);
    (void)speak(&w, 2);
    assert_int_equal(input(&w, 1, 1, tone(&w), OPUS), VOICE_UPLINK_LATE);
    for (uint32_t slot = 0; slot < 3; slot++) {
        expect(&w, slot, slot == 1 ? BACKEND_AUDIO_CONCEALED : 0);
    }
    (void)speak(&w, 4);
    outbox_frames_end(&w.frames); /* 3 may still come */
    const uint64_t due_us = voice_uplink_next_timeout(w.uplink);
    assert_in_range(due_us, time_of(4) + 1, time_of(4) + 60000);
    voice_uplink_tick(w.uplink, due_us - 1);
    outbox_frames_end(&w.frames);
    voice_uplink_tick(w.uplink, due_us);
    expect(&w, 3, BACKEND_AUDIO_CONCEALED);
    expect(&w, 4, 0);
    assert_true(voice_uplink_next_timeout(w.uplink) == time_of(4) + REORDER_BUFFER_STALL_US);
    close_world(&w);
}

static void a_jump_of_the_clock_without_loss_is_silence_and_not_concealed(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak(&w, 0);
    (void)input(&w, 12, 1, tone(&w), OPUS);
    expect(&w, 0, 0);
    uint32_t slot = 1;
    while (slot < 12) {
        const struct backend_frame frame = expect(&w, slot, BACKEND_AUDIO_SILENCE);
        assert_int_equal(frame.payload.len, 0);
        assert_in_range(frame.duration_2500us, 8, 40);
        assert_int_equal(frame.time_us, time_of(slot) - START_US);
        slot += frame.duration_2500us / 8u;
    }
    assert_int_equal(slot, 12);
    expect(&w, 12, 0);
    assert_int_equal(voice_uplink_stats(w.uplink)->frames, 2);
    assert_int_equal(voice_uplink_stats(w.uplink)->concealed, 0);
    close_world(&w);
}

/* 120 ms in a packet: more than 10 s of media at one instant are not decoded. */
static void a_packet_that_is_not_decoded_is_a_discontinuity_of_the_next(void **state)
{
    (void)state;
    static const uint8_t six_frames[] = {0x19, 1, 2};
    enum { BUDGET_PACKETS = 10000 / 120 };
    struct world w;
    open_world(&w, RATE_KHZ);
    for (uint32_t i = 0; i < BUDGET_PACKETS + 1; i++) {
        const struct rtp_packet packet = {.payload_type = OPUS,
                                          .sequence_number = (uint16_t)(FIRST_NUMBER + i),
                                          .timestamp = FIRST_TIME + 5760 * i,
                                          .ssrc = SSRC,
                                          .payload = bytes_view_of(six_frames, sizeof(six_frames))};
        assert_int_equal(voice_uplink_input(w.uplink, &packet, BEGIN_US), VOICE_UPLINK_TAKEN);
    }
    for (uint32_t i = 0; i < BUDGET_PACKETS; i++) {
        expect(&w, 6 * i, 0);
    }
    outbox_frames_end(&w.frames);
    assert_int_equal(voice_uplink_stats(w.uplink)->undecoded, 1);
    const uint32_t next = 6 * (BUDGET_PACKETS + 1);
    (void)input(&w, next, BUDGET_PACKETS + 1, tone(&w), OPUS);
    (void)input(&w, next + 1, BUDGET_PACKETS + 2, tone(&w), OPUS);
    expect(&w, next, BACKEND_AUDIO_DISCONTINUITY);
    expect(&w, next + 1, 0);
    close_world(&w);
}

static void another_ssrc_is_a_discontinuity_even_if_its_first_packet_holds_no_audio(void **state)
{
    (void)state;
    for (int silent_first = 0; silent_first <= 1; silent_first++) {
        struct world w;
        open_world(&w, RATE_KHZ);
        (void)speak(&w, 0);
        expect(&w, 0, 0);
        w.ssrc = SSRC + 1;
        if (silent_first == 1) {
            assert_int_equal(input(&w, 1, 1, bytes_view_of("", 0), 110),
                             VOICE_UPLINK_OTHER_PAYLOAD);
            outbox_frames_end(&w.frames);
            (void)speak(&w, 2);
            expect(&w, 1, BACKEND_AUDIO_SILENCE | BACKEND_AUDIO_DISCONTINUITY);
        } else {
            (void)speak(&w, 1);
            (void)speak(&w, 2);
            expect(&w, 1, BACKEND_AUDIO_DISCONTINUITY);
        }
        expect(&w, 2, 0);
        w.ssrc = SSRC;
        assert_int_equal(speak(&w, 3), VOICE_UPLINK_RETIRED_SSRC);
        close_world(&w);
    }
}

static void other_payloads_fill_their_place_without_a_sound(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak(&w, 0);
    for (uint32_t slot = 1; slot < 4; slot++) {
        assert_int_equal(input(&w, slot, slot, bytes_view_of("1234", 4), 110),
                         VOICE_UPLINK_OTHER_PAYLOAD);
    }
    (void)input(&w, 4, 4, bytes_view_of("", 0), OPUS); /* empty: it never reaches the decoder */
    expect(&w, 0, 0);
    outbox_frames_end(&w.frames);
    assert_int_equal(voice_uplink_stats(w.uplink)->concealed, 0);
    assert_int_equal(voice_uplink_stats(w.uplink)->undecoded, 0);
    close_world(&w);
}

static void each_packet_is_counted_by_what_became_of_it(void **state)
{
    (void)state;
    static const uint8_t large[VOICE_PACKET_BYTES_MAX + 1];
    static const uint8_t three_times_60_ms[] = {0x1b, 0x03, 1, 2};
    static const uint8_t lying_red[] = {0xef, 0x0f, 0x00, 0x09, 0x6f, 1, 2};
    static const uint8_t cut_red[] = {0xef, 0x0f, 0x00};
    static const uint8_t red_in_red[] = {RED, 0x6f, 1};
    static const uint8_t five_blocks[] = {0xef, 0, 0, 0,    0xef, 0, 0, 0,    0xef,
                                          0,    0, 0, 0xef, 0,    0, 0, 0x6f, 1};
    struct world w;
    open_world(&w, RATE_KHZ);
    const struct {
        uint32_t slot;
        uint32_t sequence;
        uint8_t payload_type;
        struct bytes_view payload;
        enum voice_uplink_result result;
    } c[] = {
        {0, 0, 96, tone(&w), VOICE_UPLINK_UNKNOWN_PAYLOAD},
        {0, 0, OPUS, tone(&w), VOICE_UPLINK_TAKEN},
        {0, 0, OPUS, tone(&w), VOICE_UPLINK_DUPLICATE},
        {2, 2, OPUS, tone(&w), VOICE_UPLINK_TAKEN},     /* 1 is given up */
        {3, 1, OPUS, tone(&w), VOICE_UPLINK_MISPLACED}, /* the time of another slot */
        {1, 1, OPUS, tone(&w), VOICE_UPLINK_LATE},
        {4, 9000, OPUS, tone(&w), VOICE_UPLINK_JUMP},
        {5, 3, OPUS, bytes_view_of(large, sizeof(large)), VOICE_UPLINK_TOO_LARGE},
        {6, 4, OPUS, bytes_view_of(three_times_60_ms, 4), VOICE_UPLINK_MALFORMED},
        {7, 5, OPUS, bytes_view_of("", 0), VOICE_UPLINK_EMPTY},
        {8, 6, RED, bytes_view_of(lying_red, sizeof(lying_red)), VOICE_UPLINK_RED_LENGTH},
        {9, 7, RED, bytes_view_of(cut_red, sizeof(cut_red)), VOICE_UPLINK_RED_TRUNCATED},
        {10, 8, RED, bytes_view_of(red_in_red, sizeof(red_in_red)), VOICE_UPLINK_RED_NESTED},
        {11, 9, RED, bytes_view_of(five_blocks, sizeof(five_blocks)), VOICE_UPLINK_RED_BLOCKS},
        {12, 10, 96, tone(&w), VOICE_UPLINK_OTHER_PAYLOAD}, /* of the SSRC that is heard */
        {13, 11, OPUS, tone(&w), VOICE_UPLINK_TAKEN},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        const enum voice_uplink_result result =
            input(&w, c[i].slot, c[i].sequence, c[i].payload, c[i].payload_type);
        if (result != c[i].result) {
            fail_msg("case %zu: %s", i, voice_uplink_result_name(result));
        }
    }
    voice_uplink_note_refused(w.uplink, RTP_PACKET_PADDING);
    const struct voice_uplink_stats *stats = voice_uplink_stats(w.uplink);
    assert_int_equal(stats->packets[VOICE_UPLINK_RTP_PADDING], 1);
    uint64_t all = 0;
    for (int i = 0; i < VOICE_UPLINK_RESULT_COUNT; i++) {
        all += stats->packets[i];
    }
    assert_int_equal(all, COUNT_OF(c) + 1);
    assert_int_equal(stats->packets[VOICE_UPLINK_TAKEN], 3);
    assert_int_equal(stats->packets[VOICE_UPLINK_LATE], 1);
    assert_int_equal(stats->undecoded, 0);
    forget_frames(&w);
    /* And the call lives. */
    for (uint32_t slot = 14; slot < 20; slot++) {
        assert_int_equal(input(&w, slot, slot - 2, tone(&w), OPUS), VOICE_UPLINK_TAKEN);
        outbox_frames_expect(&w.frames, BACKEND_AUDIO_IN);
    }
    forget_frames(&w);
    close_world(&w);
}

static void a_full_outbox_costs_the_frame_and_nothing_else(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    for (uint32_t slot = 0; outbox_dropped(w.outbox) == 0; slot++) {
        assert_int_equal(speak(&w, slot), VOICE_UPLINK_TAKEN);
    }
    outbox_clear(w.outbox);
    const uint32_t slot = (uint32_t)voice_uplink_stats(w.uplink)->frames;
    (void)speak(&w, slot);
    expect(&w, slot, 0);
    close_world(&w);
}

static void each_result_has_its_own_name(void **state)
{
    (void)state;
    for (int i = 0; i < VOICE_UPLINK_RESULT_COUNT; i++) {
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(voice_uplink_result_name((enum voice_uplink_result)i),
                                    voice_uplink_result_name((enum voice_uplink_result)k));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_made_of_opus_is_given),
        cmocka_unit_test(a_packet_in_order_is_a_frame_at_once),
        cmocka_unit_test(a_lost_packet_is_concealed_when_the_next_one_comes),
        cmocka_unit_test(a_gap_that_waits_is_closed_by_its_timer),
        cmocka_unit_test(a_jump_of_the_clock_without_loss_is_silence_and_not_concealed),
        cmocka_unit_test(a_packet_that_is_not_decoded_is_a_discontinuity_of_the_next),
        cmocka_unit_test(another_ssrc_is_a_discontinuity_even_if_its_first_packet_holds_no_audio),
        cmocka_unit_test(other_payloads_fill_their_place_without_a_sound),
        cmocka_unit_test(each_packet_is_counted_by_what_became_of_it),
        cmocka_unit_test(a_full_outbox_costs_the_frame_and_nothing_else),
        cmocka_unit_test(each_result_has_its_own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
