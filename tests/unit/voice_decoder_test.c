/* voice_decoder_test.c - only what is Opus reaches Opus, and only as much as time allows */
#include "tests/testing.h"

#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "tests/speech_like.h"

#include <stdlib.h>

#define NOW_US  (100 * US_PER_S)
#define RATE_HZ 24000

static int16_t pcm[VOICE_DECODER_SAMPLES_MAX];

/* A packet of the encoder for 20 ms of noise. */
static size_t make_packet(uint8_t out[VOICE_PACKET_BYTES_MAX])
{
    struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, RATE_HZ);
    assert_non_null(e);
    int16_t frame[RATE_HZ / 50];
    for (size_t i = 0; i < COUNT_OF(frame); i++) {
        frame[i] = (int16_t)(i * 7919 % 8000);
    }
    const size_t len = voice_encoder_encode(e, frame, out);
    voice_encoder_destroy(e);
    return len;
}

static void a_duration_is_read_from_the_first_bytes(void **state)
{
    (void)state;
    static const struct {
        uint8_t data[4];
        size_t len;
        uint32_t duration;
    } packet[] = {
        {{0xe0}, 1, 120},              /* CELT 2.5 ms, nothing coded: DTX */
        {{0x08, 1, 2}, 3, 960},        /* SILK 20 ms */
        {{0x18, 1, 2}, 3, 2880},       /* SILK 60 ms */
        {{0x19, 1, 2}, 3, 5760},       /* two of them */
        {{0x19, 1}, 2, 0},             /* two of unequal length in a code that has equal ones */
        {{0x1b, 0x02, 1, 2}, 4, 5760}, /* code 3, count 2 */
        {{0x1b, 0x03, 1, 2}, 4, 0},    /* count 3: 180 ms */
        {{0x0b, 0x00, 1, 2}, 4, 0},    /* count 0 */
        {{0x0b}, 1, 0},                /* code 3 without a count */
        {{0xe3, 0x30}, 2, 5760},       /* 48 frames of 2.5 ms */
        {{0xe3, 0x31}, 2, 0},          /* 49 */
        {{0x0a, 3, 1, 2}, 4, 0},       /* code 2: the first frame is longer than the packet */
    };
    for (size_t i = 0; i < COUNT_OF(packet); i++) {
        assert_int_equal(
            voice_packet_duration(VOICE_CODEC_OPUS, bytes_view_of(packet[i].data, packet[i].len)),
            packet[i].duration);
    }
    assert_int_equal(voice_packet_duration(VOICE_CODEC_OPUS, (struct bytes_view){0}), 0);
    uint8_t large[VOICE_PACKET_BYTES_MAX + 1] = {0xe0};
    assert_int_equal(
        voice_packet_duration(VOICE_CODEC_OPUS, bytes_view_of(large, VOICE_PACKET_BYTES_MAX)), 120);
    assert_int_equal(voice_packet_duration(VOICE_CODEC_OPUS, bytes_view_of(large, sizeof(large))),
                     0);
}

static void a_packet_gives_its_duration_at_every_rate(void **state)
{
    (void)state;
    uint8_t packet[VOICE_PACKET_BYTES_MAX];
    const size_t len = make_packet(packet);
    static const uint32_t rate_hz[] = {8000, 16000, 24000, 48000};
    for (size_t i = 0; i < COUNT_OF(rate_hz); i++) {
        struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, rate_hz[i]);
        assert_non_null(d);
        size_t samples = 0;
        assert_int_equal(voice_decoder_decode(d, bytes_view_of(packet, len), pcm, &samples, NOW_US),
                         VOICE_DECODER_OK);
        assert_int_equal(samples, rate_hz[i] / 50);
        assert_int_equal(voice_decoder_conceal(d, 1200, pcm, &samples, NOW_US), VOICE_DECODER_OK);
        assert_int_equal(samples, rate_hz[i] / 40);
        assert_int_equal(
            voice_decoder_decode_fec(d, bytes_view_of(packet, len), 1920, pcm, &samples, NOW_US),
            VOICE_DECODER_OK);
        assert_int_equal(samples, rate_hz[i] / 25);
        voice_decoder_destroy(d);
    }
}

