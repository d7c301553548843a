/* reorder_buffer.c - see reorder_buffer.h */
#include "services/transceiver/core/media/reorder_buffer.h"

#include <assert.h>
#include <stdlib.h>

/* Opus frames are multiples of 2.5 ms. */
#define DURATION_UNIT    120
#define DURATION_DEFAULT 960

struct held {
    bool is_used;
    bool is_copy;
    uint64_t arrived_us;
    struct reorder_packet packet; /* its payload are the bytes */
    uint8_t bytes[VOICE_PACKET_BYTES_MAX];
};

struct reorder_buffer {
    bool is_started;
    bool is_discontinuity; /* of the next slot */
    bool is_silent;        /* the sender said so, by DTX */
    bool is_stall_told;
    uint64_t next_sequence;
    uint64_t next_timestamp;
    uint64_t heard_until; /* next_timestamp, less the silence that was taken ahead of the packets */
    uint64_t highest_sequence;
    uint64_t last_insert_us;
    uint32_t last_duration;
    uint32_t concealed_in_row;
    struct reorder_window window;
    size_t held_count;
    struct held held[REORDER_BUFFER_HELD_MAX];
    struct reorder_stats stats;
};

struct reorder_buffer *reorder_buffer_create(void)
{
    struct reorder_buffer *b = calloc(1, sizeof(*b));
    if (b != NULL) {
        reorder_window_init(&b->window);
    }
    return b;
}

void reorder_buffer_destroy(struct reorder_buffer *b)
{
    free(b);
}

void reorder_buffer_restart(struct reorder_buffer *b)
{
    b->is_discontinuity = b->is_discontinuity || b->is_started;
    b->is_started = false;
    b->is_silent = false;
    for (size_t i = 0; i < REORDER_BUFFER_HELD_MAX; i++) {
        b->held[i].is_used = false;
    }
    b->held_count = 0;
    reorder_window_forget_numbers(&b->window);
}

/* --- what is held ----------------------------------------------------------------------------- */

static struct held *find(struct reorder_buffer *b, uint64_t sequence)
{
    for (size_t i = 0; i < REORDER_BUFFER_HELD_MAX; i++) {
        if (b->held[i].is_used && b->held[i].packet.sequence == sequence) {
            return &b->held[i];
        }
    }
    return NULL;
}

/* The held packet that is next in order; NULL when none is held. */
static const struct held *first_held(const struct reorder_buffer *b)
{
    const struct held *first = NULL;
    for (size_t i = 0; i < REORDER_BUFFER_HELD_MAX; i++) {
        const struct held *h = &b->held[i];
        if (h->is_used && (first == NULL || h->packet.sequence < first->packet.sequence)) {
            first = h;
        }
    }
    return first;
}

static size_t packets_held(const struct reorder_buffer *b)
{
    size_t count = 0;
    for (size_t i = 0; i < REORDER_BUFFER_HELD_MAX; i++) {
        count += b->held[i].is_used && !b->held[i].is_copy;
    }
    return count;
}

/* Arrival of the first packet that showed the gap: all that is held lies behind it. */
static uint64_t gap_since_us(const struct reorder_buffer *b)
{
    uint64_t since_us = TIME_NEVER;
    for (size_t i = 0; i < REORDER_BUFFER_HELD_MAX; i++) {
        if (b->held[i].is_used) {
            since_us = time_earlier(since_us, b->held[i].arrived_us);
        }
    }
    return since_us;
}

static void release(struct reorder_buffer *b, struct held *h)
{
    h->is_used = false;
    b->held_count--;
}

static void fill(struct held *h, const struct reorder_packet *p, bool is_copy, uint64_t now_us)
{
    h->is_used = true;
    h->is_copy = is_copy;
    h->arrived_us = now_us;
    h->packet = *p;
    h->packet.payload.data = h->bytes;
    if (p->payload.len > 0) {
        memcpy(h->bytes, p->payload.data, p->payload.len);
    }
}

static void store(struct reorder_buffer *b, const struct reorder_packet *p, bool is_copy,
                  uint64_t now_us)
{
    struct held *h = b->held;
    while (h->is_used) {
        h++;
    }
    fill(h, p, is_copy, now_us);
    b->held_count++;
}

