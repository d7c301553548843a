/* sim_voice.c - see sim_voice.h */
#include "tests/support/sim_voice.h"

#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "tests/speech_like.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SLOT_SAMPLES (SIM_VOICE_RATE_HZ / 50)
/* 50 ms: a lost packet spoils the phase of one window, not of the whole second. */
#define WINDOW_SAMPLES 800
/* -54 dBov: quieter is silence. */
#define SOUND_MIN 64

struct sim_voice {
    struct sim_voice_config config;
    struct random_generator random;
    struct voice_encoder *encoder; /* NULL: fixed packets */
    struct voice_decoder *decoder; /* likewise: deaf */
    uint64_t said_samples;
    uint64_t said_packets;
    int16_t last_second[SIM_VOICE_RATE_HZ];
    size_t last_second_next;
};

static struct {
    uint8_t data[VOICE_PACKET_BYTES_MAX];
    size_t len;
} fixed[SIM_VOICE_FIXED_PACKETS];

static void make_tone(unsigned hz, uint64_t first, int16_t frame[SLOT_SAMPLES])
{
    for (size_t i = 0; i < SLOT_SAMPLES; i++) {
        const double t = (double)(first + i) / SIM_VOICE_RATE_HZ;
        frame[i] = (int16_t)(8000.0 * sin(2 * M_PI * hz * t));
    }
}

static void encode_fixed(void)
{
    int16_t frame[SLOT_SAMPLES];
    struct voice_encoder *encoder = voice_encoder_create(VOICE_CODEC_OPUS, SIM_VOICE_RATE_HZ);
    assert(encoder != NULL);
    for (size_t i = 0; i < SIM_VOICE_FIXED_PACKETS; i++) {
        make_tone(300 + 20 * (unsigned)i, i * SLOT_SAMPLES, frame);
        fixed[i].len = voice_encoder_encode(encoder, frame, fixed[i].data);
    }
    voice_encoder_destroy(encoder);
}

struct bytes_view sim_voice_fixed(uint64_t number)
{
    if (fixed[0].len == 0) {
        encode_fixed();
    }
    const size_t i = number % SIM_VOICE_FIXED_PACKETS;
    return bytes_view_of(fixed[i].data, fixed[i].len);
}

struct sim_voice *sim_voice_create(const struct sim_voice_config *config)
{
    struct sim_voice *v = calloc(1, sizeof(*v));
    assert(v != NULL);
    v->config = *config;
    random_generator_init(&v->random, config->seed);
    if (config->kind != SIM_VOICE_FIXED) {
        v->encoder = voice_encoder_create(VOICE_CODEC_OPUS, SIM_VOICE_RATE_HZ);
        v->decoder = voice_decoder_create(VOICE_CODEC_OPUS, SIM_VOICE_RATE_HZ);
        assert(v->encoder != NULL && v->decoder != NULL);
    }
    return v;
}

void sim_voice_destroy(struct sim_voice *v)
{
    voice_encoder_destroy(v->encoder);
    voice_decoder_destroy(v->decoder);
    free(v);
}

size_t sim_voice_say(struct sim_voice *v, bool is_silent, uint8_t out[VOICE_PACKET_BYTES_MAX])
{
    int16_t frame[SLOT_SAMPLES] = {0};
    if (v->encoder == NULL) {
        const struct bytes_view packet = sim_voice_fixed(v->said_packets++);
        memcpy(out, packet.data, packet.len);
        return packet.len;
    }
    if (!is_silent && v->config.kind == SIM_VOICE_SPEECH) {
        speech_like_voice(&v->random, -20, SIM_VOICE_RATE_HZ, v->said_samples, frame, SLOT_SAMPLES);
    } else if (!is_silent) {
        make_tone(v->config.tone_hz, v->said_samples, frame);
    }
    v->said_samples += SLOT_SAMPLES;
    return voice_encoder_encode(v->encoder, frame, out);
}

bool sim_voice_hear(struct sim_voice *v, struct bytes_view payload, uint64_t now_us)
{
    static int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    size_t samples = 0;
    bool has_sound = false;
    if (v->decoder == NULL ||
        voice_decoder_decode(v->decoder, payload, pcm, &samples, now_us) != VOICE_DECODER_OK) {
        return false;
    }
    for (size_t i = 0; i < samples; i++) {
        has_sound = has_sound || pcm[i] > SOUND_MIN || pcm[i] < -SOUND_MIN;
        v->last_second[v->last_second_next] = pcm[i];
        v->last_second_next = (v->last_second_next + 1) % SIM_VOICE_RATE_HZ;
    }
    return has_sound;
}

static double sample_at(const struct sim_voice *v, size_t index)
{
    return v->last_second[(v->last_second_next + index) % SIM_VOICE_RATE_HZ];
}

double sim_voice_level(const struct sim_voice *v)
{
    double sum = 0;
    for (size_t i = 0; i < SIM_VOICE_RATE_HZ; i++) {
        sum += sample_at(v, i) * sample_at(v, i);
    }
    return sqrt(sum / SIM_VOICE_RATE_HZ) / 32768;
}

double sim_voice_tone_share(const struct sim_voice *v, double hz)
{
    double tone = 0;
    double all = 0;
    for (size_t start = 0; start < SIM_VOICE_RATE_HZ; start += WINDOW_SAMPLES) {
        double real = 0;
        double imaginary = 0;
        for (size_t i = 0; i < WINDOW_SAMPLES; i++) {
            const double sample = sample_at(v, start + i);
            const double angle = 2 * M_PI * hz * (double)i / SIM_VOICE_RATE_HZ;
            real += sample * cos(angle);
            imaginary += sample * sin(angle);
            all += sample * sample;
        }
        tone += (real * real + imaginary * imaginary) * 2 / WINDOW_SAMPLES;
    }
    return all > 0 ? tone / all : 0;
}
