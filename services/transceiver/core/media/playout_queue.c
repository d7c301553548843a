/* playout_queue.c - see playout_queue.h */
#include "services/transceiver/core/media/playout_queue.h"

#include "services/transceiver/core/media/packet_ring.h"
#include "services/transceiver/core/media/sample_ring.h"
#include "services/transceiver/core/media/voice_packet.h"

#include <assert.h>
#include <stdlib.h>

#define TICKS_PER_S      48000
#define FRAMES_PER_S     50
#define PACKET_TICKS_MAX 2880 /* 60 ms */
#define MS_PER_S         1000

_Static_assert(PLAYOUT_QUEUE_PACKET_BYTES_MAX == PACKET_RING_PACKET_BYTES_MAX, "one packet");
_Static_assert(PLAYOUT_QUEUE_PACKET_BYTES_MAX == VOICE_PACKET_BYTES_MAX, "one packet");

/* What the last slot was made of. */
enum last_slot { LAST_SILENCE, LAST_TAIL, LAST_SPEECH };

struct playout_queue {
    struct utterance_table *utterances;
    bool has_packets;            /* not samples */
    struct sample_ring *samples; /* both NULL at rest, else one of them */
    struct packet_ring *packets;
    uint64_t rest_us;          /* when the ring goes back, if nothing comes */
    bool has_stored;           /* since the last slot */
    uint64_t ticks_per_sample; /* 1 with packets */
    size_t frame_samples;
    size_t fade_samples;

    uint64_t window_ticks;
    uint64_t received_ticks;
    uint64_t announced_ticks; /* the limit that the backend knows */

