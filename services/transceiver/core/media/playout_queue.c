/* playout_queue.c - see playout_queue.h */
#include "services/transceiver/core/media/playout_queue.h"

#include <assert.h>
#include <stdlib.h>

#define FRAMES_PER_S 50
#define MS_PER_S     1000

enum utterance_state {
    UTTERANCE_QUEUED,  /* waits for its prebuffer */
    UTTERANCE_PLAYING, /* the last take spoke of it, or would have */
    UTTERANCE_DRY,     /* ran out; waits for a frame */
    UTTERANCE_DONE     /* until the event is polled */
};

struct utterance {
    uint32_t id;
    enum utterance_state state;
    bool is_complete; /* no piece follows */
    bool tell_started;
    bool tell_underrun;
    enum playout_done_reason reason;
    size_t queued_samples;
    uint64_t sent_samples;
    uint64_t told_samples;   /* of those, told by the progress event before */
    uint64_t short_since_us; /* its turn, but too little to play; TIME_NEVER = not so */
};

/* What the last slot was made of. */
enum last_slot { LAST_SILENCE, LAST_TAIL, LAST_SPEECH };

struct playout_queue {
    uint32_t rate_hz;
    size_t frame_samples;
    size_t fade_samples;
    size_t prebuffer_samples;
    size_t progress_samples; /* 0 = never */

    /* Samples of all utterances, in order: those of the oldest first. */
    int16_t *ring;
    size_t ring_cap; /* the credit window */
    size_t ring_first;
    size_t ring_count;
    uint64_t received_samples;
    uint64_t announced_samples; /* the limit that the backend knows */

    /* A queue by age. Done ones lie before the others: at most one plays, the oldest not done. */
    struct utterance utterance[PLAYOUT_QUEUE_UTTERANCES_MAX];
    size_t first;
    size_t count;
    uint32_t newest_id;
    uint32_t flushed_up_to;

    enum last_slot last_slot;
    uint32_t last_id;    /* of speech taken */
    int16_t last_sample; /* likewise */
    size_t fade_left;    /* samples from last_sample to zero */
    bool is_cut;         /* the fade comes before anything else */

    uint64_t stale_pieces;
    uint64_t credit_errors;
    uint64_t underruns;
};

static size_t samples_of_us(uint64_t us, uint32_t rate_hz)
{
    return (size_t)(us * rate_hz / US_PER_S);
}

