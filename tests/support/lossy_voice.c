/* lossy_voice.c - see lossy_voice.h */
#include "tests/support/lossy_voice.h"

#include "services/transceiver/core/media/reorder_buffer.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"

#include <assert.h>
#include <stdlib.h>

#define BASE      1000 /* number, and timestamp in frames, of the first packet */
#define START_US  (100 * US_PER_S)
#define SLOT_US   (20 * US_PER_MS)
#define UNITS_OUT (LOSSY_VOICE_IN_HZ / LOSSY_VOICE_OUT_HZ)

struct packet {
    uint8_t data[VOICE_PACKET_BYTES_MAX];
    size_t len;
};

struct lossy_voice {
    size_t frames;
    struct packet packet[];
};

/* --- what is sent ----------------------------------------------------------------------------- */

struct lossy_voice *lossy_voice_create(const int16_t *speech, size_t samples,
                                       unsigned loss_percent_told)
{
    const size_t frames = samples / LOSSY_VOICE_FRAME_IN;
    struct lossy_voice *v = calloc(1, sizeof(*v) + frames * sizeof(v->packet[0]));
    struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, LOSSY_VOICE_IN_HZ);
    if (v == NULL || e == NULL) {
        voice_encoder_destroy(e);
        free(v);
        return NULL;
    }
    v->frames = frames;
    voice_encoder_tune(e, 32000, 9);
    voice_encoder_set_loss(e, loss_percent_told);
    for (size_t n = 0; n < frames; n++) {
        struct packet *p = &v->packet[n];
        p->len = voice_encoder_encode(e, speech + n * LOSSY_VOICE_FRAME_IN, p->data);
    }
    voice_encoder_destroy(e);
    return v;
}

void lossy_voice_destroy(struct lossy_voice *v)
{
    free(v);
}

size_t lossy_voice_frames(const struct lossy_voice *v)
{
    return v->frames;
}

/* --- what is lost ----------------------------------------------------------------------------- */

static bool happens(struct random_generator *g, double probability)
{
    return (double)(random_generator_next(g) >> 11) < probability * (double)(UINT64_C(1) << 53);
}

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

/* Bursts are few in half a minute: a pattern that loses more or less than asked says nothing. */
void lossy_voice_lose(double share, double burst, struct random_generator *g, size_t frames,
                      bool *is_lost)
{
    const double wanted = share * (double)frames;
    double lost = -1;
    while (lost < .95 * wanted || lost > 1.05 * wanted) {
        lost = (double)draw(share, burst, g, frames, is_lost);
    }
}

/* --- what is heard ---------------------------------------------------------------------------- */

static struct reorder_packet numbered(const struct lossy_voice *v, size_t n,
                                      enum lossy_voice_repair repair)
{
    const bool use_fec = repair == LOSSY_VOICE_FEC || repair == LOSSY_VOICE_RED_AND_FEC;
    const struct bytes_view payload = bytes_view_of(v->packet[n].data, v->packet[n].len);
    return (struct reorder_packet){
        .sequence = BASE + n,
        .timestamp = (BASE + n) * LOSSY_VOICE_FRAME_IN,
        .duration = LOSSY_VOICE_FRAME_IN,
        .has_fec = use_fec && voice_packet_has_fec(payload),
        .payload = payload,
    };
}

/* The slot's samples go where its timestamp says. */
static void decode(const struct lossy_voice *v, struct voice_decoder *d,
                   const struct reorder_slot *slot, int16_t *heard, uint64_t now_us)
{
    int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    size_t samples = 0;
    enum voice_decoder_result result = VOICE_DECODER_OK;
    if (slot->kind == REORDER_SLOT_CONCEAL) {
        result = voice_decoder_conceal(d, slot->duration, pcm, &samples, now_us);
    } else if (slot->kind == REORDER_SLOT_FEC) {
        result = voice_decoder_decode_fec(d, slot->payload, slot->duration, pcm, &samples, now_us);
    } else {
        assert(slot->kind != REORDER_SLOT_SILENCE);
        result = voice_decoder_decode(d, slot->payload, pcm, &samples, now_us);
    }
    assert(result == VOICE_DECODER_OK);
    (void)result;
    assert(samples == slot->duration / UNITS_OUT);
    const size_t at = (size_t)(slot->timestamp - (uint64_t)BASE * LOSSY_VOICE_FRAME_IN) / UNITS_OUT;
    assert(at + samples <= v->frames * LOSSY_VOICE_FRAME_SAMPLES);
    memcpy(heard + at, pcm, samples * sizeof(*pcm));
}

void lossy_voice_hear(const struct lossy_voice *v, const bool *is_lost,
                      enum lossy_voice_repair repair, int16_t *heard)
{
    const bool use_red = repair == LOSSY_VOICE_RED || repair == LOSSY_VOICE_RED_AND_FEC;
    struct reorder_buffer *b = reorder_buffer_create();
    struct voice_decoder *d = voice_decoder_create(VOICE_CODEC_OPUS, LOSSY_VOICE_OUT_HZ);
    assert(b != NULL);
    assert(d != NULL);
    memset(heard, 0, v->frames * LOSSY_VOICE_FRAME_SAMPLES * sizeof(*heard));
    for (size_t n = 0; n < v->frames; n++) {
        const uint64_t now_us = START_US + n * SLOT_US;
        struct reorder_slot slot;
        if (is_lost[n]) {
            continue;
        }
        const struct reorder_packet p = numbered(v, n, repair);
        (void)reorder_buffer_insert(b, &p, now_us);
        if (use_red && n > 0) {
            const struct reorder_packet copy = numbered(v, n - 1, repair);
            (void)reorder_buffer_insert_copy(b, &copy, now_us);
        }
        while (reorder_buffer_poll(b, &slot, now_us)) {
            decode(v, d, &slot, heard, now_us);
        }
    }
    reorder_buffer_destroy(b);
    voice_decoder_destroy(d);
}
