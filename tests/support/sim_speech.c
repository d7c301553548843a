/* sim_speech.c - see sim_speech.h */
#include "tests/support/sim_speech.h"

#include <assert.h>
#include <math.h>

#define RATE_MAX     48000
#define OPUS_BYTES   60
#define OPUS_TOC     0x48 /* RFC 6716 s.3.1: SILK, 16 kHz, 20 ms, mono, one frame */
#define OPUS_HAS_VAD 0x80

/* A second of each tone: whole periods, so it goes round. */
static int16_t tone[SIM_SPEECH_TONES][RATE_MAX];
static uint32_t tone_rate_hz;

unsigned sim_speech_tone_hz(uint32_t utterance)
{
    return 400 + 250 * (utterance % SIM_SPEECH_TONES);
}

static void make_tones(uint32_t rate_hz)
{
    for (uint32_t t = 0; t < SIM_SPEECH_TONES; t++) {
        for (size_t i = 0; i < rate_hz; i++) {
            const double angle = 2 * M_PI * sim_speech_tone_hz(t) * (double)i / rate_hz;
            tone[t][i] = (int16_t)(8000 * sin(angle));
        }
    }
    tone_rate_hz = rate_hz;
}

static size_t write_opus(uint32_t utterance, uint64_t from_us, uint8_t *out)
{
    struct byte_writer w;
    byte_writer_init(&w, out, OPUS_BYTES);
    byte_writer_u8(&w, OPUS_TOC);
    byte_writer_u8(&w, OPUS_HAS_VAD);
    byte_writer_u32(&w, utterance);
    byte_writer_u64(&w, from_us);
    byte_writer_zeros(&w, OPUS_BYTES - w.len);
    assert(!w.failed);
    return w.len;
}

size_t sim_speech_write(struct backend_format format, uint32_t utterance, uint64_t from_us,
                        uint64_t us, uint8_t *out)
{
    const uint32_t rate_hz = format.rate_khz * 1000u;
    if (us == 0) {
        return 0;
    }
    if (format.codec == BACKEND_CODEC_OPUS) {
        return write_opus(utterance, from_us, out);
    }
    if (tone_rate_hz != rate_hz) {
        make_tones(rate_hz);
    }
    const size_t first = (size_t)(from_us * format.rate_khz / 1000);
    const size_t samples = (size_t)(us * format.rate_khz / 1000);
    assert(2 * samples <= SIM_SPEECH_BYTES_MAX);
    for (size_t i = 0; i < samples; i++) {
        const uint16_t sample = (uint16_t)tone[utterance % SIM_SPEECH_TONES][(first + i) % rate_hz];
        out[2 * i] = (uint8_t)sample;
        out[2 * i + 1] = (uint8_t)(sample >> 8);
    }
    return 2 * samples;
}

uint32_t sim_speech_utterance(struct bytes_view opus)
{
    struct byte_reader r;
    byte_reader_init(&r, opus);
    const bool is_ours = byte_reader_u8(&r) == OPUS_TOC && byte_reader_u8(&r) == OPUS_HAS_VAD &&
                         opus.len == OPUS_BYTES;
    const uint32_t utterance = byte_reader_u32(&r);
    return is_ours ? utterance : 0;
}

uint64_t sim_speech_position_us(struct bytes_view opus)
{
    struct byte_reader r;
    byte_reader_init(&r, opus);
    byte_reader_skip(&r, 6);
    return byte_reader_u64(&r);
}