/* --- insert ----------------------------------------------------------------------------------- */

static void begin(struct reorder_buffer *b, const struct reorder_packet *p)
{
    b->is_started = true;
    b->next_sequence = p->sequence;
    b->next_timestamp = p->timestamp;
    b->heard_until = p->timestamp;
    b->highest_sequence = p->sequence;
    b->last_duration = DURATION_DEFAULT;
    b->concealed_in_row = 0;
}

static enum reorder_result refuse_passed(struct reorder_buffer *b, uint64_t sequence,
                                         uint64_t now_us)
{
    if (!reorder_window_note_passed(&b->window, sequence, now_us)) {
        b->stats.duplicates++;
        return REORDER_DUPLICATE;
    }
    b->stats.late++;
    return REORDER_LATE;
}

/* The packet's place in time as the network saw it: the newest, or one that was overtaken. */
static void note_order(struct reorder_buffer *b, uint64_t sequence, uint64_t now_us)
{
    if (sequence < b->highest_sequence) {
        b->stats.reordered++;
        reorder_window_note_reordered(&b->window, gap_since_us(b), now_us);
    } else {
        b->highest_sequence = sequence;
    }
    reorder_window_decay(&b->window);
    b->last_insert_us = now_us;
    b->is_stall_told = false;
}

/* A number that lies is caught by the timestamp: it stands behind all that comes before it. What
 * has no audio may look back (RFC 4733). */
static bool is_in_place(const struct reorder_buffer *b, const struct reorder_packet *p)
{
    bool is_good = p->timestamp >= b->heard_until;
    for (size_t i = 0; i < REORDER_BUFFER_HELD_MAX; i++) {
        const struct reorder_packet *other = &b->held[i].packet;
        const struct reorder_packet *first = other->sequence < p->sequence ? other : p;
        const struct reorder_packet *second = first == p ? other : p;
        const bool is_neighbour =
            b->held[i].is_used && other->duration > 0 && other->sequence != p->sequence;
        is_good =
            is_good && (!is_neighbour || first->timestamp + first->duration <= second->timestamp);
    }
    return is_good;
}

enum reorder_result reorder_buffer_insert(struct reorder_buffer *b, const struct reorder_packet *p,
                                          uint64_t now_us)
{
    assert(p->sequence >= REORDER_BUFFER_SPAN);
    if (p->payload.len > VOICE_PACKET_BYTES_MAX) {
        b->stats.refused++;
        return REORDER_TOO_LARGE;
    }
    if (!b->is_started) {
        begin(b, p);
    }
    if (p->sequence < b->next_sequence) {
        return refuse_passed(b, p->sequence, now_us);
    }
    struct held *h = find(b, p->sequence);
    if (h != NULL && !h->is_copy) {
        b->stats.duplicates++;
        return REORDER_DUPLICATE;
    }
    if (h == NULL && b->held_count == REORDER_BUFFER_HELD_MAX) {
        b->stats.refused++;
        return REORDER_FULL;
    }
    if (p->sequence < b->highest_sequence && p->duration > 0 && !is_in_place(b, p)) {
        b->stats.misplaced++;
        return REORDER_MISPLACED;
    }
    note_order(b, p->sequence, now_us);
    if (h != NULL) {
        fill(h, p, false, now_us);
    } else {
        store(b, p, false, now_us);
    }
    return REORDER_STORED;
}

enum reorder_result reorder_buffer_insert_copy(struct reorder_buffer *b,
                                               const struct reorder_packet *p, uint64_t now_us)
{
    if (!b->is_started || p->sequence < b->next_sequence || find(b, p->sequence) != NULL) {
        return REORDER_DUPLICATE; /* the rule, not worth a counter */
    }
    if (!is_in_place(b, p)) {
        b->stats.misplaced++;
        return REORDER_MISPLACED;
    }
    if (p->payload.len > VOICE_PACKET_BYTES_MAX || b->held_count == REORDER_BUFFER_HELD_MAX) {
        b->stats.refused++;
        return b->held_count == REORDER_BUFFER_HELD_MAX ? REORDER_FULL : REORDER_TOO_LARGE;
    }
    store(b, p, true, now_us);
    return REORDER_STORED;
}

