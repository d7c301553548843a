/* reorder_buffer.c - see reorder_buffer.h */
#include "services/transceiver/core/media/reorder_buffer.h"

#include <assert.h>
#include <stdlib.h>

/* Opus frames are multiples of 2.5 ms. */
#define DURATION_UNIT    120
#define DURATION_DEFAULT 960

/* The window shrinks by 1/2,000 with every packet: by half in some 28 s. */
#define WINDOW_DECAY 2000

struct held {
    bool is_used;
    uint64_t sequence;
    uint64_t timestamp;
    uint32_t duration;
    uint64_t arrived_us;
    size_t payload_bytes;
    uint8_t payload[VOICE_PACKET_BYTES_MAX];
};

/* A number that was given up, and since when it was waited for. */
struct given_up {
    uint64_t sequence; /* 0 = none */
    uint64_t gap_since_us;
};

struct reorder_buffer {
    bool is_started;
    bool is_discontinuity; /* of the next slot */
    uint64_t next_sequence;
    uint64_t next_timestamp;
    uint64_t highest_sequence;
    uint32_t last_duration;
    uint32_t concealed_in_row;
    uint64_t window_us;
    uint64_t reordered_until_us; /* K is 2 until then */
    size_t held_count;
    struct held held[REORDER_BUFFER_HELD_MAX];
    struct given_up given_up[REORDER_BUFFER_SPAN]; /* by sequence % SPAN */
    struct reorder_stats stats;
};

struct reorder_buffer *reorder_buffer_create(void)
{
    struct reorder_buffer *b = calloc(1, sizeof(*b));
    if (b != NULL) {
        b->window_us = REORDER_BUFFER_WINDOW_US_MIN;
    }
    return b;
}

void reorder_buffer_destroy(struct reorder_buffer *b)
{
    free(b);
}

static void release_all(struct reorder_buffer *b)
{
    for (size_t i = 0; i < REORDER_BUFFER_HELD_MAX; i++) {
        b->held[i].is_used = false;
    }
    b->held_count = 0;
}

void reorder_buffer_restart(struct reorder_buffer *b)
{
    b->is_discontinuity = b->is_discontinuity || b->is_started;
    b->is_started = false;
    release_all(b);
    memset(b->given_up, 0, sizeof(b->given_up));
}

