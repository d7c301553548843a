/* voice_uplink.c - see voice_uplink.h */
#include "services/transceiver/core/session/voice_uplink.h"

#include "services/transceiver/core/media/reorder_buffer.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/rtp/rtp_clock.h"

#include <assert.h>
#include <stdlib.h>

#define TIMESTAMP_PER_2500US 120

struct voice_uplink {
    struct voice_uplink_config config;
    struct backend_format format;
    struct rtp_receiver *receiver;
    struct reorder_buffer *reorder;
    struct voice_decoder *decoder; /* NULL until the backend accepted */
    bool has_hole;                 /* something is missing before the next frame */
    uint64_t sent_until_us;        /* session time */
    struct voice_uplink_stats stats;
    int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    uint8_t payload[2 * VOICE_DECODER_SAMPLES_MAX];
};

const char *voice_uplink_result_name(enum voice_uplink_result result)
{
    static const char *const name[VOICE_UPLINK_RESULT_COUNT] = {
        [VOICE_UPLINK_TAKEN] = "taken",
        [VOICE_UPLINK_NOT_ACCEPTED] = "not_accepted",
        [VOICE_UPLINK_OTHER_PAYLOAD] = "other_payload",
        [VOICE_UPLINK_RETIRED_SSRC] = "retired_ssrc",
        [VOICE_UPLINK_JUMP] = "jump",
        [VOICE_UPLINK_DUPLICATE] = "duplicate",
        [VOICE_UPLINK_LATE] = "late",
        [VOICE_UPLINK_REFUSED] = "refused",
    };
    return name[result];
}

struct voice_uplink *voice_uplink_create(const struct voice_uplink_config *config)
{
    struct voice_uplink *u = calloc(1, sizeof(*u));
    if (u == NULL) {
        return NULL;
    }
    u->config = *config;
    u->receiver = rtp_receiver_create();
    u->reorder = reorder_buffer_create();
    if (u->receiver == NULL || u->reorder == NULL) {
        voice_uplink_destroy(u);
        return NULL;
    }
    return u;
}

void voice_uplink_destroy(struct voice_uplink *u)
{
    if (u == NULL) {
        return;
    }
    rtp_receiver_destroy(u->receiver);
    reorder_buffer_destroy(u->reorder);
    voice_decoder_destroy(u->decoder);
    free(u);
}

bool voice_uplink_attach(struct voice_uplink *u, struct backend_format in, uint64_t from_us,
                         uint64_t now_us)
{
    (void)from_us; /* nothing is held */
    (void)now_us;
    assert(u->decoder == NULL);
    if (in.codec != BACKEND_CODEC_PCM16 || (in.rate_khz != 16 && in.rate_khz != 24)) {
        return false;
    }
    u->format = in;
    u->decoder = voice_decoder_create(u->config.codec, in.rate_khz * 1000u);
    return u->decoder != NULL;
}

void voice_uplink_detach(struct voice_uplink *u)
{
    voice_decoder_destroy(u->decoder);
    u->decoder = NULL;
}

uint64_t voice_uplink_history_from_us(const struct voice_uplink *u)
{
    return u->sent_until_us;
}

static void put_little_endian(uint8_t *out, const int16_t *pcm, size_t samples)
{
    for (size_t i = 0; i < samples; i++) {
        const uint16_t sample = (uint16_t)pcm[i];
        out[2 * i] = (uint8_t)sample;
        out[2 * i + 1] = (uint8_t)(sample >> 8);
    }
}

/* samples 0: a frame that only tells the time. */
static void emit(struct voice_uplink *u, const struct reorder_slot *slot, uint16_t flags,
                 size_t samples)
{
    const uint64_t captured_us = rtp_receiver_capture_us(u->receiver, slot->timestamp);
    put_little_endian(u->payload, u->pcm, samples);
    const struct backend_frame frame = {
        .type = BACKEND_AUDIO_IN,
        .flags = (uint16_t)(flags | (u->has_hole ? BACKEND_AUDIO_DISCONTINUITY : 0)),
        .session = u->config.session_id,
        .time_us = time_since(u->config.start_us, captured_us),
        .utterance = (uint32_t)slot->timestamp,
        .codec = u->format.codec,
        .rate_khz = u->format.rate_khz,
        .channels = 1,
        .duration_2500us = (uint8_t)(slot->duration / TIMESTAMP_PER_2500US),
        .payload = bytes_view_of(u->payload, 2 * samples),
    };
    outbox_add_frame(u->config.outbox, u->config.session_id, &frame);
    u->sent_until_us = frame.time_us + rtp_clock_to_us(slot->duration);
    u->stats.frames += samples > 0;
    u->has_hole = false;
}

