/* voice_bench.c - for one frame of 20 ms: Opus and G.711 encoded, decoded, concealed, and the hint
 * of a voice */
#include "services/transceiver/core/media/speech_detector.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "tests/bench/bench.h"
#include "tests/speech_like.h"

#include <assert.h>

#define RATE_HZ       24000
#define FRAME_SAMPLES (RATE_HZ / 50)
#define FRAMES        500 /* 10 s */
#define FRAME_US      (20 * US_PER_MS)

struct voice {
    enum voice_codec codec;
    struct voice_encoder *encoder;
    struct voice_decoder *decoder;
    int16_t pcm[FRAMES][FRAME_SAMPLES];
    uint8_t packet[FRAMES][VOICE_PACKET_BYTES_MAX];
    size_t packet_len[FRAMES];
    uint64_t now_us;
};

static void speak(struct voice *v, enum voice_codec codec)
{
    struct random_generator random;
    random_generator_init(&random, 1);
    v->codec = codec;
    v->encoder = voice_encoder_create(codec, RATE_HZ);
    v->decoder = voice_decoder_create(codec, RATE_HZ);
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
    const uint32_t units = voice_codec_clock_hz(v->codec) / 50;
    for (size_t i = 0; i < count; i++) {
        const struct bytes_view payload = bytes_view_of(v->packet[i], v->packet_len[i]);
        const enum voice_decoder_result result =
            i % period == period - 1
                ? voice_decoder_conceal(v->decoder, units, pcm, &samples, v->now_us)
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

/* What the speech detector costs beside the decoder. */
static void run_detector(void *context, size_t count)
{
    struct voice *v = context;
    struct speech_detector detector;
    struct speech_event event;
    speech_detector_init(&detector, RATE_HZ);
    for (size_t i = 0; i < count; i++) {
        const struct bytes_view payload = bytes_view_of(v->packet[i], v->packet_len[i]);
        speech_detector_hear(&detector, v->pcm[i], FRAME_SAMPLES, voice_packet_voice(payload),
                             i * FRAME_US);
        while (speech_detector_poll(&detector, &event)) {
        }
    }
}

int main(int argc, char **argv)
{
    static struct voice opus;
    static struct voice g711;
    speak(&opus, VOICE_CODEC_OPUS);
    speak(&g711, VOICE_CODEC_PCMU);
    const struct bench_case cases[] = {
        {.figure = "encode", .run = run_encode, .context = &opus},
        {.figure = "decode", .run = run_decode, .context = &opus, .baseline = "encode"},
        {.figure = "decode_10_percent_lost",
         .run = run_lossy,
         .context = &opus,
         .baseline = "decode"},
        {.figure = "decode_50_percent_lost",
         .run = run_half_lost,
         .context = &opus,
         .baseline = "decode"},
        {.figure = "detect_speech", .run = run_detector, .context = &opus, .baseline = "decode"},
        {.figure = "g711_encode", .run = run_encode, .context = &g711, .baseline = "encode"},
        {.figure = "g711_decode", .run = run_decode, .context = &g711, .baseline = "decode"},
        {.figure = "g711_decode_10_percent_lost",
         .run = run_lossy,
         .context = &g711,
         .baseline = "g711_decode"},
    };
    struct bench_case timed[COUNT_OF(cases)];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        timed[i] = cases[i];
        timed[i].count = FRAMES;
        timed[i].unit = BENCH_US;
    }
    const int status = bench_run("voice", timed, COUNT_OF(timed), argc, argv);
    voice_encoder_destroy(opus.encoder);
    voice_decoder_destroy(opus.decoder);
    voice_encoder_destroy(g711.encoder);
    voice_decoder_destroy(g711.decoder);
    return status;
}