static uint64_t us_of(const struct playout_queue *q, uint64_t samples)
{
    return samples * US_PER_S / q->rate_hz;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct playout_queue *playout_queue_create(const struct playout_queue_config *config)
{
    struct playout_queue *q = calloc(1, sizeof(*q));
    if (q == NULL) {
        return NULL;
    }
    q->rate_hz = config->rate_hz;
    q->frame_samples = config->rate_hz / FRAMES_PER_S;
    q->fade_samples = config->rate_hz * PLAYOUT_QUEUE_FADE_MS / MS_PER_S;
    assert(q->frame_samples > 0);
    assert(q->frame_samples <= PLAYOUT_QUEUE_FRAME_SAMPLES_MAX);
    q->ring_cap = samples_of_us(config->window_us, config->rate_hz);
    assert(q->ring_cap >= q->frame_samples);
    const size_t prebuffer = samples_of_us(config->prebuffer_us, config->rate_hz);
    q->prebuffer_samples = prebuffer > 0 ? smaller(prebuffer, q->ring_cap) : 1;
    q->progress_samples = samples_of_us(config->progress_us, config->rate_hz);
    q->announced_samples = q->ring_cap;
    q->ring = malloc(q->ring_cap * sizeof(*q->ring));
    if (q->ring == NULL) {
        playout_queue_destroy(q);
        return NULL;
    }
    return q;
}

void playout_queue_destroy(struct playout_queue *q)
{
    if (q == NULL) {
        return;
    }
    free(q->ring);
    free(q);
}

static struct utterance *utterance_at(struct playout_queue *q, size_t age_rank)
{
    return &q->utterance[(q->first + age_rank) % PLAYOUT_QUEUE_UTTERANCES_MAX];
}

static struct utterance *youngest(struct playout_queue *q)
{
    return q->count > 0 ? utterance_at(q, q->count - 1) : NULL;
}

/* The oldest that is not done; NULL when all are. */
static const struct utterance *find_current(const struct playout_queue *q)
{
    for (size_t i = 0; i < q->count; i++) {
        const struct utterance *u = &q->utterance[(q->first + i) % PLAYOUT_QUEUE_UTTERANCES_MAX];
        if (u->state != UTTERANCE_DONE) {
            return u;
        }
    }
    return NULL;
}

static struct utterance *current(struct playout_queue *q)
{
    const struct utterance *u = find_current(q);
    return u != NULL ? &q->utterance[u - q->utterance] : NULL;
}

static size_t after(const struct playout_queue *q, size_t index)
{
    return index + 1 < q->ring_cap ? index + 1 : 0;
}

static void append_samples(struct playout_queue *q, struct bytes_view pcm)
{
    size_t end = (q->ring_first + q->ring_count) % q->ring_cap;
    for (size_t i = 0; i + 1 < pcm.len; i += 2) {
        const uint16_t bits = (uint16_t)(pcm.data[i] | pcm.data[i + 1] << 8);
        q->ring[end] = (int16_t)bits;
        end = after(q, end);
    }
    q->ring_count += pcm.len / 2;
}

static void take_samples(struct playout_queue *q, int16_t *out, size_t count)
{
    assert(count <= q->ring_count);
    for (size_t i = 0; i < count; i++) {
        out[i] = q->ring[q->ring_first];
        q->ring_first = after(q, q->ring_first);
    }
    q->ring_count -= count;
}

static void drop_samples(struct playout_queue *q, size_t count)
{
    assert(count <= q->ring_count);
    q->ring_first = (q->ring_first + count) % q->ring_cap;
    q->ring_count -= count;
}

/* u is the oldest not done. Its samples leave, and it waits for its event to be polled. */
static void finish(struct playout_queue *q, struct utterance *u, enum playout_done_reason reason)
{
    drop_samples(q, u->queued_samples);
    u->queued_samples = 0;
    u->state = UTTERANCE_DONE;
    u->reason = reason;
}

static bool is_stale(struct playout_queue *q, uint32_t id)
{
    if (id > q->newest_id) {
        return id <= q->flushed_up_to;
    }
    const struct utterance *u = youngest(q);
    return u == NULL || u->id != id || u->state == UTTERANCE_DONE || u->is_complete;
}

/* The utterance that a piece which is not stale belongs to; NULL when the table is full. */
static struct utterance *utterance_for(struct playout_queue *q, uint32_t id)
{
    if (id == q->newest_id) {
        return youngest(q);
    }
    if (q->count == PLAYOUT_QUEUE_UTTERANCES_MAX) {
        return NULL;
    }
    if (q->count > 0) {
        youngest(q)->is_complete = true;
    }
    q->count++;
    q->newest_id = id;
    *youngest(q) = (struct utterance){.id = id};
    return youngest(q);
}

enum playout_put_result playout_queue_put(struct playout_queue *q, uint32_t utterance,
                                          struct bytes_view pcm, bool is_last)
{
    if (pcm.len % 2 != 0) {
        return PLAYOUT_PUT_ODD_BYTES;
    }
    /* What is dropped for its number counts too: the backend counts what it sends. */
    const size_t sent = pcm.len / 2;
    const size_t accepted = smaller(sent, q->ring_cap - q->ring_count);
    q->received_samples += accepted;
    enum playout_put_result result = PLAYOUT_PUT_OK;
    struct utterance *u = NULL;
    if (is_stale(q, utterance)) {
        q->stale_pieces++;
        result = PLAYOUT_PUT_STALE;
    } else {
        u = utterance_for(q, utterance);
        result = u != NULL ? PLAYOUT_PUT_OK : PLAYOUT_PUT_FULL;
    }
    if (u != NULL) {
        if (q->ring_count == 0) {
            q->ring_first = 0; /* no more memory is touched than was ever queued at once */
        }
        append_samples(q, bytes_view_of(pcm.data, accepted * 2));
        u->queued_samples += accepted;
        u->is_complete = is_last;
        u->short_since_us = TIME_NEVER;
    }
    if (accepted < sent) {
        q->credit_errors++;
        result = PLAYOUT_PUT_CREDIT;
    }
    return result;
}

static bool has_enough(const struct playout_queue *q, const struct utterance *u)
{
    const size_t needed = u->state == UTTERANCE_QUEUED ? q->prebuffer_samples : q->frame_samples;
    return u->is_complete || u->queued_samples >= needed;
}

/* Whether u, the oldest not done, has enough to play; starts it, or lets it starve. */
static bool may_speak(struct playout_queue *q, struct utterance *u, uint64_t now_us)
{
    if (u->state == UTTERANCE_PLAYING) {
        return true;
    }
    if (has_enough(q, u)) {
        if (u->state == UTTERANCE_QUEUED && u->queued_samples > 0) {
            u->tell_started = true;
        }
        u->state = UTTERANCE_PLAYING;
        return true;
    }
    u->short_since_us = time_earlier(u->short_since_us, now_us);
    if (time_since(u->short_since_us, now_us) >= PLAYOUT_QUEUE_STARVE_US) {
        finish(q, u, PLAYOUT_DONE_STARVED);
    }
    return false;
}

/* Fills `out` with speech as far as there is any; utterances that touch share a frame. */
static size_t speak(struct playout_queue *q, int16_t *out, size_t room, uint64_t now_us)
{
    size_t spoken = 0;
    while (spoken < room) {
        struct utterance *u = current(q);
        if (u == NULL || !may_speak(q, u, now_us)) {
            break;
        }
        const size_t count = smaller(u->queued_samples, room - spoken);
        take_samples(q, out + spoken, count);
        q->last_id = count > 0 ? u->id : q->last_id;
        u->queued_samples -= count;
        u->sent_samples += count;
        spoken += count;
        if (u->queued_samples == 0 && u->is_complete) {
            finish(q, u, PLAYOUT_DONE_PLAYED);
        } else if (spoken < room) {
            u->state = UTTERANCE_DRY;
            u->tell_underrun = true;
            q->underruns++;
        }
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

enum playout_slot playout_queue_take(struct playout_queue *q, int16_t *frame, uint64_t now_us)
{
    size_t filled = q->is_cut ? fade(q, frame, q->frame_samples) : 0;
    q->is_cut = false;
    const size_t spoken = speak(q, frame + filled, q->frame_samples - filled, now_us);
    if (spoken == 0 && q->last_slot != LAST_SPEECH) {
        q->last_slot = LAST_SILENCE;
        return PLAYOUT_SLOT_SILENCE;
    }
    filled += spoken;
    filled += fade(q, frame + filled, q->frame_samples - filled);
    memset(frame + filled, 0, (q->frame_samples - filled) * sizeof(*frame));
    const bool is_first = q->last_slot == LAST_SILENCE;
    q->last_slot = spoken > 0 ? LAST_SPEECH : LAST_TAIL;
    if (spoken == 0) {
        return PLAYOUT_SLOT_TAIL;
    }
    return is_first ? PLAYOUT_SLOT_FIRST : PLAYOUT_SLOT_SPEECH;
}

bool playout_queue_may_start(const struct playout_queue *q)
{
    const struct utterance *u = find_current(q);
    return q->last_slot == LAST_SILENCE && u != NULL && u->queued_samples > 0 && has_enough(q, u);
}

struct playout_flushed playout_queue_flush(struct playout_queue *q, uint32_t utterance)
{
    const bool is_all = utterance == 0 || utterance == PLAYOUT_QUEUE_ALL;
    struct playout_flushed flushed = {.flush = is_all ? q->newest_id : utterance};
    flushed.is_cut = q->last_id > q->flushed_up_to && q->last_id <= flushed.flush;
    if (flushed.flush > q->flushed_up_to) {
        q->flushed_up_to = flushed.flush;
    }
    const size_t queued_before = q->ring_count;
    struct utterance *u = NULL;
    while ((u = current(q)) != NULL && u->id <= flushed.flush) {
        if (u->sent_samples > 0) {
            flushed.utterance = u->id;
            flushed.sent_us = us_of(q, u->sent_samples);
        }
        q->is_cut = q->is_cut || u->state == UTTERANCE_PLAYING;
        finish(q, u, PLAYOUT_DONE_FLUSHED);
    }
    flushed.dropped_us = us_of(q, queued_before - q->ring_count);
    return flushed;
}

void playout_queue_end(struct playout_queue *q, enum playout_done_reason reason)
{
    struct utterance *u = NULL;
    while ((u = current(q)) != NULL) {
        q->is_cut = q->is_cut || u->state == UTTERANCE_PLAYING;
        finish(q, u, reason);
    }
    q->newest_id = 0;
    q->flushed_up_to = 0;
    q->last_id = 0;
    q->received_samples = 0;
    q->announced_samples = q->ring_cap;
}

static bool poll_utterance(struct playout_queue *q, struct playout_event *out)
{
    if (q->count == 0) {
        return false;
    }
    /* Only the oldest has something to tell: those behind it have not begun. */
    struct utterance *u = utterance_at(q, 0);
    *out = (struct playout_event){
        .utterance = u->id,
        .reason = u->reason,
        .sent_us = us_of(q, u->sent_samples),
        .queued_us = us_of(q, u->queued_samples),
    };
    if (u->tell_started) {
        u->tell_started = false;
        out->type = PLAYOUT_EVENT_STARTED;
        return true;
    }
    if (q->progress_samples > 0 && u->state != UTTERANCE_DONE &&
        u->sent_samples - u->told_samples >= q->progress_samples) {
        u->told_samples = u->sent_samples;
        out->type = PLAYOUT_EVENT_PROGRESS;
        return true;
    }
    if (u->tell_underrun) {
        u->tell_underrun = false;
        out->type = PLAYOUT_EVENT_UNDERRUN;
        return true;
    }
    if (u->state != UTTERANCE_DONE) {
        return false;
    }
    out->type = PLAYOUT_EVENT_DONE;
    q->first = (q->first + 1) % PLAYOUT_QUEUE_UTTERANCES_MAX;
    q->count--;
    return true;
}

bool playout_queue_poll_event(struct playout_queue *q, struct playout_event *out)
{
    if (poll_utterance(q, out)) {
        return true;
    }
    const uint64_t consumed = q->received_samples - q->ring_count;
    const uint64_t limit = consumed + q->ring_cap;
    if (limit - q->announced_samples < (q->ring_cap + 3) / 4) {
        return false;
    }
    q->announced_samples = limit;
    *out = (struct playout_event){.type = PLAYOUT_EVENT_CREDIT, .limit_us = us_of(q, limit)};
    return true;
}

uint64_t playout_queue_heard_us(uint64_t sent_us, uint64_t rtt_us)
{
    return time_since(rtt_us / 2 + PLAYOUT_QUEUE_CLIENT_BUFFER_US, sent_us);
}

struct playout_stats playout_queue_stats(const struct playout_queue *q)
{
    return (struct playout_stats){
        .received_us = us_of(q, q->received_samples),
        .queued_us = us_of(q, q->ring_count),
        .stale_pieces = q->stale_pieces,
        .credit_errors = q->credit_errors,
        .underruns = q->underruns,
    };
}
