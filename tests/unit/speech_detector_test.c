/* speech_detector_test.c - a voice is told within 60 ms, and noise is not a voice */
#include "tests/testing.h"

#include "services/transceiver/core/media/speech_detector.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "tests/speech_like.h"

#include <math.h>
#include <stdlib.h>

#define RATE_HZ  16000
#define FRAME    (RATE_HZ / 50)
#define STEP     (RATE_HZ / 100)
#define FRAME_US (20 * US_PER_MS)

#define UNKNOWN VOICE_PACKET_VOICE_UNKNOWN
#define NONE    VOICE_PACKET_VOICE_NONE
#define HEARD   VOICE_PACKET_VOICE_HEARD

/* What one run told. */
struct told {
    size_t started;
    size_t stopped;
    uint64_t first_us;     /* the onset, as told */
    uint64_t first_at_us;  /* when it was told: the end of the piece */
    uint64_t last_stop_us; /* likewise of the last end */
    uint64_t last_stop_at_us;
};

static void drain(struct speech_detector *s, struct told *t, uint64_t at_us)
{
    struct speech_event event;
    while (speech_detector_poll(s, &event)) {
        /* In turn, and never of the time to come. */
        assert_int_equal(event.is_started, t->started == t->stopped);
        assert_true(event.time_us < at_us);
        assert_in_range(event.level_dbov - SPEECH_DETECTOR_LEVEL_MIN, 0, 127);
        if (event.is_started) {
            t->first_us = t->started == 0 ? event.time_us : t->first_us;
            t->first_at_us = t->started == 0 ? at_us : t->first_at_us;
            t->started++;
        } else {
            t->stopped++;
            t->last_stop_us = event.time_us;
            t->last_stop_at_us = at_us;
        }
    }
    assert_int_equal(speech_detector_is_speech(s), t->started > t->stopped);
}

/* All of it, in frames of 20 ms. */
static struct told hear_all(struct speech_detector *s, const int16_t *pcm, size_t samples,
                            enum voice_packet_voice voice)
{
    struct told t = {0};
    for (size_t at = 0; at + FRAME <= samples; at += FRAME) {
        const uint64_t time_us = at * US_PER_S / RATE_HZ;
        speech_detector_hear(s, pcm + at, FRAME, voice, time_us);
        drain(s, &t, time_us + FRAME_US);
    }
    return t;
}

static double step_dbov(const int16_t *pcm)
{
    double sum = 0;
    for (size_t i = 0; i < STEP; i++) {
        sum += (double)pcm[i] * pcm[i];
    }
    return 10 * log10(sum / STEP / 32768 / 32768 + 1e-13);
}

/* Goal L7: the onset is the first 10 ms louder than the room by 15 dB. */
static uint64_t onset_of(const int16_t *pcm, size_t from, double room_dbov)
{
    size_t at = from;
    while (step_dbov(pcm + at) <= room_dbov + 15) {
        at += STEP;
    }
    return at * US_PER_S / RATE_HZ;
}

static double uniform(struct random_generator *g, double low, double high)
{
    return low + (high - low) * (double)(random_generator_next(g) >> 11) / 9007199254740992.0;
}

#define ROUNDS 200
#define ROOM_S 2
#define TALK_S 2

/* Two seconds of a room, then a voice; at any phase of the frame. */
static size_t make_onset(struct random_generator *g, double room_dbov, double voice_dbov,
                         int16_t pcm[(ROOM_S + TALK_S) * RATE_HZ])
{
    static int16_t voice[TALK_S * RATE_HZ];
    const size_t first = ROOM_S * RATE_HZ - random_generator_next(g) % FRAME;
    speech_like_noise(g, room_dbov, pcm, (ROOM_S + TALK_S) * RATE_HZ);
    speech_like_voice(g, voice_dbov, RATE_HZ, 0, voice, COUNT_OF(voice));
    for (size_t i = first; i < (ROOM_S + TALK_S) * RATE_HZ; i++) {
        const int sum = pcm[i] + voice[(i - first) % COUNT_OF(voice)];
        pcm[i] = (int16_t)fmax(fmin(sum, INT16_MAX), INT16_MIN);
    }
    return first;
}

