/* voice_g711_test.c - a G.711 client heard and spoken to at every rate of a backend */
#include "tests/testing.h"

#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/media/voice_silence.h"

#include <math.h>
#include <stdlib.h>

#define FRAMES      50
#define RATE_MAX    48000
#define G711_UNITS  160
#define AMPLITUDE   8000.0
#define FRAME_US    (20 * US_PER_MS)
#define SAMPLES_MAX VOICE_DECODER_SAMPLES_MAX

static const uint32_t rates_hz[] = {8000, 16000, 24000, 48000};
static const enum voice_codec codecs[] = {VOICE_CODEC_PCMU, VOICE_CODEC_PCMA};

/* Each codec at each rate. */
struct pair {
    enum voice_codec codec;
    uint32_t rate_hz;
};

#define PAIRS (COUNT_OF(codecs) * COUNT_OF(rates_hz))

static struct pair pair_of(size_t i)
{
    return (struct pair){codecs[i / COUNT_OF(rates_hz)], rates_hz[i % COUNT_OF(rates_hz)]};
}

/* A second of a tone, encoded and decoded at the rate. */
static void pass_tone(struct pair p, double hz, int16_t out[RATE_MAX])
{
    struct voice_encoder *e = voice_encoder_create(p.codec, p.rate_hz);
    struct voice_decoder *d = voice_decoder_create(p.codec, p.rate_hz);
    assert_true(e != NULL && d != NULL);
    const size_t frame_samples = p.rate_hz / 50;
    for (size_t n = 0; n < FRAMES; n++) {
        int16_t frame[RATE_MAX / 50];
        uint8_t packet[VOICE_PACKET_BYTES_MAX];
        static int16_t pcm[SAMPLES_MAX];
        size_t samples = 0;
        for (size_t i = 0; i < frame_samples; i++) {
            const double t = (double)(n * frame_samples + i) / p.rate_hz;
            frame[i] = (int16_t)lround(AMPLITUDE * sin(2 * M_PI * hz * t));
        }
        assert_int_equal(voice_encoder_encode(e, frame, packet), G711_UNITS);
        assert_int_equal(
            voice_decoder_decode(d, bytes_view_of(packet, G711_UNITS), pcm, &samples, n * FRAME_US),
            VOICE_DECODER_OK);
        assert_int_equal(samples, frame_samples);
        memcpy(out + n * frame_samples, pcm, samples * sizeof(*pcm));
    }
    voice_encoder_destroy(e);
    voice_decoder_destroy(d);
}

/* In the second half second: the amplitude of one frequency, and the power of all. */
static void analyse(const int16_t *pcm, uint32_t rate_hz, double hz, double *amplitude,
                    double *power)
{
    double in_phase = 0;
    double quadrature = 0;
    *power = 0;
    for (size_t i = rate_hz / 2; i < rate_hz; i++) {
        const double angle = 2 * M_PI * hz * (double)i / rate_hz;
        in_phase += pcm[i] * cos(angle) / (rate_hz / 2);
        quadrature += pcm[i] * sin(angle) / (rate_hz / 2);
        *power += (double)pcm[i] * pcm[i] / (rate_hz / 2);
    }
    *amplitude = 2 * sqrt(in_phase * in_phase + quadrature * quadrature);
}

static void a_tone_keeps_frequency_and_level_with_30_db_of_noise_below(void **state)
{
    (void)state;
    for (size_t i = 0; i < PAIRS; i++) {
        static int16_t out[RATE_MAX];
        double amplitude = 0;
        double power = 0;
        pass_tone(pair_of(i), 440, out);
        analyse(out, pair_of(i).rate_hz, 440, &amplitude, &power);
        const double level_db = 20 * log10(amplitude / AMPLITUDE);
        const double tone_power = amplitude * amplitude / 2;
        const double noise_db = 10 * log10(tone_power / (power - tone_power));
        if (fabs(level_db) > 0.3 || noise_db < 30) {
            fail_msg("codec %d at %u Hz: level %g dB, signal to noise %g dB", pair_of(i).codec,
                     pair_of(i).rate_hz, level_db, noise_db);
        }
    }
}

static void a_packet_and_a_gap_of_any_length_give_their_own_length(void **state)
{
    (void)state;
    static const uint8_t payload[960];
    static int16_t pcm[SAMPLES_MAX];
    for (size_t i = 0; i < PAIRS; i++) {
        const struct pair p = pair_of(i);
        struct voice_decoder *d = voice_decoder_create(p.codec, p.rate_hz);
        for (uint32_t units = 20; units <= 960; units += 20) {
            const uint64_t now_us = units * US_PER_S;
            const size_t expected = units * (p.rate_hz / 8000);
            size_t samples = 0;
            assert_int_equal(
                voice_decoder_decode(d, bytes_view_of(payload, units), pcm, &samples, now_us),
                VOICE_DECODER_OK);
            assert_int_equal(samples, expected);
            assert_int_equal(voice_decoder_conceal(d, units, pcm, &samples, now_us),
                             VOICE_DECODER_OK);
            assert_int_equal(samples, expected);
            assert_int_equal(voice_decoder_decode_fec(d, bytes_view_of(payload, 160), units, pcm,
                                                      &samples, now_us),
                             VOICE_DECODER_OK);
            assert_int_equal(samples, expected);
        }
        voice_decoder_destroy(d);
    }
}

