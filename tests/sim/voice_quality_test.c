/* voice_quality_test.c - what repair is worth to an ear: the real reorder buffer and decoder
 *
 * A synthetic voice, coded as a browser does and told of the loss; packets are lost by a seed; what
 * is heard is judged against the loss-free decode of the same packets (ESTOI, tests/support). A
 * single seed moves the score of bursts by 0.02: means are taken over many.
 */
#include "tests/testing.h"

#include "services/inference-stub/sound/pcm_resample.h"
#include "services/inference-stub/sound/speech.h"
#include "tests/support/estoi.h"
#include "tests/support/lossy_voice.h"

#define SEEDS      6
#define FRAMES_MAX 2000

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

static struct lossy_voice *told_10; /* the encoder was told of 10 % of loss */
static struct lossy_voice *told_20;

/* --- what is sent ----------------------------------------------------------------------------- */

static size_t say(const char *text, int16_t *out, size_t room)
{
    struct pcm_view at_16k;
    struct pcm_view at_48k;
    struct fault fault;
    assert_true(speech_synthesize(text, 16000, &at_16k, &fault));
    assert_true(pcm_resample(at_16k, 16000, 48000, &at_48k));
    const size_t count = at_48k.count < room ? at_48k.count : room;
    memcpy(out, at_48k.samples, count * sizeof(*out));
    speech_free(&at_16k);
    speech_free(&at_48k);
    return count;
}

static int record_speech(void **state)
{
    (void)state;
    static int16_t speech[(size_t)FRAMES_MAX * LOSSY_VOICE_FRAME_IN];
    size_t samples = 0;
    for (size_t i = 0; i < SENTENCES; i++) {
        samples += say(sentence[i], speech + samples, COUNT_OF(speech) - samples);
    }
    told_10 = lossy_voice_create(speech, samples, 10);
    told_20 = lossy_voice_create(speech, samples, 20);
    return told_10 == NULL || told_20 == NULL;
}

static int forget_speech(void **state)
{
    (void)state;
    lossy_voice_destroy(told_10);
    lossy_voice_destroy(told_20);
    return 0;
}

/* --- what is heard ---------------------------------------------------------------------------- */

struct condition {
    const char *name;
    const struct lossy_voice *voice;
    double share;
    double burst;
    enum lossy_voice_repair repair;
    uint64_t seeds;
};

static double mean_estoi(const struct condition *c)
{
    static int16_t heard[(size_t)FRAMES_MAX * LOSSY_VOICE_FRAME_SAMPLES];
    static bool is_lost[FRAMES_MAX];
    const size_t frames = lossy_voice_frames(c->voice);
    memset(is_lost, 0, sizeof(is_lost));
    lossy_voice_hear(c->voice, is_lost, c->repair, heard);
    struct estoi *e = estoi_create(heard, frames * LOSSY_VOICE_FRAME_SAMPLES);
    assert_non_null(e);
    double sum = 0;
    for (uint64_t seed = 1; seed <= c->seeds; seed++) {
        struct random_generator random;
        random_generator_init(&random, seed);
        lossy_voice_lose(c->share, c->burst, &random, frames, is_lost);
        lossy_voice_hear(c->voice, is_lost, c->repair, heard);
        sum += estoi_score(e, heard) / (double)c->seeds;
    }
    estoi_destroy(e);
    print_message("%s: ESTOI %.4f, mean of %d seeds, %.0f s each\n", c->name, sum, (int)c->seeds,
                  (double)frames / 50);
    return sum;
}

static void fec_keeps_speech_intelligible(void **state)
{
    (void)state;
    const struct condition r10 = {"FEC r10", told_10, .1, 1, LOSSY_VOICE_FEC, SEEDS};
    const struct condition r20 = {"FEC r20", told_20, .2, 1, LOSSY_VOICE_FEC, SEEDS};
    assert_true(mean_estoi(&r10) >= .97);
    assert_true(mean_estoi(&r20) >= .93);
}

static void red_with_the_fec_in_it_does_better(void **state)
{
    (void)state;
    const struct condition r10 = {"RED+FEC r10", told_10, .1, 1, LOSSY_VOICE_RED_AND_FEC, SEEDS};
    const struct condition r20 = {"RED+FEC r20", told_20, .2, 1, LOSSY_VOICE_RED_AND_FEC, SEEDS};
    assert_true(mean_estoi(&r10) >= .99);
    assert_true(mean_estoi(&r20) >= .98);
}

/* Plain RED would pass a lower bar: what FEC inside the copies adds is the claim. */
static void in_bursts_the_fec_in_the_copies_is_worth_its_lines(void **state)
{
    (void)state;
    const struct condition both = {"RED+FEC b10",           told_10,    .1, 3,
                                   LOSSY_VOICE_RED_AND_FEC, BURST_SEEDS};
    const struct condition plain = {"RED b10", told_10, .1, 3, LOSSY_VOICE_RED, BURST_SEEDS};
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
    return cmocka_run_group_tests(tests, record_speech, forget_speech);
}