static void a_payload_that_is_not_opus_gives_no_samples_and_does_no_harm(void **state)
{
    (void)state;
    uint8_t packet[VOICE_PACKET_BYTES_MAX];
    const size_t len = make_packet(packet);
    struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ);
    static const uint8_t three_times_60_ms[] = {0x1b, 0x03, 1, 2};
    static const uint8_t large[VOICE_PACKET_BYTES_MAX + 1];
    const struct bytes_view bad[] = {
        {NULL, 0},
        {packet, 0},
        bytes_view_of(three_times_60_ms, sizeof(three_times_60_ms)),
        bytes_view_of(large, sizeof(large)),
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        size_t samples = 99;
        assert_int_equal(voice_decoder_decode(d, bad[i], pcm, &samples, NOW_US),
                         VOICE_DECODER_MALFORMED);
        assert_int_equal(samples, 0);
        samples = 99;
        assert_int_equal(voice_decoder_decode_fec(d, bad[i], 960, pcm, &samples, NOW_US),
                         VOICE_DECODER_MALFORMED);
        assert_int_equal(samples, 0);
        assert_int_equal(voice_decoder_decode(d, bytes_view_of(packet, len), pcm, &samples, NOW_US),
                         VOICE_DECODER_OK);
        assert_int_equal(samples, RATE_HZ / 50);
    }
    voice_decoder_destroy(d);
}

static void a_packet_cut_anywhere_is_decoded_within_its_bytes(void **state)
{
    (void)state;
    uint8_t packet[VOICE_PACKET_BYTES_MAX];
    const size_t len = make_packet(packet);
    struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ);
    for (size_t cut = 1; cut <= len; cut++) {
        uint8_t *copy = malloc(cut);
        assert_non_null(copy);
        memcpy(copy, packet, cut);
        size_t samples = 0;
        const enum voice_decoder_result result = voice_decoder_decode(
            d, bytes_view_of(copy, cut), pcm, &samples, NOW_US + cut * 20 * US_PER_MS);
        assert_true(result == VOICE_DECODER_OK ? samples == RATE_HZ / 50 : samples == 0);
        free(copy);
    }
    voice_decoder_destroy(d);
}

/* How many packets of 20 ms are decoded at one instant. */
static size_t decode_until_refused(struct voice_decoder *d, struct bytes_view packet,
                                   uint64_t now_us)
{
    size_t count = 0;
    size_t samples = 0;
    while (voice_decoder_decode(d, packet, pcm, &samples, now_us) == VOICE_DECODER_OK) {
        count++;
    }
    assert_int_equal(samples, 0);
    return count;
}

static void media_beyond_a_burst_of_10_s_is_refused_and_comes_back_at_one_and_a_half(void **state)
{
    (void)state;
    uint8_t data[VOICE_PACKET_BYTES_MAX];
    const struct bytes_view packet = bytes_view_of(data, make_packet(data));
    struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ);
    assert_int_equal(decode_until_refused(d, packet, NOW_US), 500);
    size_t samples = 0;
    assert_int_equal(voice_decoder_conceal(d, 960, pcm, &samples, NOW_US),
                     VOICE_DECODER_OVER_BUDGET);
    assert_int_equal(decode_until_refused(d, packet, NOW_US + US_PER_S), 75);
    assert_int_equal(decode_until_refused(d, packet, NOW_US + 100 * US_PER_S), 500);
    voice_decoder_reset(d); /* a new SSRC earns no new budget */
    assert_int_equal(decode_until_refused(d, packet, NOW_US + 100 * US_PER_S), 0);
    voice_decoder_destroy(d);
}