/* --- slots ------------------------------------------------------------------------------------ */

/* Fills *out and moves the timeline on by `duration`. */
static void give(struct reorder_buffer *b, enum reorder_slot_kind kind, const struct held *h,
                 uint32_t duration, struct reorder_slot *out)
{
    const bool has_payload =
        kind == REORDER_SLOT_PACKET || kind == REORDER_SLOT_COPY || kind == REORDER_SLOT_FEC;
    *out = (struct reorder_slot){
        .kind = kind,
        .is_discontinuity = b->is_discontinuity,
        .timestamp = b->next_timestamp,
        .duration = duration,
        .arrived_us = h->arrived_us,
        .payload = has_payload ? h->packet.payload : (struct bytes_view){0},
    };
    b->is_discontinuity = false;
    b->next_timestamp += duration;
    b->heard_until = b->next_timestamp;
    b->concealed_in_row = kind == REORDER_SLOT_CONCEAL ? b->concealed_in_row + duration : 0;
    b->is_silent = b->is_silent && kind == REORDER_SLOT_SILENCE;
}

/* What of the timeline lies between the slot before and `until`: the sender's silence. */
static bool give_silence(struct reorder_buffer *b, const struct held *h, uint64_t until,
                         struct reorder_slot *out)
{
    const uint64_t silence = until > b->next_timestamp ? until - b->next_timestamp : 0;
    const bool is_jump = until < b->heard_until || silence > REORDER_BUFFER_SILENCE_MAX;
    if (is_jump || silence < DURATION_UNIT) {
        b->is_discontinuity = b->is_discontinuity || is_jump;
        b->next_timestamp = until; /* may lie within silence that was taken: the audio wins */
        return false;
    }
    const uint64_t whole = silence - silence % DURATION_UNIT;
    const uint64_t slot =
        whole < REORDER_BUFFER_SILENCE_SLOT_MAX ? whole : REORDER_BUFFER_SILENCE_SLOT_MAX;
    give(b, REORDER_SLOT_SILENCE, h, (uint32_t)slot, out);
    return true;
}

/* h is next. False when it has no audio: then it only fills its number. */
static bool give_held(struct reorder_buffer *b, struct held *h, struct reorder_slot *out)
{
    const struct reorder_packet *p = &h->packet;
    if (p->duration > 0 && give_silence(b, h, p->timestamp, out)) {
        return true; /* h itself comes with a later poll */
    }
    b->next_sequence++;
    release(b, h);
    if (h->is_copy) {
        b->stats.copies++;
        b->stats.copied += p->duration;
    } else {
        b->stats.delivered++;
    }
    if (p->duration == 0) {
        return false;
    }
    const enum reorder_slot_kind sound = h->is_copy ? REORDER_SLOT_COPY : REORDER_SLOT_PACKET;
    give(b, p->is_dtx ? REORDER_SLOT_SILENCE : sound, h, p->duration, out);
    b->is_silent = p->is_dtx;
    b->last_duration = p->duration;
    return true;
}

/* --- repair ----------------------------------------------------------------------------------- */

/* Of the time up to `newer`, what one missing packet takes. */
static uint32_t missing_duration(const struct reorder_buffer *b, const struct held *newer)
{
    const uint64_t end = newer->packet.timestamp;
    if (end <= b->heard_until) {
        return 0;
    }
    const uint64_t packets = newer->packet.sequence - b->next_sequence;
    const uint64_t share = (end - b->heard_until) / packets;
    const uint64_t duration = share < b->last_duration ? share : b->last_duration;
    return (uint32_t)(duration - duration % DURATION_UNIT);
}

/* The next number is lost. False when nothing stands for it: its time is jumped over, or it is
 * told as silence when the packet behind it comes. */
