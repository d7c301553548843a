/* voice_sender.c - see voice_sender.h */
#include "services/transceiver/core/session/voice_sender.h"

#include "services/transceiver/core/rtp/rtp_clock.h"

#include <assert.h>
#include <stdlib.h>

struct voice_sender {
    struct voice_sender_config config;
    uint32_t rate_hz;
    struct playout_queue *queue;   /* NULL until attached */
    struct voice_encoder *encoder; /* likewise */
    struct rtp_sender *rtp;
    uint64_t next_slot_us; /* TIME_NEVER until started */
    struct voice_sender_stats stats;
};

struct voice_sender *voice_sender_create(const struct voice_sender_config *config)
{
    struct voice_sender *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->config = *config;
    s->next_slot_us = TIME_NEVER;
    s->config.rtp.clock_hz = RTP_CLOCK_HZ;
    s->rtp = rtp_sender_create(&s->config.rtp);
    if (s->rtp == NULL) {
        voice_sender_destroy(s);
        return NULL;
    }
    return s;
}

void voice_sender_destroy(struct voice_sender *s)
{
    if (s == NULL) {
        return;
    }
    voice_encoder_destroy(s->encoder);
    rtp_sender_destroy(s->rtp);
    free(s);
}

bool voice_sender_attach(struct voice_sender *s, struct playout_queue *queue, uint32_t rate_hz)
{
    s->queue = queue;
    if (s->encoder != NULL && s->rate_hz == rate_hz) {
        return true;
    }
    voice_encoder_destroy(s->encoder);
    s->rate_hz = rate_hz;
    s->encoder = voice_encoder_create(s->config.codec, rate_hz);
    if (s->encoder != NULL && s->config.bitrate_bps != 0) {
        voice_encoder_tune(s->encoder, s->config.bitrate_bps, s->config.complexity);
    }
    return s->encoder != NULL;
}

void voice_sender_start(struct voice_sender *s, uint64_t now_us)
{
    assert(s->next_slot_us == TIME_NEVER);
    const uint64_t slot_number = s->config.session_id >> 8 & 0x3ffff;
    const uint64_t phase_us =
        slot_number % VOICE_SENDER_PHASES * (VOICE_SENDER_SLOT_US / VOICE_SENDER_PHASES);
    const uint64_t grid_us = now_us - now_us % VOICE_SENDER_SLOT_US + phase_us;
    s->next_slot_us = grid_us >= now_us ? grid_us : grid_us + VOICE_SENDER_SLOT_US;
}

void voice_sender_cut(struct voice_sender *s)
{
    (void)s; /* Without a reported loss the encoder makes no copies, and there are no others. */
}

/* Opus of this slot to out; true when it is speech. */
static bool encode_slot(struct voice_sender *s, uint8_t out[VOICE_PACKET_BYTES_MAX], size_t *len,
                        uint64_t now_us)
{
    int16_t frame[PLAYOUT_QUEUE_FRAME_SAMPLES_MAX];
    const enum playout_slot slot =
        s->queue == NULL ? PLAYOUT_SLOT_SILENCE : playout_queue_take(s->queue, frame, now_us);
    if (slot == PLAYOUT_SLOT_SILENCE) {
        /* Before a backend is attached no rate is known, and any will do. */
        const struct bytes_view silence = voice_silences_find(s->config.silences, s->config.codec,
                                                              s->rate_hz == 0 ? 16000 : s->rate_hz);
        memcpy(out, silence.data, silence.len);
        *len = silence.len;
        return false;
    }
    if (slot == PLAYOUT_SLOT_FIRST) {
        voice_encoder_reset(s->encoder);
    }
    *len = voice_encoder_encode(s->encoder, frame, out);
    return true;
}

size_t voice_sender_poll_packet(struct voice_sender *s, uint8_t *out, uint64_t now_us)
{
    while (now_us >= s->next_slot_us) {
        const uint64_t late_us = now_us - s->next_slot_us;
        rtp_sender_next_slot(s->rtp, RTP_CLOCK_SLOT_UNITS, s->next_slot_us);
        s->next_slot_us += VOICE_SENDER_SLOT_US;
        if (late_us >= 2 * VOICE_SENDER_SLOT_US) {
            s->stats.skipped_slots++;
            continue;
        }
        size_t payload_bytes = 0;
        const bool is_speech =
            encode_slot(s, out + RTP_PACKET_HEADER_BYTES, &payload_bytes, now_us);
        rtp_sender_write_header(s->rtp, s->config.payload_type, payload_bytes, !is_speech, out);
        s->stats.packets++;
        s->stats.speech_packets += is_speech;
        return RTP_PACKET_HEADER_BYTES + payload_bytes;
    }
    return 0;
}

uint64_t voice_sender_next_timeout(const struct voice_sender *s)
{
    return s->next_slot_us;
}

struct rtp_sender *voice_sender_rtp(struct voice_sender *s)
{
    return s->rtp;
}

const struct voice_sender_stats *voice_sender_stats(const struct voice_sender *s)
{
    return &s->stats;
}
