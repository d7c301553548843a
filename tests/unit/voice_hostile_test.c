/* voice_hostile_test.c - after what is no voice, the voice is decoded as it should be */
#include "tests/testing.h"

#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "tests/speech_like.h"

#include <stdlib.h>

#define RATE_HZ  24000
#define SAMPLES  (RATE_HZ / 50)
#define FRAMES   100
#define FRAME_US (20 * US_PER_MS)

/* Two decoders of one voice: the second gets something else in between. */
struct pair {
    struct voice_encoder *encoder;
    struct voice_decoder *plain;
    struct voice_decoder *disturbed;
    struct random_generator random;
    size_t frame;
    int16_t expected[VOICE_DECODER_SAMPLES_MAX];
    int16_t heard[VOICE_DECODER_SAMPLES_MAX];
};

static void open_pair(struct pair *p)
{
    *p = (struct pair){.encoder = voice_encoder_create(VOICE_CODEC_OPUS, RATE_HZ),
                       .plain = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ),
                       .disturbed = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ)};
    assert_true(p->encoder != NULL && p->plain != NULL && p->disturbed != NULL);
    random_generator_init(&p->random, 3);
}

static void close_pair(struct pair *p)
{
    voice_encoder_destroy(p->encoder);
    voice_decoder_destroy(p->plain);
    voice_decoder_destroy(p->disturbed);
}

static uint64_t now_of(const struct pair *p)
{
    return p->frame * FRAME_US;
}

/* The next frame of the voice, to both. */
static void speak(struct pair *p)
{
    int16_t frame[SAMPLES];
    uint8_t data[VOICE_PACKET_BYTES_MAX];
    size_t samples = 0;
    speech_like_voice(&p->random, -20, RATE_HZ, p->frame * SAMPLES, frame, SAMPLES);
    p->frame++;
    const struct bytes_view packet =
        bytes_view_of(data, voice_encoder_encode(p->encoder, frame, data));
    assert_int_equal(voice_decoder_decode(p->plain, packet, p->expected, &samples, now_of(p)),
                     VOICE_DECODER_OK);
    assert_int_equal(voice_decoder_decode(p->disturbed, packet, p->heard, &samples, now_of(p)),
                     VOICE_DECODER_OK);
    assert_int_equal(samples, SAMPLES);
}

static void what_is_malformed_leaves_no_trace(void **state)
{
    (void)state;
    static const uint8_t large[VOICE_PACKET_BYTES_MAX + 1] = {0x78};
    static const uint8_t code_3_alone[] = {0x7b};
    static const uint8_t of_180_ms[] = {0x1b, 0x03, 1, 2, 3};
    static const uint8_t of_no_frames[] = {0x0b, 0x00, 1, 2};
    static const uint8_t odd_half[] = {0x79, 1, 2, 3};
    static const uint8_t beyond_its_end[] = {0x7a, 200, 1, 2};
    const struct bytes_view malformed[] = {
        {NULL, 0},
        bytes_view_of(large, 0),
        bytes_view_of(large, sizeof(large)),
        bytes_view_of(code_3_alone, sizeof(code_3_alone)),
        bytes_view_of(of_180_ms, sizeof(of_180_ms)),
        bytes_view_of(of_no_frames, sizeof(of_no_frames)),
        bytes_view_of(odd_half, sizeof(odd_half)),
        bytes_view_of(beyond_its_end, sizeof(beyond_its_end)),
    };
    struct pair p;
    open_pair(&p);
    for (size_t i = 0; i < FRAMES; i++) {
        static int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
        const struct bytes_view payload = malformed[i % COUNT_OF(malformed)];
        size_t samples = 7;
        assert_int_equal(voice_decoder_decode(p.disturbed, payload, pcm, &samples, now_of(&p)),
                         VOICE_DECODER_MALFORMED);
        assert_int_equal(samples, 0);
        assert_int_equal(
            voice_decoder_decode_fec(p.disturbed, payload, 960, pcm, &samples, now_of(&p)),
            VOICE_DECODER_MALFORMED);
        assert_int_equal(samples, 0);
        speak(&p);
        assert_memory_equal(p.heard, p.expected, SAMPLES * sizeof(*p.heard));
    }
    close_pair(&p);
}

/* Signal to error from 300 ms to 500 ms from now, dB. */
static double fidelity_db(struct pair *p)
{
    double signal = 1;
    double error = 1;
    for (size_t n = 0; n < 25; n++) {
        speak(p);
        for (size_t i = 0; n >= 15 && i < SAMPLES; i++) {
            const double difference = p->heard[i] - p->expected[i];
            signal += (double)p->expected[i] * p->expected[i];
            error += difference * difference;
        }
    }
    return 10 * log10(signal / error);
}

/* Random bytes behind every TOC: much of it is Opus to the decoder, of 2.5 to 120 ms. */
static void after_garbage_the_voice_is_back_within_300_ms(void **state)
{
    (void)state;
    struct pair p;
    size_t decoded = 0;
    open_pair(&p);
    for (size_t n = 0; n < 25; n++) {
        speak(&p);
    }
    for (unsigned toc = 0; toc < 256; toc++) {
        uint8_t garbage[301]; /* the halves of code 1 are equal */
        static int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
        size_t samples = 0;
        for (size_t i = 0; i < sizeof(garbage); i++) {
            garbage[i] = (uint8_t)random_generator_next(&p.random);
        }
        garbage[0] = (uint8_t)toc;
        decoded += voice_decoder_decode(p.disturbed, bytes_view_of(garbage, sizeof(garbage)), pcm,
                                        &samples, now_of(&p)) == VOICE_DECODER_OK;
        const double back_db = fidelity_db(&p);
        if (back_db < 20) {
            fail_msg("after a TOC of %02x: %g dB", toc, back_db);
        }
    }
    assert_true(decoded > 128);
    close_pair(&p);
}

static void packets_of_120_ms_are_decoded_at_every_rate_and_within_the_budget(void **state)
{
    (void)state;
    static const uint32_t rates_hz[] = {8000, 16000, 24000, 48000};
    /* code 3, CBR: two of 60 ms, six of 20 ms, 48 of 2.5 ms */
    static const struct {
        uint8_t toc;
        uint8_t count;
    } form[] = {{0x1b, 2}, {0x0b, 6}, {0x7b, 6}, {0xe3, 48}, {0xfb, 6}};
    static int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    for (size_t i = 0; i < COUNT_OF(rates_hz) * COUNT_OF(form); i++) {
        const uint32_t rate_hz = rates_hz[i / COUNT_OF(form)];
        uint8_t packet[2 + 48 * 20] = {form[i % COUNT_OF(form)].toc,
                                       form[i % COUNT_OF(form)].count};
        const size_t len = 2 + packet[1] * (size_t)20;
        memset(packet + 2, 0x5a, len - 2);
        struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, rate_hz);
        size_t count = 0;
        size_t samples = 0;
        while (voice_decoder_decode(d, bytes_view_of(packet, len), pcm, &samples, 0) ==
               VOICE_DECODER_OK) {
            assert_int_equal(samples, rate_hz * 120 / 1000);
            count++;
        }
        assert_int_equal(count, 83); /* 10 s */
        voice_decoder_destroy(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_malformed_leaves_no_trace),
        cmocka_unit_test(after_garbage_the_voice_is_back_within_300_ms),
        cmocka_unit_test(packets_of_120_ms_are_decoded_at_every_rate_and_within_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