static void a_voice_is_told_within_60_ms_of_its_onset(void **state)
{
    (void)state;
    struct random_generator g;
    random_generator_init(&g, 10);
    for (size_t round = 0; round < ROUNDS; round++) {
        static int16_t pcm[(ROOM_S + TALK_S) * RATE_HZ];
        const double room_dbov = uniform(&g, -75, -45);
        const double voice_dbov = uniform(&g, fmax(room_dbov + 22, -40), -12);
        struct speech_detector s;
        speech_detector_init(&s, RATE_HZ);
        const size_t first = make_onset(&g, room_dbov, voice_dbov, pcm);
        const struct told t = hear_all(&s, pcm, COUNT_OF(pcm), UNKNOWN);
        const uint64_t onset_us = onset_of(pcm, first - first % STEP, fmax(room_dbov, -65));
        if (t.started == 0 || t.first_us + 20 * US_PER_MS < onset_us ||
            t.first_at_us > onset_us + 60 * US_PER_MS) {
            fail_msg("room %.0f, voice %.0f: %zu starts, onset %llu, told %llu at %llu", room_dbov,
                     voice_dbov, t.started, (unsigned long long)onset_us,
                     (unsigned long long)t.first_us, (unsigned long long)t.first_at_us);
        }
    }
}

/* The real way: Opus, its delay, and the voice bit of its encoder. */
static void a_voice_through_opus_is_told_within_60_ms_of_its_onset(void **state)
{
    (void)state;
    struct random_generator g;
    random_generator_init(&g, 11);
    for (size_t round = 0; round < 12; round++) {
        static int16_t pcm[(ROOM_S + TALK_S) * RATE_HZ];
        struct speech_detector s;
        struct told t = {0};
        struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, RATE_HZ);
        struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ);
        assert_true(e != NULL && d != NULL);
        voice_encoder_tune(e, 32000, 2);
        speech_detector_init(&s, RATE_HZ);
        const size_t first = make_onset(&g, uniform(&g, -65, -50), uniform(&g, -25, -15), pcm);
        for (size_t at = 0; at < COUNT_OF(pcm); at += FRAME) {
            const uint64_t time_us = at * US_PER_S / RATE_HZ;
            uint8_t data[VOICE_PACKET_BYTES_MAX];
            static int16_t heard[VOICE_DECODER_SAMPLES_MAX];
            size_t samples = 0;
            const struct bytes_view packet =
                bytes_view_of(data, voice_encoder_encode(e, pcm + at, data));
            (void)voice_decoder_decode(d, packet, heard, &samples, time_us);
            speech_detector_hear(&s, heard, samples, voice_packet_voice(packet), time_us);
            drain(&s, &t, time_us + FRAME_US);
        }
        const uint64_t onset_us = onset_of(pcm, first - first % STEP, -50);
        if (t.started == 0 || t.first_at_us < onset_us ||
            t.first_at_us > onset_us + 60 * US_PER_MS) {
            fail_msg("%zu starts, onset %llu, told at %llu", t.started,
                     (unsigned long long)onset_us, (unsigned long long)t.first_at_us);
        }
        voice_encoder_destroy(e);
        voice_decoder_destroy(d);
    }
}

static void a_voice_stops_300_ms_after_its_end_and_the_end_is_told(void **state)
{
    (void)state;
    enum { TALK = 2 * RATE_HZ, ALL = 4 * RATE_HZ };
    static int16_t pcm[ALL];
    struct random_generator g;
    struct speech_detector s;
    random_generator_init(&g, 12);
    speech_like_noise(&g, -60, pcm, ALL);
    speech_like_voice(&g, -20, RATE_HZ, 0, pcm + RATE_HZ, TALK);
    speech_detector_init(&s, RATE_HZ);
    const struct told t = hear_all(&s, pcm, ALL, UNKNOWN);
    assert_int_equal(t.started, 1); /* no pause between syllables ends it */
    assert_int_equal(t.stopped, 1);
    assert_in_range(t.last_stop_us, 3 * US_PER_S - 100 * US_PER_MS, 3 * US_PER_S);
    assert_in_range(t.last_stop_at_us, t.last_stop_us + 300 * US_PER_MS,
                    t.last_stop_us + 320 * US_PER_MS);
}