static void a_reset_decoder_does_not_remember(void **state)
{
    (void)state;
    uint8_t data[VOICE_PACKET_BYTES_MAX];
    const struct bytes_view packet = bytes_view_of(data, make_packet(data));
    struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ);
    size_t samples = 0;
    int16_t first[RATE_HZ / 50];
    (void)voice_decoder_decode(d, packet, pcm, &samples, NOW_US);
    memcpy(first, pcm, sizeof(first));
    (void)voice_decoder_decode(d, packet, pcm, &samples, NOW_US);
    assert_memory_not_equal(first, pcm, sizeof(first));
    voice_decoder_reset(d);
    (void)voice_decoder_decode(d, packet, pcm, &samples, NOW_US);
    assert_memory_equal(first, pcm, sizeof(first));
    voice_decoder_destroy(d);
}

/* The energy of the difference. */
static double error_of(const int16_t *a, const int16_t *b, size_t samples)
{
    double sum = 0;
    for (size_t i = 0; i < samples; i++) {
        const double difference = a[i] - b[i];
        sum += difference * difference;
    }
    return sum;
}

/* Of three decoders one hears all; the others miss each tenth frame, and one has FEC for it. */
static void fec_gives_a_lost_frame_better_than_concealment_does(void **state)
{
    (void)state;
    enum { ALL, FEC, CONCEAL, DECODERS, FRAMES = 200, SAMPLES = RATE_HZ / 50 };
    struct random_generator g;
    random_generator_init(&g, 1);
    struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, RATE_HZ);
    struct voice_decoder *d[DECODERS];
    double error[DECODERS] = {0};
    for (size_t i = 0; i < DECODERS; i++) {
        d[i] = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ);
        assert_non_null(d[i]);
    }
    voice_encoder_set_loss(e, 10);
    bool was_lost = false;
    size_t repaired = 0;
    static int16_t heard[DECODERS][VOICE_DECODER_SAMPLES_MAX];
    for (size_t n = 0; n < FRAMES; n++) {
        int16_t frame[SAMPLES];
        uint8_t data[VOICE_PACKET_BYTES_MAX];
        speech_like_voice(&g, -20, RATE_HZ, n * SAMPLES, frame, SAMPLES);
        const struct bytes_view packet = bytes_view_of(data, voice_encoder_encode(e, frame, data));
        const uint64_t now_us = n * 20 * US_PER_MS;
        size_t samples = 0;
        if (was_lost && voice_packet_has_fec(packet)) {
            repaired++;
            assert_int_equal(
                voice_decoder_decode_fec(d[FEC], packet, 960, heard[FEC], &samples, now_us),
                VOICE_DECODER_OK);
            assert_int_equal(samples, SAMPLES);
            (void)voice_decoder_conceal(d[CONCEAL], 960, heard[CONCEAL], &samples, now_us);
            error[FEC] += error_of(heard[FEC], heard[ALL], SAMPLES);
            error[CONCEAL] += error_of(heard[CONCEAL], heard[ALL], SAMPLES);
        }
        was_lost = n % 10 == 9;
        for (size_t i = 0; i < (was_lost ? 1 : DECODERS); i++) {
            (void)voice_decoder_decode(d[i], packet, heard[i], &samples, now_us);
        }
    }
    assert_true(repaired > FRAMES / 10 / 2);
    assert_true(error[FEC] * 4 < error[CONCEAL]);
    for (size_t i = 0; i < DECODERS; i++) {
        voice_decoder_destroy(d[i]);
    }
    voice_encoder_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duration_is_read_from_the_first_bytes),
        cmocka_unit_test(a_packet_gives_its_duration_at_every_rate),
        cmocka_unit_test(a_payload_that_is_not_opus_gives_no_samples_and_does_no_harm),
        cmocka_unit_test(a_packet_cut_anywhere_is_decoded_within_its_bytes),
        cmocka_unit_test(media_beyond_a_burst_of_10_s_is_refused_and_comes_back_at_one_and_a_half),
        cmocka_unit_test(fec_gives_a_lost_frame_better_than_concealment_does),
        cmocka_unit_test(a_reset_decoder_does_not_remember),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
