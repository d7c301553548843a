/* voice_encoder_test.c - 32 kb/s of speech packets, and silence that can be repeated */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/media/voice_silence.h"

#include <math.h>
#include <stdlib.h>

#define FRAMES 250

static const uint32_t rates_hz[] = {8000, 16000, 24000, 48000};

/* 20 ms of something like a voice: a saw of 120 Hz that swells, and breath. */
static void fill_frame(int16_t *frame, uint32_t rate_hz, size_t n)
{
    struct random_generator breath;
    random_generator_init(&breath, n);
    for (size_t i = 0; i < rate_hz / 50; i++) {
        const double t = (double)(n * (rate_hz / 50) + i) / rate_hz;
        const double saw = fmod(t * 120, 1) - 0.5;
        const double swell = 0.6 + 0.4 * sin(t * 20);
        frame[i] = (int16_t)(12000 * saw * swell);
        frame[i] = (int16_t)(frame[i] + (int16_t)(random_generator_next(&breath) % 3000));
    }
}

static int loudest(const int16_t *pcm, size_t samples)
{
    int max = 0;
    for (size_t i = 0; i < samples; i++) {
        max = abs(pcm[i]) > max ? abs(pcm[i]) : max;
    }
    return max;
}

static void a_frame_becomes_one_packet_of_20_ms_at_32_kbits(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT_OF(rates_hz); r++) {
        struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, rates_hz[r]);
        assert_non_null(e);
        size_t bytes = 0;
        for (size_t n = 0; n < FRAMES; n++) {
            int16_t frame[960];
            uint8_t packet[VOICE_PACKET_BYTES_MAX];
            fill_frame(frame, rates_hz[r], n);
            const size_t len = voice_encoder_encode(e, frame, packet);
            assert_int_equal(voice_packet_duration(VOICE_CODEC_OPUS, bytes_view_of(packet, len)),
                             960);
            bytes += len;
        }
        const size_t bits_per_s = bytes * 8 * 50 / FRAMES;
        assert_in_range(bits_per_s, 24000, 40000);
        voice_encoder_destroy(e);
    }
}

static void a_reset_encoder_does_not_remember(void **state)
{
    (void)state;
    struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, 24000);
    int16_t frame[480];
    uint8_t first[VOICE_PACKET_BYTES_MAX];
    uint8_t packet[VOICE_PACKET_BYTES_MAX];
    fill_frame(frame, 24000, 0);
    const size_t first_len = voice_encoder_encode(e, frame, first);
    for (size_t n = 1; n < 20; n++) {
        fill_frame(frame, 24000, n);
        (void)voice_encoder_encode(e, frame, packet);
    }
    voice_encoder_reset(e);
    fill_frame(frame, 24000, 0);
    const size_t len = voice_encoder_encode(e, frame, packet);
    assert_int_equal(len, first_len);
    assert_memory_equal(packet, first, len);
    voice_encoder_destroy(e);
}

static void the_silence_packet_stays_silent_however_often_it_is_sent(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT_OF(rates_hz); r++) {
        static struct voice_silences silences;
        assert_true(voice_silences_make(&silences));
        const struct bytes_view packet =
            voice_silences_find(&silences, VOICE_CODEC_OPUS, rates_hz[r]);
        assert_int_equal(voice_packet_duration(VOICE_CODEC_OPUS, packet), 960);
        struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, rates_hz[r]);
        struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, 48000);
        int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
        size_t samples = 0;
        for (size_t n = 0; n < FRAMES; n++) {
            int16_t frame[960];
            uint8_t loud[VOICE_PACKET_BYTES_MAX];
            fill_frame(frame, rates_hz[r], n);
            const size_t len = n < 10 ? voice_encoder_encode(e, frame, loud) : 0;
            (void)voice_decoder_decode(d, n < 10 ? bytes_view_of(loud, len) : packet, pcm, &samples,
                                       n * 20 * US_PER_MS);
            assert_int_equal(samples, 960);
            assert_true(n != 5 || loudest(pcm, samples) > 3000);
            assert_true(n < 15 || loudest(pcm, samples) <= 2);
        }
        voice_encoder_destroy(e);
        voice_decoder_destroy(d);
    }
}

/* How many of FRAMES packets carry the frame before them. */
static size_t count_fec(struct voice_encoder *e)
{
    size_t count = 0;
    for (size_t n = 0; n < FRAMES; n++) {
        int16_t frame[960];
        uint8_t packet[VOICE_PACKET_BYTES_MAX];
        fill_frame(frame, 24000, n);
        const size_t len = voice_encoder_encode(e, frame, packet);
        count += voice_packet_has_fec(bytes_view_of(packet, len));
    }
    return count;
}

static void fec_is_there_when_loss_is_expected_and_it_is_not_forbidden(void **state)
{
    (void)state;
    struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, 24000);
    assert_int_equal(count_fec(e), 0);
    voice_encoder_set_loss(e, 10);
    assert_in_range(count_fec(e), FRAMES / 3, FRAMES); /* frames with a voice have it */
    voice_encoder_set_fec(e, false);
    assert_int_equal(count_fec(e), 0);
    voice_encoder_set_fec(e, true);
    assert_in_range(count_fec(e), FRAMES / 3, FRAMES); /* frames with a voice have it */
    voice_encoder_set_loss(e, 0);
    assert_int_equal(count_fec(e), 0);
    voice_encoder_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_becomes_one_packet_of_20_ms_at_32_kbits),
        cmocka_unit_test(a_reset_encoder_does_not_remember),
        cmocka_unit_test(fec_is_there_when_loss_is_expected_and_it_is_not_forbidden),
        cmocka_unit_test(the_silence_packet_stays_silent_however_often_it_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