#define NOISE_S 60

typedef void noise_maker(struct random_generator *g, int16_t *pcm, size_t samples);

static void quiet_room(struct random_generator *g, int16_t *pcm, size_t samples)
{
    speech_like_noise(g, -70, pcm, samples);
}

static void loud_room(struct random_generator *g, int16_t *pcm, size_t samples)
{
    speech_like_noise(g, -40, pcm, samples);
}

/* Wind: 6 dB up and down every half second. */
static void wavering(struct random_generator *g, int16_t *pcm, size_t samples)
{
    speech_like_noise(g, -42, pcm, samples);
    for (size_t i = 0; i < samples; i++) {
        pcm[i] = (int16_t)(pcm[i] * pow(2, sin(2 * M_PI * 2 * (double)i / RATE_HZ)));
    }
}

/* A desk, a car: noise below 60 Hz, loud and full of gaps of 10 ms. */
static void rumble(struct random_generator *g, int16_t *pcm, size_t samples)
{
    speech_like_noise(g, -55, pcm, samples);
    double low = 0;
    double lower = 0;
    for (size_t i = 0; i < samples; i++) {
        low += 0.02 * (uniform(g, -30000, 30000) - low);
        lower += 0.02 * (low - lower);
        pcm[i] = (int16_t)(pcm[i] + lower);
    }
}

/* Keys and cups: 8 ms each, three a second. */
static void clicks(struct random_generator *g, int16_t *pcm, size_t samples)
{
    speech_like_noise(g, -60, pcm, samples);
    for (size_t at = RATE_HZ; at + RATE_HZ / 3 < samples; at += RATE_HZ / 3) {
        speech_like_noise(g, -15, pcm + at + random_generator_next(g) % 1000, RATE_HZ / 125);
    }
}

static void hum(struct random_generator *g, int16_t *pcm, size_t samples)
{
    speech_like_noise(g, -60, pcm, samples);
    for (size_t i = 0; i < samples; i++) {
        pcm[i] = (int16_t)(pcm[i] + 1500 * sin(2 * M_PI * 50 * (double)i / RATE_HZ));
    }
}

/* A fan that is switched on and off, 8 dB, every ten seconds. */
static void fan(struct random_generator *g, int16_t *pcm, size_t samples)
{
    for (size_t at = 0; at < samples; at += 10 * RATE_HZ) {
        speech_like_noise(g, at / (10 * RATE_HZ) % 2 == 0 ? -50 : -42, pcm + at, 10 * RATE_HZ);
    }
}

static void a_minute_of_noise_is_no_voice(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        noise_maker *make;
    } noise_case[] = {
        {"quiet room", quiet_room},
        {"loud room", loud_room},
        {"wavering", wavering},
        {"rumble", rumble},
        {"clicks", clicks},
        {"hum", hum},
        {"fan", fan},
    };
    for (size_t i = 0; i < COUNT_OF(noise_case); i++) {
        static int16_t pcm[NOISE_S * RATE_HZ];
        struct random_generator g;
        struct speech_detector s;
        random_generator_init(&g, 20 + i);
        noise_case[i].make(&g, pcm, COUNT_OF(pcm));
        speech_detector_init(&s, RATE_HZ);
        const struct told t = hear_all(&s, pcm, COUNT_OF(pcm), UNKNOWN);
        if (t.started > 0) {
            fail_msg("%s: %zu starts, the first at %llu us", noise_case[i].what, t.started,
                     (unsigned long long)t.first_us);
        }
    }
}

