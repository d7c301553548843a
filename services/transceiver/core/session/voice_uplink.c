/* voice_uplink.c - see voice_uplink.h */
#include "services/transceiver/core/session/voice_uplink.h"

#include "services/transceiver/core/rtp/red.h"
#include "services/transceiver/core/rtp/rtp_clock.h"
#include "services/transceiver/core/session/audio_in.h"
#include "services/transceiver/core/session/dtmf_in.h"
#include "services/transceiver/core/session/voice_payloads.h"

#include <assert.h>
#include <stdlib.h>

/* Silence of DTX is told this much behind the session clock: a packet that ends it is here by then,
 * on most networks. */
#define SILENCE_LAG_US (60 * US_PER_MS)

/* A frame that took this much longer than the fastest of the last 10 s is part of a late burst. */
#define LATE_BURST_US (60 * US_PER_MS)

/* What a backend missed is decoded in turns: a link that comes back serves a thousand calls. */
#define REPLAY_SLOTS       10
#define REPLAY_INTERVAL_US US_PER_MS

struct voice_uplink {
    uint32_t session_id;
    uint64_t start_us;
    struct outbox *outbox;
    struct voice_payloads payloads;
    bool was_attached; /* a backend has heard this call */
    struct rtp_receiver *receiver;
    struct reorder_buffer *reorder; /* NULL until the first packet, as the next one */
    struct voice_history *history;
    struct audio_in *backend; /* NULL while there is none */
    struct audio_in *before; /* of the one that is away, and may come back; NULL if there is none */
    struct dtmf_in dtmf;
    bool is_new_stream;      /* from the next slot on */
    uint64_t heard_until_us; /* where the latest sound ends: no other begins before */
    uint64_t live_number;    /* what was heard before it is replayed */
    uint64_t replay_us;      /* when the replay goes on, or TIME_NEVER */
    int32_t level_dbov;
    struct voice_uplink_stats stats;
};

const char *voice_uplink_result_name(enum voice_uplink_result result)
{
    static const char *const name[VOICE_UPLINK_RESULT_COUNT] = {
        [VOICE_UPLINK_TAKEN] = "taken",
        [VOICE_UPLINK_OTHER_PAYLOAD] = "other_payload",
        [VOICE_UPLINK_EMPTY] = "empty",
        [VOICE_UPLINK_UNKNOWN_PAYLOAD] = "unknown_payload",
        [VOICE_UPLINK_OTHER_MID] = "other_mid",
        [VOICE_UPLINK_RETIRED_SSRC] = "retired_ssrc",
        [VOICE_UPLINK_JUMP] = "jump",
        [VOICE_UPLINK_MISPLACED] = "misplaced",
        [VOICE_UPLINK_DUPLICATE] = "duplicate",
        [VOICE_UPLINK_LATE] = "late",
        [VOICE_UPLINK_MALFORMED] = "malformed",
        [VOICE_UPLINK_TOO_LARGE] = "too_large",
        [VOICE_UPLINK_RED_TRUNCATED] = "red_truncated",
        [VOICE_UPLINK_RED_LENGTH] = "red_length",
        [VOICE_UPLINK_RED_BLOCKS] = "red_blocks",
        [VOICE_UPLINK_RED_NESTED] = "red_nested",
        [VOICE_UPLINK_REFUSED] = "refused",
        [VOICE_UPLINK_RTP_TRUNCATED] = "rtp_truncated",
        [VOICE_UPLINK_RTP_VERSION] = "rtp_version",
        [VOICE_UPLINK_RTP_PADDING] = "rtp_padding",
        [VOICE_UPLINK_NO_MEMORY] = "no_memory",
    };
    return name[result];
}

/* --- life ------------------------------------------------------------------------------------- */

