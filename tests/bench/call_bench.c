/* call_bench.c - one second of a call in the transceiver, against its codec alone */
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "tests/bench/bench.h"
#include "tests/bench/shard_world.h"
#include "tests/speech_like.h"
#include "tests/support/sim_client.h"

#include <assert.h>
#include <stdlib.h>

#define FRAMES_PER_S  50
#define FRAME_US      (US_PER_S / FRAMES_PER_S)
#define FRAME_SAMPLES (SHARD_WORLD_RATE_HZ / FRAMES_PER_S)
#define PACKETS       500
#define MANY          20

/* What the calls of a shard_world decode and encode, and nothing else. */
struct codecs {
    size_t count;
    struct voice_encoder *encoder[MANY];
    struct voice_decoder *decoder[MANY];
    uint8_t packet[PACKETS][VOICE_PACKET_BYTES_MAX];
    size_t packet_len[PACKETS];
    uint64_t frame; /* of all so far */
};

/* As the simulated client speaks. */
static void make_packets(struct codecs *c)
{
    int16_t pcm[SIM_VOICE_RATE_HZ / FRAMES_PER_S];
    struct random_generator random;
    struct voice_encoder *encoder = voice_encoder_create(VOICE_CODEC_OPUS, SIM_VOICE_RATE_HZ);
    assert(encoder != NULL);
    random_generator_init(&random, 1);
    for (size_t i = 0; i < PACKETS; i++) {
        speech_like_voice(&random, -20, SIM_VOICE_RATE_HZ, i * COUNT_OF(pcm), pcm, COUNT_OF(pcm));
        c->packet_len[i] = voice_encoder_encode(encoder, pcm, c->packet[i]);
    }
    voice_encoder_destroy(encoder);
}

static struct codecs *create_codecs(size_t count)
{
    struct codecs *c = calloc(1, sizeof(*c));
    assert(c != NULL && count <= MANY);
    c->count = count;
    for (size_t i = 0; i < count; i++) {
        c->encoder[i] = voice_encoder_create(VOICE_CODEC_OPUS, SHARD_WORLD_RATE_HZ);
        c->decoder[i] = voice_decoder_create(VOICE_CODEC_OPUS, SHARD_WORLD_RATE_HZ);
        assert(c->encoder[i] != NULL && c->decoder[i] != NULL);
    }
    make_packets(c);
    return c;
}

static void destroy_codecs(struct codecs *c)
{
    for (size_t i = 0; i < c->count; i++) {
        voice_encoder_destroy(c->encoder[i]);
        voice_decoder_destroy(c->decoder[i]);
    }
    free(c);
}

/* Each call's next frame, in turn; the agent says what it hears. No two calls are at the same word:
 * a processor learns what it does twice. */
static void run_codecs(void *context, size_t call_seconds)
{
    struct codecs *c = context;
    int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    uint8_t packet[VOICE_PACKET_BYTES_MAX];
    size_t samples = 0;
    for (size_t i = 0; i < FRAMES_PER_S * call_seconds; i++) {
        const size_t call = i % c->count;
        const size_t number = (c->frame + call * PACKETS / MANY) % PACKETS;
        const struct bytes_view payload = bytes_view_of(c->packet[number], c->packet_len[number]);
        const enum voice_decoder_result result =
            voice_decoder_decode(c->decoder[call], payload, pcm, &samples, c->frame * FRAME_US);
        assert(result == VOICE_DECODER_OK && samples == FRAME_SAMPLES);
        (void)voice_encoder_encode(c->encoder[call], pcm, packet);
        c->frame += call == c->count - 1 ? 1 : 0;
    }
}

static void run_calls(struct shard_world *w, size_t call_count, size_t call_seconds)
{
    const uint64_t before = shard_world_packets(w);
    shard_world_run(w, call_seconds / call_count * US_PER_S);
    const uint64_t packets = shard_world_packets(w) - before;
    assert(packets > 98 * call_seconds && packets < 102 * call_seconds);
}

static void run_one(void *context, size_t call_seconds)
{
    run_calls(context, 1, call_seconds);
}

static void run_many(void *context, size_t call_seconds)
{
    run_calls(context, MANY, call_seconds);
}

int main(int argc, char **argv)
{
    struct fault fault;
    const bool is_ready = srtp_transport_init(&fault);
    assert(is_ready);
    struct codecs *codec = create_codecs(1);
    struct codecs *codecs = create_codecs(MANY);
    struct shard_world *call = shard_world_create(1, false);
    struct shard_world *calls = shard_world_create(MANY, false);
    const struct bench_case cases[] = {
        {.figure = "codec_1", .run = run_codecs, .context = codec, .count = 2, .unit = BENCH_MS},
        {.figure = "call_1",
         .run = run_one,
         .context = call,
         .count = 2,
         .unit = BENCH_MS,
         .baseline = "codec_1",
         .ratio_goal = 1.25},
        {.figure = "codec_20",
         .run = run_codecs,
         .context = codecs,
         .count = MANY,
         .unit = BENCH_MS},
        {.figure = "call_20",
         .run = run_many,
         .context = calls,
         .count = MANY,
         .unit = BENCH_MS,
         .baseline = "codec_20",
         .ratio_goal = 1.25},
    };
    const int status = bench_run("call", cases, COUNT_OF(cases), argc, argv);
    destroy_codecs(codec);
    destroy_codecs(codecs);
    shard_world_destroy(call);
    shard_world_destroy(calls);
    return status;
}