static bool repair(struct reorder_buffer *b, const struct held *newer, struct reorder_slot *out)
{
    const uint32_t duration = missing_duration(b, newer);
    const uint64_t packets = newer->packet.sequence - b->next_sequence;
    const bool has_fec = packets == 1 && newer->packet.has_fec && duration > 0;
    /* The frame that FEC holds ends where the packet begins, whatever silence lies before it. */
    if (has_fec && give_silence(b, newer, newer->packet.timestamp - duration, out)) {
        return true;
    }
    reorder_window_give_up(&b->window, b->next_sequence, gap_since_us(b));
    b->stats.missing++;
    b->next_sequence++;
    if (has_fec) {
        give(b, REORDER_SLOT_FEC, newer, duration, out);
        b->stats.from_fec += duration;
        return true;
    }
    if (duration == 0 || b->is_silent) {
        return false;
    }
    if (b->concealed_in_row >= REORDER_BUFFER_CONCEAL_MAX) {
        b->is_discontinuity = true;
        b->next_timestamp += duration;
        b->heard_until = b->next_timestamp;
        return false;
    }
    give(b, REORDER_SLOT_CONCEAL, newer, duration, out);
    b->stats.concealed += duration;
    return true;
}

/* A hole that is too wide to be walked through number by number: go on behind it. */
static void skip_to(struct reorder_buffer *b, const struct held *newer)
{
    b->stats.missing += newer->packet.sequence - b->next_sequence;
    b->is_discontinuity = true;
    b->is_silent = false;
    b->next_sequence = newer->packet.sequence;
    b->next_timestamp = newer->packet.timestamp;
    b->heard_until = b->next_timestamp;
}

static bool is_wait_over(const struct reorder_buffer *b, uint64_t now_us)
{
    return packets_held(b) >= reorder_window_newer_needed(&b->window, now_us) ||
           now_us >= reorder_buffer_next_timeout(b);
}

/* --- time ------------------------------------------------------------------------------------- */

static bool is_stall_untold(const struct reorder_buffer *b)
{
    return b->is_started && !b->is_silent && !b->is_stall_told && b->held_count == 0;
}

static bool tell_stall(struct reorder_buffer *b, struct reorder_slot *out, uint64_t now_us)
{
    if (!is_stall_untold(b) || now_us < reorder_buffer_next_timeout(b)) {
        return false;
    }
    b->is_stall_told = true;
    *out = (struct reorder_slot){
        .kind = REORDER_SLOT_SILENCE,
        .is_discontinuity = true,
        .timestamp = b->next_timestamp,
        .duration = DURATION_DEFAULT,
        .arrived_us = now_us,
    };
    return true;
}

bool reorder_buffer_poll(struct reorder_buffer *b, struct reorder_slot *out, uint64_t now_us)
{
    /* Each turn gives a slot, passes a number, or passes a hole: HELD_MAX * SPAN turns at most. */
    while (b->held_count > 0) {
        struct held *next = find(b, b->next_sequence);
        if (next != NULL) {
            if (give_held(b, next, out)) {
                return true;
            }
            continue;
        }
        if (!is_wait_over(b, now_us)) {
            return false;
        }
        const struct held *newer = first_held(b);
        if (newer->packet.sequence - b->next_sequence >= REORDER_BUFFER_SPAN) {
            skip_to(b, newer);
        } else if (repair(b, newer, out)) {
            return true;
        }
    }
    return tell_stall(b, out, now_us);
}

uint64_t reorder_buffer_next_timeout(const struct reorder_buffer *b)
{
    if (b->held_count > 0) {
        return gap_since_us(b) + b->window.window_us;
    }
    return is_stall_untold(b) ? b->last_insert_us + REORDER_BUFFER_STALL_US : TIME_NEVER;
}

bool reorder_buffer_is_silent(const struct reorder_buffer *b, uint64_t *out_end)
{
    *out_end = b->next_timestamp + REORDER_BUFFER_SILENCE_SLOT_MAX;
    return b->is_silent && b->held_count == 0;
}

void reorder_buffer_take_silence(struct reorder_buffer *b, struct reorder_slot *out)
{
    assert(b->is_silent);
    *out = (struct reorder_slot){
        .kind = REORDER_SLOT_SILENCE,
        .timestamp = b->next_timestamp,
        .duration = REORDER_BUFFER_SILENCE_SLOT_MAX,
    };
    b->next_timestamp += REORDER_BUFFER_SILENCE_SLOT_MAX;
}

const struct reorder_stats *reorder_buffer_stats(const struct reorder_buffer *b)
{
    return &b->stats;
}
