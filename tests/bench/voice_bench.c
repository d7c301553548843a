/* voice_bench.c - Opus for one frame of 20 ms: encoding, decoding, and filling gaps */
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "tests/bench/bench.h"
#include "tests/speech_like.h"

#include <assert.h>

#define RATE_HZ       24000
#define FRAME_SAMPLES (RATE_HZ / 50)
#define FRAMES        500 /* 10 s */
#define FRAME_US      (20 * US_PER_MS)
#define FRAME_UNITS   960

struct voice {
    struct voice_encoder *encoder;
    struct voice_decoder *decoder;
    int16_t pcm[FRAMES][FRAME_SAMPLES];
    uint8_t packet[FRAMES][VOICE_PACKET_BYTES_MAX];
    size_t packet_len[FRAMES];
    uint64_t now_us;
};

static void speak(struct voice *v)
{
    struct random_generator random;
    random_generator_init(&random, 1);
    v->encoder = voice_encoder_create(VOICE_CODEC_OPUS, RATE_HZ);
    v->decoder = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ);
    assert(v->encoder != NULL && v->decoder != NULL);
    for (size_t i = 0; i < FRAMES; i++) {
        speech_like_voice(&random, -20, RATE_HZ, i * FRAME_SAMPLES, v->pcm[i], FRAME_SAMPLES);
    }
}

static void run_encode(void *context, size_t count)
{
    struct voice *v = context;
    assert(count == FRAMES);
    for (size_t i = 0; i < count; i++) {
        v->packet_len[i] = voice_encoder_encode(v->encoder, v->pcm[i], v->packet[i]);
    }
}

/* Of each `period` frames the last is lost and concealed. */
static void decode(struct voice *v, size_t count, size_t period)
{
    int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    size_t samples = 0;
    for (size_t i = 0; i < count; i++) {
        const struct bytes_view payload = bytes_view_of(v->packet[i], v->packet_len[i]);
        const enum voice_decoder_result result =
            i % period == period - 1
                ? voice_decoder_conceal(v->decoder, FRAME_UNITS, pcm, &samples, v->now_us)
                : voice_decoder_decode(v->decoder, payload, pcm, &samples, v->now_us);
        assert(result == VOICE_DECODER_OK && samples == FRAME_SAMPLES);
        v->now_us += FRAME_US;
    }
}

static void run_decode(void *context, size_t count)
{
    decode(context, count, count + 1);
}

static void run_lossy(void *context, size_t count)
{
    decode(context, count, 10);
}

static void run_half_lost(void *context, size_t count)
{
    decode(context, count, 2);
}

int main(int argc, char **argv)
{
    static struct voice v;
    speak(&v);
    const struct bench_case cases[] = {
        {.figure = "encode", .run = run_encode, .context = &v, .count = FRAMES, .unit = BENCH_US},
        {.figure = "decode",
         .run = run_decode,
         .context = &v,
         .count = FRAMES,
         .unit = BENCH_US,
         .baseline = "encode"},
        {.figure = "decode_10_percent_lost",
         .run = run_lossy,
         .context = &v,
         .count = FRAMES,
         .unit = BENCH_US,
         .baseline = "decode"},
        {.figure = "decode_50_percent_lost",
         .run = run_half_lost,
         .context = &v,
         .count = FRAMES,
         .unit = BENCH_US,
         .baseline = "decode"},
    };
    const int status = bench_run("voice", cases, COUNT_OF(cases), argc, argv);
    voice_encoder_destroy(v.encoder);
    voice_decoder_destroy(v.decoder);
    return status;
}
