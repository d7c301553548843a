/* voice_quality_test.c - what repair is worth to an ear: the real reorder buffer and decoder
 *
 * A synthetic voice, coded as a browser does and told of the loss; packets are lost by a seed; what
 * is heard is judged against the loss-free decode of the same packets (ESTOI, tests/support). A
 * single seed moves the score of bursts by 0.02: means are taken over many.
 */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/inference-stub/pcm_resample.h"
#include "services/inference-stub/speech.h"
#include "services/transceiver/core/media/reorder_buffer.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "tests/support/estoi.h"

#include <stdlib.h>

#define SEEDS         6
#define FRAME_UNITS   960 /* 20 ms at 48 kHz: a sample in, and a unit of the timestamp */
#define FRAME_SAMPLES 320 /* at 16 kHz */
#define FRAMES_MAX    2000
#define SAMPLES_MAX   ((size_t)FRAMES_MAX * FRAME_SAMPLES)
#define BASE          1000 /* number and, in frames, timestamp of the first packet */
#define START_US      (100 * US_PER_S)
#define SLOT_US       (20 * US_PER_MS)

/* Sanitizers cost too much for all of the 40 s: a piece then, and the bars a little lower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SENTENCES   3
#define BURST_SEEDS 6
#define BURST_BAR   .94
#else
#define SENTENCES   7
#define BURST_SEEDS 24
#define BURST_BAR   .955
#endif

static const char *const sentence[] = {
    "One three five nine. Seven two four zero eight. Please book a table for six people on Friday.",
    "The quick brown fox jumps over the lazy dog, and then it sleeps in the warm afternoon sun.",
    "I would like to change my flight to London, because the meeting was moved to the next week.",
    "Could you tell me again which number I have to call, and whether they are open on Sundays?",
    "She sells sea shells by the sea shore, five, four, three, two, one, zero, nine, eight, seven.",
    "It was the best of times, it was the worst of times, and nobody knew what would come of it.",
    "Thank you very much for your help. The parcel should be here by Thursday, shouldn't it?",
};

struct packet {
    uint8_t data[VOICE_PACKET_BYTES_MAX];
    size_t len;
    bool has_fec;
};

struct recording {
    size_t frames;
    struct packet packet[FRAMES_MAX];
};

static int16_t speech[(size_t)FRAMES_MAX * FRAME_UNITS];
static size_t speech_frames;
static struct recording told_10; /* the encoder was told of 10 % of loss */
static struct recording told_20;

/* --- what is sent ----------------------------------------------------------------------------- */

static size_t say(const char *text, int16_t *out, size_t room)
{
    struct pcm_view at_16k;
    struct pcm_view at_24k;
    struct pcm_view at_48k;
    struct fault fault;
    assert_true(speech_synthesize(text, &at_16k, &at_24k, &fault));
    assert_true(pcm_resample(at_16k, 16000, 48000, &at_48k));
    const size_t count = at_48k.count < room ? at_48k.count : room;
    memcpy(out, at_48k.samples, count * sizeof(*out));
    speech_free(&at_16k);
    speech_free(&at_24k);
    speech_free(&at_48k);
    return count;
}

/* As Chromium does: 48 kHz, 20 ms, 32 kb/s, complexity 9, FEC for the loss it was told of. */
static void record(struct recording *r, unsigned loss_percent)
{
    struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, 48000);
    assert_non_null(e);
    voice_encoder_tune(e, 32000, 9);
    voice_encoder_set_loss(e, loss_percent);
    r->frames = speech_frames;
    for (size_t n = 0; n < r->frames; n++) {
        struct packet *p = &r->packet[n];
        p->len = voice_encoder_encode(e, speech + n * FRAME_UNITS, p->data);
        p->has_fec = voice_packet_has_fec(bytes_view_of(p->data, p->len));
    }
    voice_encoder_destroy(e);
}

static int record_speech(void **state)
{
    (void)state;
    size_t samples = 0;
    for (size_t i = 0; i < SENTENCES; i++) {
        samples += say(sentence[i], speech + samples, COUNT_OF(speech) - samples);
    }
    speech_frames = samples / FRAME_UNITS;
    record(&told_10, 10);
    record(&told_20, 20);
    return 0;
}

/* --- what is heard ---------------------------------------------------------------------------- */

enum scheme { SCHEME_FEC, SCHEME_RED, SCHEME_RED_AND_FEC };

static struct reorder_packet numbered(const struct recording *r, size_t n, enum scheme scheme)
{
    return (struct reorder_packet){
        .sequence = BASE + n,
        .timestamp = (BASE + n) * FRAME_UNITS,
        .duration = FRAME_UNITS,
        .has_fec = scheme != SCHEME_RED && r->packet[n].has_fec,
        .payload = bytes_view_of(r->packet[n].data, r->packet[n].len),
    };
}

/* The slot's samples go where its timestamp says: what is shifted scores low. */
static void hear(struct voice_decoder *d, const struct reorder_slot *slot, int16_t *heard,
                 uint64_t now_us)
{
    int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    size_t samples = 0;
    enum voice_decoder_result result = VOICE_DECODER_OK;
    if (slot->kind == REORDER_SLOT_CONCEAL) {
        result = voice_decoder_conceal(d, slot->duration, pcm, &samples, now_us);
    } else if (slot->kind == REORDER_SLOT_FEC) {
        result = voice_decoder_decode_fec(d, slot->payload, slot->duration, pcm, &samples, now_us);
    } else if (slot->kind != REORDER_SLOT_SILENCE) {
        result = voice_decoder_decode(d, slot->payload, pcm, &samples, now_us);
    }
    assert_int_equal(result, VOICE_DECODER_OK);
    const size_t at = (size_t)(slot->timestamp - (uint64_t)BASE * FRAME_UNITS) / 3;
    assert_int_equal(samples, slot->duration / 3);
    assert_true(at + samples <= SAMPLES_MAX);
    memcpy(heard + at, pcm, samples * sizeof(*pcm));
}