static void a_payload_of_another_length_gives_no_samples(void **state)
{
    (void)state;
    static const uint8_t payload[1280];
    static const size_t lens[] = {0, 1, 19, 21, 159, 161, 961, 980, 1275, 1280};
    static int16_t pcm[SAMPLES_MAX];
    struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_PCMU, 24000);
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        size_t samples = 9;
        assert_int_equal(voice_decoder_decode(d, bytes_view_of(payload, lens[i]), pcm, &samples, 0),
                         VOICE_DECODER_MALFORMED);
        assert_int_equal(samples, 0);
        samples = 9;
        assert_int_equal(
            voice_decoder_decode_fec(d, bytes_view_of(payload, lens[i]), 160, pcm, &samples, 0),
            VOICE_DECODER_MALFORMED);
        assert_int_equal(samples, 0);
    }
    voice_decoder_destroy(d);
}

static void the_budget_holds_for_g711_too(void **state)
{
    (void)state;
    static const uint8_t payload[960];
    static int16_t pcm[SAMPLES_MAX];
    struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_PCMA, 8000);
    size_t samples = 0;
    size_t packets = 0;
    while (voice_decoder_decode(d, bytes_view_of(payload, 960), pcm, &samples, 0) ==
           VOICE_DECODER_OK) {
        packets++;
    }
    assert_int_equal(packets, 83); /* of 120 ms: 10 s */
    assert_int_equal(samples, 0);
    voice_decoder_destroy(d);
}

/* A loud second, then the state is dropped: what follows is as at the beginning. */
static void a_reset_forgets_the_voice_before(void **state)
{
    (void)state;
    static int16_t pcm[SAMPLES_MAX];
    for (size_t i = 0; i < PAIRS; i++) {
        const struct pair p = pair_of(i);
        struct voice_decoder *d = voice_decoder_create(p.codec, p.rate_hz);
        uint8_t loud[G711_UNITS];
        size_t samples = 0;
        for (size_t n = 0; n < sizeof(loud); n++) {
            loud[n] = n % 40 < 20 ? 0x00 : 0x80;
        }
        for (size_t n = 0; n < 5; n++) {
            (void)voice_decoder_decode(d, bytes_view_of(loud, sizeof(loud)), pcm, &samples, 0);
        }
        voice_decoder_reset(d);
        (void)voice_decoder_conceal(d, 160, pcm, &samples, 0);
        for (size_t n = 0; n < samples; n++) {
            assert_int_equal(pcm[n], 0);
        }
        voice_decoder_destroy(d);
    }
}

static void silence_is_coded_zeros(void **state)
{
    (void)state;
    static struct voice_silences silences;
    assert_true(voice_silences_make(&silences));
    for (size_t i = 0; i < PAIRS; i++) {
        const struct bytes_view packet =
            voice_silences_find(&silences, pair_of(i).codec, pair_of(i).rate_hz);
        assert_int_equal(packet.len, G711_UNITS);
        for (size_t n = 0; n < packet.len; n++) {
            assert_int_equal(packet.data[n], pair_of(i).codec == VOICE_CODEC_PCMU ? 0xff : 0xd5);
        }
    }
}

static void what_is_tuned_for_opus_changes_no_byte_of_g711(void **state)
{
    (void)state;
    struct voice_encoder *plain = voice_encoder_create(VOICE_CODEC_PCMU, 16000);
    struct voice_encoder *tuned = voice_encoder_create(VOICE_CODEC_PCMU, 16000);
    voice_encoder_tune(tuned, 6000, 0);
    voice_encoder_set_loss(tuned, 20);
    voice_encoder_set_fec(tuned, false);
    int16_t frame[320];
    uint8_t packet[2][VOICE_PACKET_BYTES_MAX];
    for (size_t n = 0; n < 3; n++) {
        for (size_t i = 0; i < COUNT_OF(frame); i++) {
            frame[i] = (int16_t)(i * 977);
        }
        voice_encoder_reset(plain);
        voice_encoder_reset(tuned);
        (void)voice_encoder_encode(plain, frame, packet[0]);
        (void)voice_encoder_encode(tuned, frame, packet[1]);
        assert_memory_equal(packet[0], packet[1], G711_UNITS);
    }
    voice_encoder_destroy(plain);
    voice_encoder_destroy(tuned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tone_keeps_frequency_and_level_with_30_db_of_noise_below),
        cmocka_unit_test(a_packet_and_a_gap_of_any_length_give_their_own_length),
        cmocka_unit_test(a_payload_of_another_length_gives_no_samples),
        cmocka_unit_test(the_budget_holds_for_g711_too),
        cmocka_unit_test(a_reset_forgets_the_voice_before),
        cmocka_unit_test(silence_is_coded_zeros),
        cmocka_unit_test(what_is_tuned_for_opus_changes_no_byte_of_g711),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