struct voice_uplink *voice_uplink_create(const struct voice_uplink_config *config)
{
    struct voice_uplink *u = calloc(1, sizeof(*u));
    if (u == NULL) {
        return NULL;
    }
    u->session_id = config->session_id;
    u->start_us = config->start_us;
    u->outbox = config->outbox;
    u->replay_us = TIME_NEVER;
    u->level_dbov = VOICE_PAYLOADS_LEVEL_DBOV_MIN;
    voice_payloads_init(&u->payloads, config->offer);
    const uint32_t clock_hz = voice_codec_clock_hz(u->payloads.codec);
    dtmf_in_init(&u->dtmf, u->session_id, clock_hz, u->start_us, u->outbox);
    u->receiver = rtp_receiver_create(clock_hz, u->payloads.telephone_event_type);
    if (u->receiver == NULL) {
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
    voice_history_destroy(u->history);
    audio_in_destroy(u->backend);
    audio_in_destroy(u->before);
    free(u);
}

/* Who never speaks needs no memory for it. */
static bool make_room(struct voice_uplink *u)
{
    if (u->reorder == NULL) {
        u->reorder = reorder_buffer_create();
    }
    if (u->history == NULL) {
        u->history = voice_history_create();
    }
    return u->reorder != NULL && u->history != NULL &&
           (u->backend == NULL || audio_in_prepare(u->backend));
}

/* --- to the backend --------------------------------------------------------------------------- */

static void send_slot(struct voice_uplink *u, const struct voice_history_slot *slot,
                      uint64_t now_us)
{
    switch (audio_in_put(u->backend, slot, slot->number < u->live_number, now_us)) {
    case AUDIO_IN_SOUND:
        u->stats.frames++;
        u->stats.concealed += slot->kind == REORDER_SLOT_CONCEAL;
        break;
    case AUDIO_IN_UNDECODED:
        u->stats.undecoded++;
        break;
    case AUDIO_IN_SILENCE:
    case AUDIO_IN_GAP:
        break;
    }
}

static void send_slots(struct voice_uplink *u, uint64_t now_us)
{
    if (u->backend == NULL || u->history == NULL) {
        return;
    }
    struct voice_history_slot slot;
    size_t replayed = 0;
    while (replayed < REPLAY_SLOTS && voice_history_read(u->history, &slot)) {
        replayed += slot.number < u->live_number;
        send_slot(u, &slot, now_us);
    }
    u->replay_us = replayed < REPLAY_SLOTS ? TIME_NEVER : now_us + REPLAY_INTERVAL_US;
}

static void forget_before(struct voice_uplink *u)
{
    audio_in_destroy(u->before);
    u->before = NULL;
}

bool voice_uplink_attach(struct voice_uplink *u, struct backend_format in, uint64_t from_us,
                         uint64_t now_us)
{
    voice_uplink_detach(u);
    u->backend = audio_in_create(&(struct audio_in_config){.session_id = u->session_id,
                                                           .codec = u->payloads.codec,
                                                           .format = in,
                                                           .outbox = u->outbox,
                                                           .is_continued = u->was_attached,
                                                           .before = u->before});
    forget_before(u);
    if (u->backend == NULL || (u->history != NULL && !audio_in_prepare(u->backend))) {
        return false;
    }
    dtmf_in_attach(&u->dtmf);
    u->was_attached = true;
    if (u->history != NULL) {
        u->live_number = voice_history_next_number(u->history);
        voice_history_seek(u->history, from_us);
        send_slots(u, now_us);
    }
    return true;
}

void voice_uplink_detach(struct voice_uplink *u)
{
    if (u->backend != NULL) {
        forget_before(u);
        u->before = u->backend;
        u->backend = NULL;
    }
    u->replay_us = TIME_NEVER;
    dtmf_in_detach(&u->dtmf);
}

void voice_uplink_restart(struct voice_uplink *u)
{
    voice_uplink_detach(u);
    forget_before(u);
}

bool voice_uplink_take_onset(struct voice_uplink *u)
{
    return u->backend != NULL && audio_in_take_onset(u->backend);
}

uint64_t voice_uplink_history_from_us(const struct voice_uplink *u)
{
    uint64_t begin_us = 0;
    return u->history != NULL && voice_history_begin_us(u->history, &begin_us) ? begin_us : 0;
}

/* --- slots ------------------------------------------------------------------------------------ */

static uint64_t session_us(const struct voice_uplink *u, uint64_t timestamp)
{
    return time_since(u->start_us, rtp_receiver_capture_us(u->receiver, timestamp));
}

static void keep(struct voice_uplink *u, const struct reorder_slot *slot)
{
    const uint64_t lateness_us =
        rtp_receiver_lateness_us(u->receiver, slot->timestamp, slot->arrived_us);
    const struct voice_history_slot kept = {
        .kind = slot->kind,
        .is_discontinuity = slot->is_discontinuity,
        .is_new_stream = u->is_new_stream,
        .is_late = slot->kind != REORDER_SLOT_SILENCE && lateness_us > LATE_BURST_US,
        .time_us = session_us(u, slot->timestamp),
        .end_us = session_us(u, slot->timestamp + slot->duration),
        .rtp_timestamp = rtp_receiver_wire_timestamp(u->receiver, slot->timestamp),
        .duration = slot->duration,
        .payload = slot->payload,
    };
    voice_history_add(u->history, &kept);
    u->is_new_stream = false;
    if (slot->kind != REORDER_SLOT_SILENCE) {
        u->heard_until_us = rtp_receiver_capture_us(u->receiver, slot->timestamp + slot->duration);
    }
}

/* When the next silence of a sender that said it is silent may be told; else TIME_NEVER. */
static uint64_t silence_due_us(const struct voice_uplink *u)
{
    uint64_t end = 0;
    return reorder_buffer_is_silent(u->reorder, &end)
               ? rtp_receiver_capture_us(u->receiver, end) + SILENCE_LAG_US
               : TIME_NEVER;
}

/* One by one to the backend: a burst may be more than the history holds. */
static void take_slots(struct voice_uplink *u, uint64_t now_us)
{
    struct reorder_slot slot;
    while (reorder_buffer_poll(u->reorder, &slot, now_us)) {
        keep(u, &slot);
        send_slots(u, now_us);
    }
    while (now_us >= silence_due_us(u)) {
        reorder_buffer_take_silence(u->reorder, &slot);
        keep(u, &slot);
        send_slots(u, now_us);
    }
}

/* --- from the client -------------------------------------------------------------------------- */

/* A payload type that was not agreed on may not take over the call. */
static bool is_unknown(const struct voice_uplink *u, const struct rtp_packet *packet)
{
    uint32_t ssrc = 0;
    const bool is_followed = rtp_receiver_ssrc(u->receiver, &ssrc) && ssrc == packet->ssrc;
    return !is_followed && !voice_payloads_is_known(&u->payloads, packet->payload_type);
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
    case REORDER_TOO_LARGE:
        return VOICE_UPLINK_TOO_LARGE;
    case REORDER_MISPLACED:
        return VOICE_UPLINK_MISPLACED;
    default:
        return VOICE_UPLINK_REFUSED;
    }
}