    enum last_slot last_slot;
    int16_t last_sample; /* of speech */
    size_t fade_left;    /* samples from last_sample to zero */
    bool is_cut;         /* the fade comes before anything else */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- life ------------------------------------------------------------------------------------- */

static void set_rate(struct playout_queue *q, uint32_t rate_hz)
{
    q->has_packets = rate_hz == 0;
    q->ticks_per_sample = 1;
    if (!q->has_packets) {
        assert(TICKS_PER_S % rate_hz == 0);
        q->ticks_per_sample = TICKS_PER_S / rate_hz;
        q->frame_samples = rate_hz / FRAMES_PER_S;
        q->fade_samples = rate_hz * PLAYOUT_QUEUE_FADE_MS / MS_PER_S;
        q->window_ticks -= q->window_ticks % q->ticks_per_sample;
    }
}

struct playout_queue *playout_queue_create(const struct playout_queue_config *config)
{
    struct playout_queue *q = calloc(1, sizeof(*q));
    if (q == NULL) {
        return NULL;
    }
    q->window_ticks = utterance_ticks_of_us(config->window_us, 1);
    assert(q->window_ticks >= PACKET_TICKS_MAX);
    set_rate(q, config->rate_hz);
    q->utterances = utterance_table_create();
    if (q->utterances == NULL) {
        playout_queue_destroy(q);
        return NULL;
    }
    q->announced_ticks = q->window_ticks;
    return q;
}

static void destroy_ring(struct playout_queue *q)
{
    sample_ring_destroy(q->samples);
    packet_ring_destroy(q->packets);
    q->samples = NULL;
    q->packets = NULL;
}

void playout_queue_destroy(struct playout_queue *q)
{
    if (q == NULL) {
        return;
    }
    destroy_ring(q);
    utterance_table_destroy(q->utterances);
    free(q);
}

void playout_queue_attach(struct playout_queue *q, uint64_t prebuffer_us, uint64_t progress_us,
                          uint64_t now_us)
{
    /* Packets may not add up to the window: then the next one passes it. */
    const uint64_t reachable = q->window_ticks - (q->has_packets ? PACKET_TICKS_MAX - 1 : 0);
    const struct utterance_pace pace = {
        .prebuffer_ticks = lesser(utterance_ticks_of_us(prebuffer_us, 1), reachable),
        .progress_ticks = utterance_ticks_of_us(progress_us, 1),
    };
    utterance_table_attach(q->utterances, &pace, now_us);
}

void playout_queue_detach(struct playout_queue *q)
{
    utterance_table_detach(q->utterances);
}

/* --- the ring follows the table --------------------------------------------------------------- */

/* What lies in the ring and belongs to utterances that ended is the oldest there. */
static void drop_dead(struct playout_queue *q)
{
    const uint64_t living = utterance_table_queued(q->utterances);
    if (q->samples != NULL) {
        sample_ring_drop(q->samples,
                         sample_ring_count(q->samples) - (size_t)(living / q->ticks_per_sample));
        return;
    }
    while (q->packets != NULL && packet_ring_ticks(q->packets) > living) {
        uint32_t ticks = 0;
        (void)packet_ring_take(q->packets, NULL, &ticks);
    }
}

/* --- in --------------------------------------------------------------------------------------- */

/* The media time of a piece; false when it is none that can be played. */
static bool measure(const struct playout_queue *q, struct bytes_view media, uint64_t *ticks)
{
    if (!q->has_packets) {
        *ticks = media.len / 2 * q->ticks_per_sample;
        return media.len % 2 == 0;
    }
    *ticks = media.len > 0 ? voice_packet_duration(VOICE_CODEC_OPUS, media) : 0;
    return media.len == 0 || *ticks == 480 || *ticks == 960 || *ticks == 1920 ||
           *ticks == PACKET_TICKS_MAX;
}

/* How much of a piece of so many ticks was received before; false when something is missing before
 * it. */
static bool find_overlap(const struct playout_queue *q, const struct playout_piece *piece,
                         uint64_t ticks, uint64_t *overlap)
{
    *overlap = 0;
    const struct utterance_position newest = utterance_table_position(q->utterances);
    if (piece->offset_us == 0) {
        return true;
    }
    const uint64_t received = piece->utterance == newest.utterance ? newest.received_ticks : 0;
    const uint64_t offset = utterance_ticks_of_us(piece->offset_us, q->ticks_per_sample);
    if (offset > received) {
        return false;
    }
    *overlap = lesser(ticks, received - offset);
    if (q->has_packets && *overlap > 0) {
        *overlap = ticks; /* a packet is not cut */
    }
    return true;
}

/* Of `fresh` ticks, those within the credit; they count. */
static uint64_t count_received(struct playout_queue *q, uint64_t fresh)
{
    const uint64_t room = q->window_ticks - utterance_table_queued(q->utterances);
    uint64_t accepted = lesser(fresh, room);
    if (q->has_packets && accepted < fresh) {
        accepted = 0;
    }
    q->received_ticks += accepted;
    return accepted;
}

/* False without memory. */
static bool create_ring(struct playout_queue *q)
{
    if (q->has_packets && q->packets == NULL) {
        q->packets = packet_ring_create((size_t)(utterance_us_of_ticks(q->window_ticks) *
                                                 PLAYOUT_QUEUE_BYTES_PER_S / US_PER_S));
    } else if (!q->has_packets && q->samples == NULL) {
        q->samples = sample_ring_create((size_t)(q->window_ticks / q->ticks_per_sample));
    }
    q->has_stored = true;
    return q->has_packets ? q->packets != NULL : q->samples != NULL;
}

/* To the ring; false when it has no room. */
static bool store(struct playout_queue *q, struct bytes_view media, uint64_t overlap,
                  uint64_t accepted)
{
    if (accepted == 0) {
        return true;
    }
    if (!create_ring(q)) {
        return false;
    }
    if (q->has_packets) {
        return packet_ring_append(q->packets, media, (uint32_t)accepted);
    }
    const size_t skipped_bytes = (size_t)(overlap / q->ticks_per_sample) * 2;
    const size_t len = (size_t)(accepted / q->ticks_per_sample) * 2;
    sample_ring_append(q->samples, bytes_view_of(media.data + skipped_bytes, len));
    return true;
}

enum playout_put_result playout_queue_put(struct playout_queue *q,
                                          const struct playout_piece *piece)
{
    uint64_t ticks = 0;
    uint64_t overlap = 0;
    if (!measure(q, piece->media, &ticks)) {
        return PLAYOUT_PUT_BAD;
    }
    const bool is_joined = find_overlap(q, piece, ticks, &overlap);
    const uint64_t fresh = ticks - overlap;
    const uint64_t accepted = count_received(q, fresh);
    if (utterance_table_is_stale(q->utterances, piece->utterance)) {
        return accepted < fresh ? PLAYOUT_PUT_CREDIT : PLAYOUT_PUT_STALE;
    }
    if (!is_joined) {
        return PLAYOUT_PUT_GAP;
    }
    if (utterance_table_admit(q->utterances, piece->utterance) == UTTERANCE_NO_ROOM) {
        return PLAYOUT_PUT_FULL;
    }
    const bool is_stored = store(q, piece->media, overlap, accepted);
    utterance_table_add(q->utterances, is_stored ? accepted : 0, piece->is_last);
    if (!is_stored) {
        return PLAYOUT_PUT_FULL;
    }
    return accepted < fresh ? PLAYOUT_PUT_CREDIT : PLAYOUT_PUT_OK;
}

void playout_queue_drain(struct playout_queue *q)
{
    utterance_table_drain(q->utterances);
}

/* --- out -------------------------------------------------------------------------------------- */

/* Fills `out` with speech as far as there is any; utterances that touch share a frame. */
static size_t speak(struct playout_queue *q, int16_t *out, size_t room, uint64_t now_us)
{
    size_t spoken = 0;
    while (spoken < room) {
        const uint64_t ticks = utterance_table_turn(q->utterances, now_us);
        drop_dead(q);
        if (ticks == 0) {
            break;
        }
        const size_t count = smaller((size_t)(ticks / q->ticks_per_sample), room - spoken);
        sample_ring_take(q->samples, out + spoken, count);
        utterance_table_spoke(q->utterances, count * q->ticks_per_sample, now_us);
        spoken += count;
    }
    if (spoken > 0) {
        q->last_sample = out[spoken - 1];
        q->fade_left = q->fade_samples;
    }
    return spoken;
}

/* From the last sample of speech to zero in a straight line, as far as there is room. */
static size_t fade(struct playout_queue *q, int16_t *out, size_t room)
{
    const size_t count = smaller(q->fade_left, room);
    for (size_t i = 0; i < count; i++) {
        q->fade_left--;
        out[i] = (int16_t)(q->last_sample * (int32_t)q->fade_left / (int32_t)q->fade_samples);
    }
    return count;
}

/* The kind of a slot with so much speech; `tail`: what follows speech that is out. */
static enum playout_slot note_slot(struct playout_queue *q, bool is_speech, enum last_slot tail)
{
    const bool is_first = q->last_slot == LAST_SILENCE;
    q->last_slot = is_speech ? LAST_SPEECH : q->last_slot == LAST_SPEECH ? tail : LAST_SILENCE;
    switch (q->last_slot) {
    case LAST_SPEECH:
        return is_first ? PLAYOUT_SLOT_FIRST : PLAYOUT_SLOT_SPEECH;
    case LAST_TAIL:
        return PLAYOUT_SLOT_TAIL;
    default:
        return PLAYOUT_SLOT_SILENCE;
    }
}

/* What speech needs goes back when none has waited for long. */
static void rest(struct playout_queue *q, uint64_t now_us)
{
    if (q->has_stored || utterance_table_queued(q->utterances) > 0) {
        q->has_stored = false;
        q->rest_us = now_us + PLAYOUT_QUEUE_REST_US;
    } else if (now_us >= q->rest_us) {
        destroy_ring(q);
        utterance_table_rest(q->utterances, now_us);
    }
}

enum playout_slot playout_queue_take(struct playout_queue *q, int16_t *frame, uint64_t now_us)
{
    size_t filled = q->is_cut ? fade(q, frame, q->frame_samples) : 0;
    q->is_cut = false;
    const size_t spoken = speak(q, frame + filled, q->frame_samples - filled, now_us);
    const enum playout_slot slot = note_slot(q, spoken > 0, LAST_TAIL);
    if (slot != PLAYOUT_SLOT_SILENCE) {
        filled += spoken;
        filled += fade(q, frame + filled, q->frame_samples - filled);
        memset(frame + filled, 0, (q->frame_samples - filled) * sizeof(*frame));
    }
    rest(q, now_us);
    return slot;
}

enum playout_slot playout_queue_take_packet(struct playout_queue *q, struct playout_packet *out,
                                            uint64_t now_us)
{
    const bool is_speech = utterance_table_turn(q->utterances, now_us) > 0;
    drop_dead(q);
    if (is_speech) {
        uint32_t ticks = 0;
        out->len = packet_ring_take(q->packets, out->data, &ticks);
        out->duration_us = utterance_us_of_ticks(ticks);
        utterance_table_spoke(q->utterances, ticks, now_us);
    }
    rest(q, now_us);
    return note_slot(q, is_speech, LAST_SILENCE);
}

bool playout_queue_may_start(const struct playout_queue *q)
{
    return q->last_slot == LAST_SILENCE && utterance_table_may_start(q->utterances);
}

/* --- hold, flush, end ------------------------------------------------------------------------- */

bool playout_queue_pause(struct playout_queue *q, uint32_t utterance)
{
    return utterance_table_pause(q->utterances, utterance);
}

void playout_queue_pause_speaker(struct playout_queue *q)
{
    utterance_table_pause_speaker(q->utterances);
}

void playout_queue_resume(struct playout_queue *q, uint32_t utterance)
{
    utterance_table_resume(q->utterances, utterance);
}

struct playout_flushed playout_queue_flush(struct playout_queue *q, uint32_t utterance,
                                           uint64_t now_us)
{
    const struct utterance_flushed flushed =
        utterance_table_flush(q->utterances, utterance, now_us);
    drop_dead(q);
    q->is_cut = q->is_cut || flushed.was_sounding;
    return (struct playout_flushed){
        .flush = flushed.flush,
        .utterance = flushed.utterance,
        .sent_us = utterance_us_of_ticks(flushed.sent_ticks),
        .dropped_us = utterance_us_of_ticks(flushed.dropped_ticks),
        .is_cut = flushed.was_spoken,
    };
}

void playout_queue_end(struct playout_queue *q, enum utterance_reason reason, uint64_t now_us)
{
    utterance_table_end(q->utterances, reason, now_us);
    drop_dead(q);
    q->is_cut = true;
    q->received_ticks = 0;
    q->announced_ticks = q->window_ticks;
}

/* --- telling ---------------------------------------------------------------------------------- */

bool playout_queue_poll_event(struct playout_queue *q, struct utterance_event *out)
{
    return utterance_table_poll_event(q->utterances, out);
}

static uint64_t limit_ticks(const struct playout_queue *q)
{
    return q->received_ticks - utterance_table_queued(q->utterances) + q->window_ticks;
}

bool playout_queue_poll_credit(struct playout_queue *q, uint64_t *limit_us)
{
    const uint64_t limit = limit_ticks(q);
    if (limit - q->announced_ticks < (q->window_ticks + 3) / 4) {
        return false;
    }
    q->announced_ticks = limit;
    *limit_us = utterance_us_of_ticks(limit);
    return true;
}

uint64_t playout_queue_heard_us(uint64_t sent_us, uint64_t rtt_us)
{
    return time_since(rtt_us / 2 + PLAYOUT_QUEUE_CLIENT_BUFFER_US, sent_us);
}

struct playout_position playout_queue_position(const struct playout_queue *q)
{
    const struct utterance_position newest = utterance_table_position(q->utterances);
    return (struct playout_position){
        .utterance = newest.utterance,
        .received_us = utterance_us_of_ticks(newest.received_ticks),
        .sent_us = utterance_us_of_ticks(newest.sent_ticks),
        .received_total_us = utterance_us_of_ticks(q->received_ticks),
        .queued_us = utterance_us_of_ticks(utterance_table_queued(q->utterances)),
        .limit_us = utterance_us_of_ticks(limit_ticks(q)),
    };
}

uint64_t playout_queue_underruns(const struct playout_queue *q)
{
    return utterance_table_underruns(q->utterances);
}