static void
a_room_that_becomes_loud_is_one_false_start_at_most_and_none_by_the_encoders_word(void **state)
{
    (void)state;
    static int16_t pcm[NOISE_S * RATE_HZ];
    struct random_generator g;
    struct speech_detector s;
    random_generator_init(&g, 30);
    speech_like_noise(&g, -60, pcm, COUNT_OF(pcm) / 2);
    speech_like_noise(&g, -35, pcm + COUNT_OF(pcm) / 2, COUNT_OF(pcm) / 2);
    speech_detector_init(&s, RATE_HZ);
    struct told t = hear_all(&s, pcm, COUNT_OF(pcm), UNKNOWN);
    assert_int_equal(t.started, 1);
    assert_int_equal(t.stopped, 1);
    speech_detector_init(&s, RATE_HZ);
    t = hear_all(&s, pcm, COUNT_OF(pcm), NONE);
    assert_int_equal(t.started, 0);
}

static void who_speaks_from_the_first_packet_on_is_heard_after_100_ms(void **state)
{
    (void)state;
    static int16_t pcm[2 * RATE_HZ];
    struct random_generator g;
    struct speech_detector s;
    random_generator_init(&g, 31);
    speech_like_voice(&g, -18, RATE_HZ, 0, pcm, COUNT_OF(pcm));
    speech_detector_init(&s, RATE_HZ);
    const struct told t = hear_all(&s, pcm, COUNT_OF(pcm), HEARD);
    assert_int_equal(t.started, 1);
    assert_in_range(t.first_at_us, 100 * US_PER_MS, 180 * US_PER_MS);
}

/* Zeros of a muted microphone, and DTX: neither makes the room a voice when it is back. */
static void a_muted_microphone_teaches_nothing(void **state)
{
    (void)state;
    static const int16_t zeros[FRAME];
    static int16_t room[10 * RATE_HZ];
    struct random_generator g;
    struct speech_detector s;
    struct told t = {0};
    random_generator_init(&g, 32);
    speech_like_noise(&g, -45, room, COUNT_OF(room));
    speech_detector_init(&s, RATE_HZ);
    (void)hear_all(&s, room, COUNT_OF(room), UNKNOWN);
    for (uint64_t time_us = 0; time_us < 60 * US_PER_S; time_us += FRAME_US) {
        if (time_us < 30 * US_PER_S) {
            speech_detector_hear(&s, zeros, FRAME, UNKNOWN, time_us);
        } else {
            speech_detector_hear_nothing(&s, FRAME_US, time_us);
        }
        drain(&s, &t, time_us + FRAME_US);
    }
    t = hear_all(&s, room, COUNT_OF(room), UNKNOWN);
    assert_int_equal(t.started, 0);
}

/* Else a muted call costs many times a loud one. */
static void digital_silence_is_calculated_with_zeros(void **state)
{
    (void)state;
    static const int16_t zeros[FRAME];
    static int16_t pcm[RATE_HZ];
    struct random_generator g;
    struct speech_detector s;
    random_generator_init(&g, 35);
    speech_like_noise(&g, -20, pcm, COUNT_OF(pcm));
    speech_detector_init(&s, RATE_HZ);
    (void)hear_all(&s, pcm, COUNT_OF(pcm), UNKNOWN);
    assert_true(s.passed != 0);
    for (uint64_t time_us = 0; time_us < US_PER_S; time_us += FRAME_US) {
        speech_detector_hear(&s, zeros, FRAME, UNKNOWN, US_PER_S + time_us);
    }
    assert_true(s.passed == 0);
}