static void listen(const struct recording *r, const bool *is_lost, enum scheme scheme,
                   int16_t *heard)
{
    struct reorder_buffer *b = reorder_buffer_create();
    struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, ESTOI_RATE_HZ);
    assert_true(b != NULL && d != NULL);
    memset(heard, 0, SAMPLES_MAX * sizeof(*heard));
    for (size_t n = 0; n < r->frames; n++) {
        const uint64_t now_us = START_US + n * SLOT_US;
        struct reorder_slot slot;
        if (is_lost[n]) {
            continue;
        }
        const struct reorder_packet p = numbered(r, n, scheme);
        assert_int_equal(reorder_buffer_insert(b, &p, now_us), REORDER_STORED);
        if (scheme != SCHEME_FEC && n > 0) {
            const struct reorder_packet copy = numbered(r, n - 1, scheme);
            (void)reorder_buffer_insert_copy(b, &copy, now_us);
        }
        while (reorder_buffer_poll(b, &slot, now_us)) {
            hear(d, &slot, heard, now_us);
        }
    }
    reorder_buffer_destroy(b);
    voice_decoder_destroy(d);
}

/* --- what is lost ----------------------------------------------------------------------------- */

static bool happens(struct random_generator *g, double probability)
{
    return (double)(random_generator_next(g) >> 11) < probability * (double)(UINT64_C(1) << 53);
}

/* burst 1: at random. Else Gilbert: bursts of that mean length. The first packet comes. */
static size_t draw(double share, double burst, struct random_generator *g, size_t frames,
                   bool *is_lost)
{
    bool is_bad = false;
    size_t lost = 0;
    for (size_t n = 0; n < frames; n++) {
        if (burst <= 1) {
            is_bad = happens(g, share);
        } else {
            is_bad = is_bad ? !happens(g, 1 / burst) : happens(g, share / ((1 - share) * burst));
        }
        is_lost[n] = is_bad && n > 0;
        lost += is_lost[n];
    }
    return lost;
}

/* Bursts are few in half a minute: a pattern counts when it loses its share to a twentieth. */
static void lose(double share, double burst, struct random_generator *g, size_t frames,
                 bool *is_lost)
{
    const double wanted = share * (double)frames;
    double lost = 0;
    while (lost < .95 * wanted || lost > 1.05 * wanted) {
        lost = (double)draw(share, burst, g, frames, is_lost);
    }
}

struct condition {
    const char *name;
    const struct recording *recording;
    double share;
    double burst;
    enum scheme scheme;
    uint64_t seeds;
};

static double mean_estoi(const struct condition *c)
{
    static int16_t heard[SAMPLES_MAX];
    static bool is_lost[FRAMES_MAX];
    const size_t samples = c->recording->frames * FRAME_SAMPLES;
    memset(is_lost, 0, sizeof(is_lost));
    listen(c->recording, is_lost, SCHEME_FEC, heard);
    struct estoi *e = estoi_create(heard, samples);
    assert_non_null(e);
    struct random_generator random;
    double sum = 0;
    for (uint64_t seed = 1; seed <= c->seeds; seed++) {
        random_generator_init(&random, seed);
        lose(c->share, c->burst, &random, c->recording->frames, is_lost);
        listen(c->recording, is_lost, c->scheme, heard);
        sum += estoi_score(e, heard) / (double)c->seeds;
    }
    estoi_destroy(e);
    print_message("%s: ESTOI %.4f, mean of %d seeds, %.0f s each\n", c->name, sum, (int)c->seeds,
                  (double)c->recording->frames / 50);
    return sum;
}

static void fec_keeps_speech_intelligible(void **state)
{
    (void)state;
    const struct condition r10 = {"FEC r10", &told_10, .1, 1, SCHEME_FEC, SEEDS};
    const struct condition r20 = {"FEC r20", &told_20, .2, 1, SCHEME_FEC, SEEDS};
    assert_true(mean_estoi(&r10) >= .97);
    assert_true(mean_estoi(&r20) >= .93);
}

static void red_with_the_fec_in_it_does_better(void **state)
{
    (void)state;
    const struct condition r10 = {"RED+FEC r10", &told_10, .1, 1, SCHEME_RED_AND_FEC, SEEDS};
    const struct condition r20 = {"RED+FEC r20", &told_20, .2, 1, SCHEME_RED_AND_FEC, SEEDS};
    assert_true(mean_estoi(&r10) >= .99);
    assert_true(mean_estoi(&r20) >= .98);
}

/* Plain RED would pass a lower bar: what FEC inside the copies adds is the claim. */
static void in_bursts_the_fec_in_the_copies_is_worth_its_lines(void **state)
{
    (void)state;
    const struct condition both = {"RED+FEC b10", &told_10, .1, 3, SCHEME_RED_AND_FEC, BURST_SEEDS};
    const struct condition plain = {"RED b10", &told_10, .1, 3, SCHEME_RED, BURST_SEEDS};
    const double with_fec = mean_estoi(&both);
    assert_true(with_fec >= BURST_BAR);
    assert_true(with_fec >= mean_estoi(&plain) + .01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fec_keeps_speech_intelligible),
        cmocka_unit_test(red_with_the_fec_in_it_does_better),
        cmocka_unit_test(in_bursts_the_fec_in_the_copies_is_worth_its_lines),
    };
    return cmocka_run_group_tests(tests, record_speech, NULL);
}