/* A payload that can not be used is not inserted: its place is repaired like that of a lost one. */
static enum voice_uplink_result insert(struct voice_uplink *u, const struct rtp_arrival *arrival,
                                       uint8_t payload_type, struct bytes_view payload,
                                       uint64_t now_us)
{
    const bool is_voice = payload_type == u->payloads.voice_type;
    if (!is_voice || payload.len == 0) {
        const struct reorder_packet no_audio = {.sequence = arrival->sequence,
                                                .timestamp = arrival->timestamp};
        const enum reorder_result result = reorder_buffer_insert(u->reorder, &no_audio, now_us);
        if (result != REORDER_STORED) {
            return result_of(result);
        }
        return is_voice ? VOICE_UPLINK_EMPTY : VOICE_UPLINK_OTHER_PAYLOAD;
    }
    if (payload.len > VOICE_PACKET_BYTES_MAX) {
        return VOICE_UPLINK_TOO_LARGE;
    }
    const struct reorder_packet p =
        voice_payloads_numbered(&u->payloads, arrival->sequence, arrival->timestamp, payload);
    if (p.duration == 0) {
        return VOICE_UPLINK_MALFORMED;
    }
    return result_of(reorder_buffer_insert(u->reorder, &p, now_us));
}

/* RFC 2198 s.3: the newest redundant block is of the packet before, and so on. */
static void insert_copies(struct voice_uplink *u, const struct rtp_arrival *arrival,
                          const struct red_packet *red, uint64_t now_us)
{
    for (size_t age = 1; age < red->block_count; age++) {
        const struct red_block *block = &red->block[red->block_count - 1 - age];
        const uint64_t timestamp =
            arrival->timestamp - (uint64_t)block->timestamp_offset * u->payloads.clock_units;
        const struct reorder_packet p =
            voice_payloads_numbered(&u->payloads, arrival->sequence - age, timestamp, block->data);
        if (block->payload_type == u->payloads.voice_type && p.duration > 0) {
            (void)reorder_buffer_insert_copy(u->reorder, &p, now_us); /* counted there */
        }
    }
}

static enum voice_uplink_result insert_red(struct voice_uplink *u,
                                           const struct rtp_arrival *arrival,
                                           struct bytes_view payload, uint64_t now_us)
{
    static const enum voice_uplink_result refusal[] = {
        [RED_TRUNCATED] = VOICE_UPLINK_RED_TRUNCATED,
        [RED_LENGTH] = VOICE_UPLINK_RED_LENGTH,
        [RED_BLOCKS] = VOICE_UPLINK_RED_BLOCKS,
        [RED_NESTED] = VOICE_UPLINK_RED_NESTED,
    };
    struct red_packet red;
    const enum red_result parsed = red_parse(payload, u->payloads.red_type, &red);
    if (parsed != RED_OK) {
        return refusal[parsed];
    }
    const struct red_block *primary = &red.block[red.block_count - 1];
    const enum voice_uplink_result result =
        insert(u, arrival, primary->payload_type, primary->data, now_us);
    insert_copies(u, arrival, &red, now_us);
    return result;
}