static void note_undecoded(struct voice_uplink *u)
{
    u->stats.undecoded++;
    u->has_hole = true;
}

static void deliver_slot(struct voice_uplink *u, const struct reorder_slot *slot, uint64_t now_us)
{
    size_t samples = 0;
    enum voice_decoder_result result = VOICE_DECODER_OK;
    u->has_hole = u->has_hole || slot->is_discontinuity;
    switch (slot->kind) {
    case REORDER_SLOT_SILENCE:
        emit(u, slot, BACKEND_AUDIO_SILENCE, 0);
        return;
    case REORDER_SLOT_CONCEAL:
        result = voice_decoder_conceal(u->decoder, slot->duration, u->pcm, &samples, now_us);
        if (result == VOICE_DECODER_OK) {
            u->stats.concealed++;
            emit(u, slot, BACKEND_AUDIO_CONCEALED, samples);
        } else {
            note_undecoded(u);
        }
        return;
    case REORDER_SLOT_PACKET:
        if (slot->duration == 0) {
            return; /* no audio in it: neither loss nor sound */
        }
        result = voice_decoder_decode(u->decoder, slot->payload, u->pcm, &samples, now_us);
        if (result == VOICE_DECODER_OK) {
            emit(u, slot, 0, samples);
        } else {
            note_undecoded(u);
        }
        return;
    }
}

static void deliver(struct voice_uplink *u, uint64_t now_us)
{
    struct reorder_slot slot;
    while (reorder_buffer_poll(u->reorder, &slot, now_us)) {
        deliver_slot(u, &slot, now_us);
    }
}

static enum voice_uplink_result result_of(enum reorder_result result)
{
    switch (result) {
    case REORDER_STORED:
        return VOICE_UPLINK_TAKEN;
    case REORDER_DUPLICATE:
        return VOICE_UPLINK_DUPLICATE;
    case REORDER_LATE:
        return VOICE_UPLINK_LATE;
    default:
        return VOICE_UPLINK_REFUSED;
    }
}

static enum voice_uplink_result input(struct voice_uplink *u, const struct rtp_packet *packet,
                                      uint64_t now_us)
{
    struct rtp_arrival arrival;
    switch (rtp_receiver_input(u->receiver, packet, &arrival, now_us)) {
    case RTP_RECEIVER_JUMP:
        return VOICE_UPLINK_JUMP;
    case RTP_RECEIVER_RETIRED:
        return VOICE_UPLINK_RETIRED_SSRC;
    case RTP_RECEIVER_NEXT:
        break;
    default: /* a new numbering: nothing of the old one is worth waiting for */
        reorder_buffer_restart(u->reorder);
        if (u->decoder != NULL) {
            voice_decoder_reset(u->decoder);
        }
        break;
    }
    if (u->decoder == NULL) {
        return VOICE_UPLINK_NOT_ACCEPTED;
    }
    const bool is_voice = packet->payload_type == u->config.payload_type;
    const struct reorder_packet numbered = {
        .sequence = arrival.sequence,
        .timestamp = arrival.timestamp,
        .duration = is_voice ? voice_packet_duration(u->config.codec, packet->payload) : 0,
        .payload = is_voice ? packet->payload : (struct bytes_view){0},
    };
    const enum reorder_result result = reorder_buffer_insert(u->reorder, &numbered, now_us);
    deliver(u, now_us);
    return is_voice ? result_of(result) : VOICE_UPLINK_OTHER_PAYLOAD;
}

enum voice_uplink_result voice_uplink_input(struct voice_uplink *u, const struct rtp_packet *packet,
                                            uint64_t now_us)
{
    const enum voice_uplink_result result = input(u, packet, now_us);
    u->stats.packets[result]++;
    return result;
}

void voice_uplink_tick(struct voice_uplink *u, uint64_t now_us)
{
    if (now_us >= voice_uplink_next_timeout(u)) {
        deliver(u, now_us);
    }
}

uint64_t voice_uplink_next_timeout(const struct voice_uplink *u)
{
    return u->decoder == NULL ? TIME_NEVER : reorder_buffer_next_timeout(u->reorder);
}

struct rtp_receiver *voice_uplink_receiver(struct voice_uplink *u)
{
    return u->receiver;
}

const struct voice_uplink_stats *voice_uplink_stats(const struct voice_uplink *u)
{
    return &u->stats;
}