static void silence_ends_a_voice_as_quiet_does(void **state)
{
    (void)state;
    static int16_t pcm[3 * RATE_HZ];
    struct random_generator g;
    struct speech_detector s;
    random_generator_init(&g, 33);
    speech_like_noise(&g, -60, pcm, COUNT_OF(pcm));
    speech_like_voice(&g, -20, RATE_HZ, 0, pcm + RATE_HZ, 2 * RATE_HZ);
    speech_detector_init(&s, RATE_HZ);
    struct told t = hear_all(&s, pcm, COUNT_OF(pcm), UNKNOWN);
    assert_true(speech_detector_is_speech(&s));
    for (uint64_t time_us = 3 * US_PER_S; time_us < 4 * US_PER_S; time_us += 100 * US_PER_MS) {
        speech_detector_hear_nothing(&s, 100 * US_PER_MS, time_us);
        drain(&s, &t, time_us + 100 * US_PER_MS);
    }
    assert_int_equal(t.stopped, 1);
}

/* Pass-through: the encoder's word alone. */
static void without_samples_the_encoders_word_counts(void **state)
{
    (void)state;
    struct speech_detector s;
    struct told t = {0};
    uint64_t time_us = 0;
    speech_detector_init(&s, RATE_HZ);
    static const struct {
        enum voice_packet_voice voice;
        size_t frames;
        size_t started;
        size_t stopped;
    } part[] = {{NONE, 50, 0, 0}, {HEARD, 1, 0, 0},  {NONE, 5, 0, 0},  {HEARD, 2, 1, 0},
                {NONE, 14, 1, 0}, {HEARD, 10, 1, 0}, {NONE, 15, 1, 1}, {UNKNOWN, 50, 1, 1}};
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        for (size_t n = 0; n < part[i].frames; n++, time_us += FRAME_US) {
            speech_detector_hear_coded(&s, part[i].voice, FRAME_US, time_us);
            drain(&s, &t, time_us + FRAME_US);
        }
        assert_int_equal(t.started, part[i].started);
        assert_int_equal(t.stopped, part[i].stopped);
    }
}

/* The same sound in pieces of 2.5 to 120 ms, and at every rate. */
static void the_length_of_pieces_changes_nothing(void **state)
{
    (void)state;
    static int16_t pcm[3 * RATE_HZ];
    struct random_generator g;
    random_generator_init(&g, 34);
    speech_like_noise(&g, -60, pcm, COUNT_OF(pcm));
    speech_like_voice(&g, -20, RATE_HZ, 0, pcm + RATE_HZ, RATE_HZ);
    struct speech_event expected[2] = {0};
    for (size_t units = 1; units <= 48; units++) {
        const size_t piece = units * (RATE_HZ / 400);
        struct speech_detector s;
        struct speech_event event;
        size_t count = 0;
        speech_detector_init(&s, RATE_HZ);
        for (size_t at = 0; at + piece <= COUNT_OF(pcm); at += piece) {
            speech_detector_hear(&s, pcm + at, piece, UNKNOWN, at * US_PER_S / RATE_HZ);
            while (speech_detector_poll(&s, &event)) {
                assert_in_range(count, 0, 1);
                expected[count] = units == 1 ? event : expected[count];
                assert_true(event.is_started == expected[count].is_started);
                assert_true(event.time_us == expected[count].time_us);
                count++;
            }
        }
        assert_int_equal(count, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_voice_is_told_within_60_ms_of_its_onset),
        cmocka_unit_test(a_voice_through_opus_is_told_within_60_ms_of_its_onset),
        cmocka_unit_test(a_voice_stops_300_ms_after_its_end_and_the_end_is_told),
        cmocka_unit_test(a_minute_of_noise_is_no_voice),
        cmocka_unit_test(
            a_room_that_becomes_loud_is_one_false_start_at_most_and_none_by_the_encoders_word),
        cmocka_unit_test(who_speaks_from_the_first_packet_on_is_heard_after_100_ms),
        cmocka_unit_test(a_muted_microphone_teaches_nothing),
        cmocka_unit_test(digital_silence_is_calculated_with_zeros),
        cmocka_unit_test(silence_ends_a_voice_as_quiet_does),
        cmocka_unit_test(without_samples_the_encoders_word_counts),
        cmocka_unit_test(the_length_of_pieces_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