static struct held *find(struct reorder_buffer *b, uint64_t sequence)
{
    for (size_t i = 0; i < REORDER_BUFFER_HELD_MAX; i++) {
        if (b->held[i].is_used && b->held[i].sequence == sequence) {
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
        if (h->is_used && (first == NULL || h->sequence < first->sequence)) {
            first = h;
        }
    }
    return first;
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

/* A packet came behind a newer one, `wait_us` after that: the network reorders. */
static void expect_reordering(struct reorder_buffer *b, uint64_t wait_us, uint64_t now_us)
{
    const uint64_t wanted_us = time_earlier(wait_us * 5 / 4, REORDER_BUFFER_WINDOW_US_MAX);
    b->window_us = time_later(b->window_us, wanted_us);
    b->reordered_until_us = now_us + REORDER_BUFFER_MEMORY_US;
}

static enum reorder_result refuse_passed(struct reorder_buffer *b, uint64_t sequence,
                                         uint64_t now_us)
{
    struct given_up *g = &b->given_up[sequence % REORDER_BUFFER_SPAN];
    if (g->sequence != sequence) {
        b->stats.duplicates++;
        return REORDER_DUPLICATE;
    }
    g->sequence = 0;
    b->stats.late++;
    expect_reordering(b, time_since(g->gap_since_us, now_us), now_us);
    return REORDER_LATE;
}

static void begin(struct reorder_buffer *b, const struct reorder_packet *p)
{
    b->is_started = true;
    b->next_sequence = p->sequence;
    b->next_timestamp = p->timestamp;
    b->highest_sequence = p->sequence;
    b->last_duration = DURATION_DEFAULT;
    b->concealed_in_row = 0;
}

static void store(struct reorder_buffer *b, const struct reorder_packet *p, uint64_t now_us)
{
    struct held *h = b->held;
    while (h->is_used) {
        h++;
    }
    h->is_used = true;
    h->sequence = p->sequence;
    h->timestamp = p->timestamp;
    h->duration = p->duration;
    h->arrived_us = now_us;
    h->payload_bytes = p->payload.len;
    if (p->payload.len > 0) {
        memcpy(h->payload, p->payload.data, p->payload.len);
    }
    b->held_count++;
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
    if (find(b, p->sequence) != NULL) {
        b->stats.duplicates++;
        return REORDER_DUPLICATE;
    }
    if (b->held_count == REORDER_BUFFER_HELD_MAX) {
        b->stats.refused++;
        return REORDER_FULL;
    }
    if (p->sequence < b->highest_sequence) {
        b->stats.reordered++;
        expect_reordering(b, time_since(gap_since_us(b), now_us), now_us);
    } else {
        b->highest_sequence = p->sequence;
    }
    b->window_us =
        time_later(b->window_us - b->window_us / WINDOW_DECAY, REORDER_BUFFER_WINDOW_US_MIN);
    store(b, p, now_us);
    return REORDER_STORED;
}

/* Fills *out and moves the timeline on by `duration`. */
static void give(struct reorder_buffer *b, enum reorder_slot_kind kind, const struct held *h,
                 uint32_t duration, struct reorder_slot *out)
{
    *out = (struct reorder_slot){
        .kind = kind,
        .is_discontinuity = b->is_discontinuity,
        .timestamp = b->next_timestamp,
        .duration = duration,
        .arrived_us = h->arrived_us,
    };
    b->is_discontinuity = false;
    b->next_timestamp += duration;
}

/* What of the timeline lies between the slot before and packet h: the sender's silence. */
static bool give_silence(struct reorder_buffer *b, const struct held *h, struct reorder_slot *out)
{
    const bool is_ahead = h->timestamp >= b->next_timestamp;
    const uint64_t silence = is_ahead ? h->timestamp - b->next_timestamp : 0;
    if (!is_ahead || silence > REORDER_BUFFER_SILENCE_MAX) {
        b->is_discontinuity = true;
        b->next_timestamp = h->timestamp;
        return false;
    }
    if (silence < DURATION_UNIT) {
        b->next_timestamp = h->timestamp;
        return false;
    }
    const uint64_t whole = silence - silence % DURATION_UNIT;
    const uint64_t slot =
        whole < REORDER_BUFFER_SILENCE_SLOT_MAX ? whole : REORDER_BUFFER_SILENCE_SLOT_MAX;
    give(b, REORDER_SLOT_SILENCE, h, (uint32_t)slot, out);
    return true;
}

/* h is next. False when it has no audio: then it only fills its number. */
static bool give_packet(struct reorder_buffer *b, struct held *h, struct reorder_slot *out)
{
    if (h->duration > 0 && give_silence(b, h, out)) {
        return true; /* h itself comes with a later poll */
    }
    b->next_sequence++;
    b->stats.delivered++;
    h->is_used = false;
    b->held_count--;
    if (h->duration == 0) {
        return false;
    }
    give(b, REORDER_SLOT_PACKET, h, h->duration, out);
    out->payload = bytes_view_of(h->payload, h->payload_bytes);
    b->last_duration = h->duration;
    b->concealed_in_row = 0;
    return true;
}

/* Of the time up to `newer`, what one missing packet takes. */
static uint32_t missing_duration(const struct reorder_buffer *b, const struct held *newer)
{
    if (newer->timestamp <= b->next_timestamp) {
        return 0;
    }
    const uint64_t packets = newer->sequence - b->next_sequence;
    const uint64_t share = (newer->timestamp - b->next_timestamp) / packets;
    const uint64_t duration = share < b->last_duration ? share : b->last_duration;
    return (uint32_t)(duration - duration % DURATION_UNIT);
}

/* The next number is lost. False when nothing stands for it: its time is jumped over. */
static bool repair(struct reorder_buffer *b, const struct held *newer, struct reorder_slot *out)
{
    const uint32_t duration = missing_duration(b, newer);
    b->given_up[b->next_sequence % REORDER_BUFFER_SPAN] =
        (struct given_up){.sequence = b->next_sequence, .gap_since_us = gap_since_us(b)};
    b->stats.missing++;
    b->next_sequence++;
    if (duration == 0) {
        return false;
    }
    if (b->concealed_in_row >= REORDER_BUFFER_CONCEAL_MAX) {
        b->is_discontinuity = true;
        b->next_timestamp += duration;
        return false;
    }
    give(b, REORDER_SLOT_CONCEAL, newer, duration, out);
    b->concealed_in_row += duration;
    b->stats.concealed += duration;
    return true;
}

/* A hole that is too wide to be walked through number by number: go on behind it. */
static void skip_to(struct reorder_buffer *b, const struct held *newer)
{
    b->stats.missing += newer->sequence - b->next_sequence;
    b->is_discontinuity = true;
    b->next_sequence = newer->sequence;
    b->next_timestamp = newer->timestamp;
}

static bool is_wait_over(const struct reorder_buffer *b, uint64_t now_us)
{
    const size_t newer_needed = now_us < b->reordered_until_us ? 2 : 1;
    return b->held_count >= newer_needed || now_us >= reorder_buffer_next_timeout(b);
}

bool reorder_buffer_poll(struct reorder_buffer *b, struct reorder_slot *out, uint64_t now_us)
{
    /* Each turn gives a slot, passes a number, or passes a hole: HELD_MAX * SPAN turns at most. */
    while (b->held_count > 0) {
        struct held *next = find(b, b->next_sequence);
        if (next != NULL) {
            if (give_packet(b, next, out)) {
                return true;
            }
            continue;
        }
        if (!is_wait_over(b, now_us)) {
            return false;
        }
        const struct held *newer = first_held(b);
        if (newer->sequence - b->next_sequence >= REORDER_BUFFER_SPAN) {
            skip_to(b, newer);
        } else if (repair(b, newer, out)) {
            return true;
        }
    }
    return false;
}

uint64_t reorder_buffer_next_timeout(const struct reorder_buffer *b)
{
    return b->held_count > 0 ? gap_since_us(b) + b->window_us : TIME_NEVER;
}

const struct reorder_stats *reorder_buffer_stats(const struct reorder_buffer *b)
{
    return &b->stats;
}