static enum voice_uplink_result input(struct voice_uplink *u, const struct rtp_packet *packet,
                                      uint64_t now_us)
{
    if (voice_payloads_is_of_other_section(&u->payloads, packet)) {
        return VOICE_UPLINK_OTHER_MID;
    }
    if (is_unknown(u, packet)) {
        return VOICE_UPLINK_UNKNOWN_PAYLOAD;
    }
    if (!make_room(u)) {
        return VOICE_UPLINK_NO_MEMORY;
    }
    struct rtp_arrival arrival;
    switch (rtp_receiver_input(u->receiver, packet, &arrival, now_us)) {
    case RTP_RECEIVER_JUMP:
        return VOICE_UPLINK_JUMP;
    case RTP_RECEIVER_MISPLACED:
        return VOICE_UPLINK_MISPLACED;
    case RTP_RECEIVER_RETIRED:
        return VOICE_UPLINK_RETIRED_SSRC;
    case RTP_RECEIVER_NEXT:
        break;
    default: /* a new numbering: nothing of the old one is worth waiting for */
        reorder_buffer_restart(u->reorder);
        dtmf_in_restart(&u->dtmf);
        /* The old one's first packet was slower than this one's: their clocks overlap. */
        rtp_receiver_begin_after(u->receiver, u->heard_until_us);
        u->is_new_stream = true;
        break;
    }
    voice_payloads_read_level(&u->payloads, packet, &u->level_dbov);
    if (packet->payload_type == u->payloads.telephone_event_type) {
        dtmf_in_input(&u->dtmf, packet, now_us);
    } else {
        dtmf_in_note_voice(&u->dtmf, packet, now_us);
    }
    return packet->payload_type == u->payloads.red_type
               ? insert_red(u, &arrival, packet->payload, now_us)
               : insert(u, &arrival, packet->payload_type, packet->payload, now_us);
}

enum voice_uplink_result voice_uplink_input(struct voice_uplink *u, const struct rtp_packet *packet,
                                            uint64_t now_us)
{
    const enum voice_uplink_result result = input(u, packet, now_us);
    u->stats.packets[result]++;
    u->stats.red_packets += packet->payload_type == u->payloads.red_type;
    if (u->reorder != NULL && u->history != NULL) {
        take_slots(u, now_us);
    }
    return result;
}

void voice_uplink_note_refused(struct voice_uplink *u, enum rtp_packet_result why)
{
    static const enum voice_uplink_result result[] = {
        [RTP_PACKET_TRUNCATED] = VOICE_UPLINK_RTP_TRUNCATED,
        [RTP_PACKET_VERSION] = VOICE_UPLINK_RTP_VERSION,
        [RTP_PACKET_PADDING] = VOICE_UPLINK_RTP_PADDING,
    };
    assert(why != RTP_PACKET_OK);
    u->stats.packets[result[why]]++;
}

/* --- time ------------------------------------------------------------------------------------- */

void voice_uplink_tick(struct voice_uplink *u, uint64_t now_us)
{
    dtmf_in_tick(&u->dtmf, now_us);
    if (u->reorder != NULL && u->history != NULL) {
        take_slots(u, now_us);
    }
    if (now_us >= u->replay_us) {
        send_slots(u, now_us);
    }
}

uint64_t voice_uplink_next_timeout(const struct voice_uplink *u)
{
    uint64_t first_us = time_earlier(u->replay_us, dtmf_in_next_timeout(&u->dtmf));
    if (u->reorder != NULL && u->history != NULL) {
        first_us = time_earlier(first_us, reorder_buffer_next_timeout(u->reorder));
        first_us = time_earlier(first_us, silence_due_us(u));
    }
    return first_us;
}

/* --- numbers ---------------------------------------------------------------------------------- */

struct rtp_receiver *voice_uplink_receiver(struct voice_uplink *u)
{
    return u->receiver;
}

const struct voice_uplink_stats *voice_uplink_stats(const struct voice_uplink *u)
{
    return &u->stats;
}

struct voice_uplink_quality voice_uplink_quality(const struct voice_uplink *u)
{
    const struct rtp_receiver_stats network = rtp_receiver_stats(u->receiver);
    struct voice_uplink_quality quality = {
        .expected = network.expected,
        .received = network.received,
        .jitter_us = network.jitter_us,
        .drift_ppm = network.drift_ppm,
        .level_dbov = u->level_dbov,
    };
    if (u->reorder != NULL) {
        const struct reorder_stats *slots = reorder_buffer_stats(u->reorder);
        quality.late = slots->late;
        quality.concealed_us = rtp_clock_to_us(slots->concealed);
        quality.fec_us = rtp_clock_to_us(slots->from_fec);
        quality.red_us = rtp_clock_to_us(slots->copied);
    }
    return quality;
}
