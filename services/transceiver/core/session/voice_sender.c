/* voice_sender.c - see voice_sender.h */
#include "services/transceiver/core/session/voice_sender.h"

#include "services/transceiver/core/rtp/red_copy.h"
#include "services/transceiver/core/session/speech_coder.h"

#include <stdlib.h>

/* A datagram of ours needs no fragments. */
#define PAYLOAD_BYTES_MAX VOICE_PACKET_BYTES_MAX

/* What a slot sends. */
struct content {
    struct bytes_view payload; /* empty: nothing */
    uint64_t duration_us;
    bool is_speech;
};

struct voice_sender {
    struct voice_sender_config config;
    uint32_t rate_hz;
    unsigned silent_slots;
    struct playout_queue *queue; /* NULL until attached */
    struct speech_coder *coder;  /* NULL until there is something to say */
    struct rtp_sender *rtp;
    struct rtp_history *history; /* NULL: not agreed */
    struct slot_clock clock;
    struct loss_response response;
    struct red_copy copy; /* of the packet before, while that carried speech */
    struct voice_sender_stats stats;
};

/* --- life ------------------------------------------------------------------------------------- */

struct voice_sender *voice_sender_create(const struct voice_sender_config *config)
{
    struct voice_sender *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->config = *config;
    s->config.rtp.clock_hz = voice_codec_clock_hz(config->codec);
    slot_clock_init(&s->clock);
    s->rtp = rtp_sender_create(&s->config.rtp);
    s->history = config->has_nack ? rtp_history_create() : NULL;
    if (s->rtp == NULL || (config->has_nack && s->history == NULL)) {
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
    speech_coder_destroy(s->coder);
    rtp_history_destroy(s->history);
    rtp_sender_destroy(s->rtp);
    free(s);
}

/* Without memory the call stays silent. */
static void take_coder(struct voice_sender *s)
{
    const struct speech_coder_config config = {
        .codec = s->config.codec,
        .rate_hz = s->rate_hz,
        .bitrate_bps = s->config.bitrate_bps,
        .effort = s->config.effort,
    };
    s->coder = speech_coder_create(&config);
}

void voice_sender_attach(struct voice_sender *s, struct playout_queue *queue, uint32_t rate_hz)
{
    if (rate_hz != s->rate_hz) {
        speech_coder_destroy(s->coder);
        s->coder = NULL;
    }
    s->queue = queue;
    s->rate_hz = rate_hz;
}

void voice_sender_start(struct voice_sender *s, uint64_t now_us)
{
    const uint32_t registry_slot = s->config.session_id >> 8 & 0x3ffff;
    slot_clock_start(&s->clock, registry_slot, now_us);
    voice_sender_wake(s, now_us);
}

/* --- what a slot sends ------------------------------------------------------------------------ */

/* The slot after speech sends always: the client hears at once that it is over. */
static struct content silent_slot(struct voice_sender *s)
{
    const bool is_sent = !s->config.idle_sparse || s->silent_slots % VOICE_SENDER_SPARSE_SLOTS == 0;
    struct content content = {.duration_us = SLOT_CLOCK_SLOT_US};
    s->silent_slots++;
    if (is_sent) {
        /* Before a backend is attached no rate is known, and any will do. */
        content.payload = voice_silences_find(s->config.silences, s->config.codec,
                                              s->rate_hz == 0 ? 16000 : s->rate_hz);
    }
    return content;
}

/* A packet of the backend goes as it is, and its slot is as long as it. */
static struct content pass_packet(struct voice_sender *s, uint8_t out[VOICE_PACKET_BYTES_MAX],
                                  uint64_t now_us)
{
    struct playout_packet packet;
    if (playout_queue_take_packet(s->queue, &packet, now_us) == PLAYOUT_SLOT_SILENCE) {
        return silent_slot(s);
    }
    s->silent_slots = 0;
    memcpy(out, packet.data, packet.len);
    return (struct content){.payload = bytes_view_of(out, packet.len),
                            .duration_us = packet.duration_us,
                            .is_speech = true};
}

static struct content encode_frame(struct voice_sender *s, uint8_t out[VOICE_PACKET_BYTES_MAX],
                                   uint64_t now_us)
{
    int16_t frame[PLAYOUT_QUEUE_FRAME_SAMPLES_MAX];
    const enum playout_slot slot = playout_queue_take(s->queue, frame, now_us);
    if (slot == PLAYOUT_SLOT_SILENCE || s->coder == NULL) {
        return silent_slot(s);
    }
    s->silent_slots = 0;
    const bool is_first = slot == PLAYOUT_SLOT_FIRST;
    const size_t len = speech_coder_encode(s->coder, frame, is_first, &s->response, out);
    return (struct content){
        .payload = bytes_view_of(out, len), .duration_us = SLOT_CLOCK_SLOT_US, .is_speech = true};
}

static struct content fill_slot(struct voice_sender *s, uint8_t out[VOICE_PACKET_BYTES_MAX],
                                uint64_t now_us)
{
    if (s->queue == NULL) {
        return silent_slot(s);
    }
    return s->rate_hz == 0 ? pass_packet(s, out, now_us) : encode_frame(s, out, now_us);
}

/* --- the packet ------------------------------------------------------------------------------- */

/* With the packet before it as RED, while the client's reports ask for that. */
static size_t write_redundant(const struct voice_sender *s, struct bytes_view payload, uint8_t *out)
{
    return s->response.wants_red && s->config.red_payload_type != 0
               ? red_copy_add(&s->copy, s->config.payload_type, rtp_sender_timestamp(s->rtp),
                              payload, out, PAYLOAD_BYTES_MAX)
               : 0;
}

/* Silence needs no copy: to lose it changes nothing. */
static void keep_copy(struct voice_sender *s, const struct content *content)
{
    if (content->is_speech) {
        red_copy_keep(&s->copy, s->config.payload_type, rtp_sender_timestamp(s->rtp),
                      content->payload);
    } else {
        red_copy_forget(&s->copy);
    }
}

static size_t write_packet(struct voice_sender *s, const struct content *content, uint8_t *out)
{
    uint8_t *body = out + RTP_PACKET_HEADER_BYTES;
    uint8_t payload_type = s->config.red_payload_type;
    size_t len = write_redundant(s, content->payload, body);
    if (len > 0) {
        s->stats.red_packets++;
    } else {
        payload_type = s->config.payload_type;
        len = content->payload.len;
        memcpy(body, content->payload.data, len);
    }
    rtp_sender_write_header(s->rtp, payload_type, len, !content->is_speech, out);
    keep_copy(s, content);
    s->stats.packets++;
    s->stats.speech_packets += content->is_speech;
    return RTP_PACKET_HEADER_BYTES + len;
}

static uint32_t units_of(const struct voice_sender *s, uint64_t duration_us)
{
    return (uint32_t)(duration_us * s->config.rtp.clock_hz / US_PER_S);
}

/* Slots that were left out: the timestamp runs on over them, the speech does not. */
static void skip_slots(struct voice_sender *s, const struct slot *slot)
{
    if (slot->skipped > 0) {
        rtp_sender_next_slot(s->rtp, units_of(s, slot->skipped * SLOT_CLOCK_SLOT_US),
                             slot->grid_us);
        s->stats.skipped_slots += slot->skipped;
    }
}

size_t voice_sender_poll_packet(struct voice_sender *s, uint8_t *out, uint64_t now_us)
{
    struct slot slot;
    while (slot_clock_take(&s->clock, &slot, now_us)) {
        uint8_t encoded[VOICE_PACKET_BYTES_MAX];
        skip_slots(s, &slot);
        const struct content content = fill_slot(s, encoded, now_us);
        rtp_sender_next_slot(s->rtp, units_of(s, content.duration_us), slot.grid_us);
        slot_clock_advance(&s->clock, content.duration_us);
        if (!content.is_speech) {
            slot_clock_settle(&s->clock);
        }
        if (content.payload.len > 0) {
            return write_packet(s, &content, out);
        }
    }
    return 0;
}

void voice_sender_keep(struct voice_sender *s, struct bytes_view packet)
{
    if (s->history != NULL) {
        rtp_history_keep(s->history, packet);
    }
}

/* --- what changes it -------------------------------------------------------------------------- */

void voice_sender_wake(struct voice_sender *s, uint64_t now_us)
{
    if (s->queue == NULL || !playout_queue_may_start(s->queue)) {
        return;
    }
    if (s->coder == NULL && s->rate_hz != 0) {
        take_coder(s);
    }
    slot_clock_hasten(&s->clock, now_us);
}

void voice_sender_cut(struct voice_sender *s)
{
    if (s->coder != NULL) {
        speech_coder_cut(s->coder);
    }
    red_copy_forget(&s->copy);
    if (s->history != NULL) {
        rtp_history_forget(s->history);
    }
}

void voice_sender_follow_report(struct voice_sender *s, uint64_t now_us)
{
    loss_response_note(&s->response, rtp_sender_stats(s->rtp).fraction_lost, now_us);
}

uint64_t voice_sender_next_timeout(const struct voice_sender *s)
{
    return slot_clock_next_timeout(&s->clock);
}

struct rtp_sender *voice_sender_rtp(struct voice_sender *s)
{
    return s->rtp;
}

struct rtp_history *voice_sender_history(struct voice_sender *s)
{
    return s->history;
}

const struct voice_sender_stats *voice_sender_stats(const struct voice_sender *s)
{
    return &s->stats;
}
