/* playout_queue_life_test.c - whatever a backend does and when, against a model that keeps the
 * samples themselves: which are spoken, what is told, what credit is left */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/media/held_ids.h"
#include "services/transceiver/core/media/playout_queue.h"

#include <stdlib.h>

#define SEEDS        200
#define STEPS        2000
#define RATE_HZ      24000
#define FRAME        480
#define FADE         120
#define TICKS        2 /* a sample */
#define WINDOW       RATE_HZ
#define IDS_MAX      (STEPS + 400)
#define PREBUFFER_US (40 * US_PER_MS)
#define PROGRESS_US  (200 * US_PER_MS)
#define PIECE_MAX    (4 * FRAME)

struct speech {
    bool is_known; /* had an accepted piece, and was not forgotten by a restart */
    bool is_complete;
    bool is_started;
    bool is_done;
    bool is_paused;
    bool was_dry; /* an underrun was told since a sample was spoken */
    uint64_t received;
    uint64_t sent;
    uint64_t done_us; /* 0 = not yet */
};

struct model {
    struct playout_queue *q;
    struct random_generator random;
    uint64_t now_us; /* never 0 */
    bool is_attached;
    uint32_t newest;
    uint32_t flushed_up_to;
    uint32_t last_done; /* told */
    struct speech speech[IDS_MAX];
    bool is_held[IDS_MAX]; /* before its first piece */
    size_t held_count;

    /* Every sample that waits, in order, each with the id it belongs to. */
    int16_t sample[2 * WINDOW];
    uint32_t owner[2 * WINDOW];
    size_t queued;

    uint64_t received; /* as the credit counts */
    uint64_t told_limit;
    int16_t next_sample;
    int16_t last_spoken;
    bool was_speech; /* the slot before */
    uint64_t done_count;
    uint64_t known_count;
};

/* What happened over all seeds: a rule that was never put to the test is not checked. */
static uint64_t seen_event[UTTERANCE_EVENT_DONE + 1];
static uint64_t seen_reason[UTTERANCE_BACKEND_LOST + 1];
static uint64_t seen_put[PLAYOUT_PUT_BAD];
static uint64_t seen_ramp;

static uint64_t roll(struct model *m, uint64_t sides)
{
    return random_generator_next(&m->random) % sides;
}

/* --- what is told ----------------------------------------------------------------------------- */

static void check_event(struct model *m, const struct utterance_event *e)
{
    struct speech *s = &m->speech[e->utterance];
    assert_true(s->is_known);
    assert_false(s->is_done);
    assert_true(e->utterance > m->last_done);
    assert_true(s->sent <= s->received);
    assert_int_equal(e->sent_ticks, s->sent * TICKS);
    seen_event[e->type]++;
    seen_reason[e->reason] += e->type == UTTERANCE_EVENT_DONE;
    switch (e->type) {
    case UTTERANCE_EVENT_STARTED:
        assert_false(s->is_started);
        s->is_started = true;
        break;
    case UTTERANCE_EVENT_UNDERRUN:
        assert_false(s->was_dry);
        s->was_dry = true;
        break;
    case UTTERANCE_EVENT_DONE:
        assert_true(s->sent == 0 || s->is_started);
        if (e->reason == UTTERANCE_PLAYED) {
            assert_true(s->is_complete);
            assert_int_equal(s->sent, s->received);
        } else if (e->reason == UTTERANCE_FLUSHED) {
            assert_true(e->utterance <= m->flushed_up_to);
        } else if (e->reason == UTTERANCE_STARVED) {
            assert_false(s->is_complete);
            assert_false(s->is_paused);
        }
        s->is_done = true;
        s->done_us = s->done_us == 0 ? m->now_us : s->done_us;
        m->last_done = e->utterance;
        m->done_count++;
        break;
    default:
        break;
    }
}

static void drop_oldest(struct model *m, size_t count)
{
    m->queued -= count;
    memmove(m->sample, m->sample + count, m->queued * sizeof(m->sample[0]));
    memmove(m->owner, m->owner + count, m->queued * sizeof(m->owner[0]));
}

static void check_credit(struct model *m)
{
    const uint64_t limit = m->received - m->queued + WINDOW;
    const struct playout_position p = playout_queue_position(m->q);
    assert_int_equal(p.received_total_us, m->received * US_PER_S / RATE_HZ);
    assert_int_equal(p.queued_us, m->queued * US_PER_S / RATE_HZ);
    assert_int_equal(p.limit_us, limit * US_PER_S / RATE_HZ);
    assert_int_equal(p.utterance, m->newest);
    if (!m->is_attached) {
        return;
    }
    uint64_t limit_us = 0;
    const bool is_due = limit - m->told_limit >= WINDOW / 4;
    assert_int_equal(playout_queue_poll_credit(m->q, &limit_us), is_due);
    if (is_due) {
        assert_int_equal(limit_us, p.limit_us);
        m->told_limit = limit;
    }
}

static void hear_news(struct model *m)
{
    struct utterance_event e;
    while (m->is_attached && playout_queue_poll_event(m->q, &e)) {
        check_event(m, &e);
        /* What starved left some samples behind: they are gone. */
        if (e.type == UTTERANCE_EVENT_DONE && e.reason == UTTERANCE_STARVED) {
            drop_oldest(m, m->speech[e.utterance].received - m->speech[e.utterance].sent);
        }
    }
    check_credit(m);
}

/* --- what the backend does -------------------------------------------------------------------- */

static bool is_stale(const struct model *m, uint32_t id)
{
    if (id > m->newest) {
        return id <= m->flushed_up_to;
    }
    const struct speech *s = &m->speech[id];
    return id < m->newest || !s->is_known || s->is_done || s->is_complete;
}

static void begin(struct model *m, uint32_t id)
{
    m->speech[m->newest].is_complete = true;
    m->newest = id;
    m->speech[id] = (struct speech){.is_known = true, .is_paused = m->is_held[id]};
    m->known_count++;
    for (uint32_t i = 0; i <= id; i++) {
        m->held_count -= m->is_held[i];
        m->is_held[i] = false;
    }
}

static void push(struct model *m)
{
    uint8_t pcm[2 * PIECE_MAX];
    const bool is_over = m->newest == 0 || is_stale(m, m->newest);
    uint32_t id = m->newest + (is_over || roll(m, 8) == 0);
    if (roll(m, 32) == 0) {
        id += (uint32_t)roll(m, 3);
        id -= id > 1 ? 1 : 0;
    }
    const size_t count = roll(m, 8) == 0 ? 0 : roll(m, PIECE_MAX);
    /* Sometimes as after a resume: from before what was received, or with something missing. */
    const uint64_t had = id == m->newest ? m->speech[id].received : 0;
    const bool has_offset = roll(m, 8) == 0;
    const uint64_t place = !has_offset ? had : had > FRAME ? had - roll(m, FRAME) : had;
    const uint64_t offset = roll(m, 64) == 0 && has_offset ? had + 1 + roll(m, FRAME) : place;
    for (size_t i = 0; i < count; i++) {
        const uint16_t bits = (uint16_t)(m->next_sample + (int16_t)i);
        pcm[2 * i] = (uint8_t)bits;
        pcm[2 * i + 1] = (uint8_t)(bits >> 8);
    }
    const struct playout_piece piece = {
        .utterance = id,
        .media = bytes_view_of(pcm, 2 * count),
        .is_last = roll(m, 16) == 0,
        .offset_us = has_offset ? (offset * US_PER_S + RATE_HZ - 1) / RATE_HZ : 0,
    };
    const size_t known =
        offset < had && piece.offset_us != 0 ? (had - offset < count ? had - offset : count) : 0;
    const size_t fresh = count - known;
    const size_t room = WINDOW - m->queued;
    const size_t accepted = fresh < room ? fresh : room;
    const bool was_stale = is_stale(m, id);
    const enum playout_put_result result = playout_queue_put(m->q, &piece);
    seen_put[result]++;
    m->received += accepted;
    if (was_stale) {
        assert_int_equal(result, accepted < fresh ? PLAYOUT_PUT_CREDIT : PLAYOUT_PUT_STALE);
        return;
    }
    if (piece.offset_us != 0 && offset > had) {
        assert_int_equal(result, PLAYOUT_PUT_GAP);
        return;
    }
    assert_int_equal(result, accepted < fresh ? PLAYOUT_PUT_CREDIT : PLAYOUT_PUT_OK);
    if (id > m->newest) {
        begin(m, id);
    }
    m->speech[id].received += accepted;
    m->speech[id].is_complete = piece.is_last;
    for (size_t i = 0; i < accepted; i++) {
        m->sample[m->queued] = (int16_t)(m->next_sample + (int16_t)(known + i));
        m->owner[m->queued++] = id;
    }
    m->next_sample = (int16_t)(1 + (m->next_sample + (int16_t)count) % 20000);
}

static void flush(struct model *m)
{
    static const uint32_t wildcard[] = {0, UTTERANCE_ALL};
    const bool is_all = roll(m, 2) == 0;
    const uint32_t id =
        is_all ? m->newest : m->newest + (uint32_t)roll(m, 5) - (m->newest > 2 ? 2 : 0);
    const struct playout_flushed f =
        playout_queue_flush(m->q, is_all ? wildcard[roll(m, 2)] : id, m->now_us);
    const uint32_t resolved = !is_all && id == 0 ? m->newest : id;
    assert_int_equal(f.flush, resolved);
    m->flushed_up_to = resolved > m->flushed_up_to ? resolved : m->flushed_up_to;
    size_t dropped = 0;
    while (dropped < m->queued && m->owner[dropped] <= resolved) {
        dropped++;
    }
    drop_oldest(m, dropped);
    assert_int_equal(f.dropped_us, dropped * US_PER_S / RATE_HZ);
    if (f.utterance != 0) {
        assert_true(f.utterance <= resolved);
        assert_int_equal(f.sent_us, m->speech[f.utterance].sent * US_PER_S / RATE_HZ);
    }
    for (uint32_t i = 0; i <= m->flushed_up_to; i++) {
        m->held_count -= m->is_held[i];
        m->is_held[i] = false;
    }
}

static void hold_or_release(struct model *m)
{
    const bool is_speaker = m->queued > 0 && roll(m, 2) == 0;
    const uint32_t id = is_speaker ? m->owner[0] : m->newest + (uint32_t)roll(m, 4);
    struct speech *s = &m->speech[id];
    const bool lives = s->is_known && !s->is_done;
    const bool is_ahead = id > m->newest && id > m->flushed_up_to;
    if (roll(m, 3) == 0) {
        const bool has_room = m->held_count < HELD_IDS_MAX;
        const bool is_taken = !is_ahead || m->is_held[id] || has_room;
        assert_int_equal(playout_queue_pause(m->q, id), is_taken);
        s->is_paused = s->is_paused || lives;
        if (is_ahead && is_taken) {
            m->held_count += !m->is_held[id];
            m->is_held[id] = true;
        }
        return;
    }
    playout_queue_resume(m->q, id);
    s->is_paused = false;
    m->held_count -= m->is_held[id];
    m->is_held[id] = false;
}

/* --- what is heard ---------------------------------------------------------------------------- */

static void check_fall(const int16_t *sample, size_t count, int16_t from)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(sample[i] >= 0);
        assert_true(sample[i] <= from);
        from = sample[i];
    }
}

static bool matches(const struct model *m, const int16_t *frame, size_t count)
{
    return memcmp(frame, m->sample, count * sizeof(frame[0])) == 0;
}

/* Those that were said to their end in this slot, also when nobody is there to be told. Behind
 * last_id nobody had a turn. */
static void note_ends(struct model *m, uint32_t last_id)
{
    for (uint32_t id = 1; id <= m->newest; id++) {
        struct speech *s = &m->speech[id];
        if (!s->is_known || s->is_done || s->done_us != 0) {
            continue;
        }
        if (s->is_paused || !s->is_complete || s->sent < s->received ||
            (s->received == 0 && id > last_id)) {
            return;
        }
        s->done_us = m->now_us;
    }
}

/* The frame is: the fall of what was cut, or nothing; the next samples that wait, each once; the
 * fall of the last of them; zeros. No sample of what was flushed is in it. */
static void listen(struct model *m)
{
    int16_t frame[FRAME];
    memset(frame, 0x55, sizeof(frame));
    const uint64_t before_us = playout_queue_position(m->q).queued_us;
    const enum playout_slot slot = playout_queue_take(m->q, frame, m->now_us);
    const bool is_speech = slot == PLAYOUT_SLOT_FIRST || slot == PLAYOUT_SLOT_SPEECH;
    assert_int_equal(slot == PLAYOUT_SLOT_TAIL, m->was_speech && !is_speech);
    if (slot == PLAYOUT_SLOT_TAIL) {
        check_fall(frame, FRAME, m->last_spoken);
        assert_int_equal(frame[FRAME - 1], 0);
    }
    m->was_speech = is_speech;
    if (!is_speech) {
        note_ends(m, UINT32_MAX);
        return;
    }
    const size_t spoken =
        (size_t)((before_us - playout_queue_position(m->q).queued_us) * RATE_HZ + US_PER_S / 2) /
        US_PER_S;
    const size_t begin = matches(m, frame, spoken < FRAME - FADE ? spoken + 1 : spoken) ? 0 : FADE;
    const size_t from = matches(m, frame, spoken) ? 0 : begin;
    seen_ramp += from > 0;
    assert_true(spoken > 0);
    assert_true(spoken <= FRAME - from);
    check_fall(frame, from, m->last_spoken);
    assert_true(matches(m, frame + from, spoken));
    m->last_spoken = frame[from + spoken - 1];
    check_fall(frame + from + spoken, FRAME - from - spoken, m->last_spoken);
    for (size_t i = 0; i < spoken; i++) {
        struct speech *s = &m->speech[m->owner[i]];
        assert_false(s->is_paused);
        s->sent++;
        s->was_dry = false;
    }
    const uint32_t last_id = from + spoken == FRAME ? m->owner[spoken - 1] : UINT32_MAX;
    drop_oldest(m, spoken);
    note_ends(m, last_id);
}

/* --- backends come and go --------------------------------------------------------------------- */

static void come_back(struct model *m)
{
    m->is_attached = true;
    playout_queue_attach(m->q, PREBUFFER_US, PROGRESS_US, m->now_us);
    /* What ended in the last 10 s is told once more; what was not told yet, for the first time. */
    struct utterance_event e;
    for (uint32_t id = 1; id <= m->last_done; id++) {
        struct speech *s = &m->speech[id];
        if (s->is_done && time_since(s->done_us, m->now_us) <= UTTERANCE_DONE_KEPT_US) {
            assert_true(playout_queue_poll_event(m->q, &e));
            assert_int_equal(e.type, UTTERANCE_EVENT_DONE);
            assert_int_equal(e.utterance, id);
            assert_int_equal(e.sent_ticks, s->sent * TICKS);
        }
    }
}

static void lose_backend(struct model *m)
{
    m->is_attached = false;
    playout_queue_detach(m->q);
}

/* All is done, once; then another life begins, with ids from 0. */
static void restart(struct model *m, enum utterance_reason reason)
{
    playout_queue_end(m->q, reason, m->now_us);
    drop_oldest(m, m->queued);
    struct utterance_event e;
    m->newest = 0;
    m->received = 0;
    m->told_limit = WINDOW;
    while (playout_queue_poll_event(m->q, &e)) {
        assert_int_equal(e.reason, reason);
        m->speech[e.utterance].is_started |= !m->is_attached; /* that it started is not told then */
        check_event(m, &e);
    }
    if (m->is_attached) {
        assert_int_equal(m->done_count, m->known_count);
    }
    memset(m->speech, 0, sizeof(m->speech));
    memset(m->is_held, 0, sizeof(m->is_held));
    m->held_count = 0;
    m->flushed_up_to = 0;
    m->last_done = 0;
    m->done_count = 0;
    m->known_count = 0;
    m->is_attached = true;
    playout_queue_attach(m->q, PREBUFFER_US, PROGRESS_US, m->now_us);
}

static void operate(struct model *m)
{
    const uint64_t dice = roll(m, 1000);
    if (dice < 500) {
        listen(m);
    } else if (!m->is_attached) {
        if (dice < 520) {
            come_back(m);
        } else if (dice < 525) {
            restart(m, UTTERANCE_BACKEND_LOST);
        }
    } else if (dice < 960) {
        /* It has its quiet seconds. */
        if (m->now_us / US_PER_S % 12 < 6) {
            push(m);
        }
    } else if (dice < 970) {
        flush(m);
    } else if (dice < 999) {
        hold_or_release(m);
    } else {
        lose_backend(m);
    }
}

static void any_order_of_frames_keeps_the_life_cycle(void **state)
{
    (void)state;
    struct model *m = malloc(sizeof(*m));
    assert_non_null(m);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        const struct playout_queue_config config = {.rate_hz = RATE_HZ, .window_us = US_PER_S};
        *m = (struct model){
            .now_us = 1, .is_attached = true, .told_limit = WINDOW, .next_sample = 1};
        random_generator_init(&m->random, seed);
        m->q = playout_queue_create(&config);
        assert_non_null(m->q);
        playout_queue_attach(m->q, PREBUFFER_US, PROGRESS_US, 0);
        for (int step = 0; step < STEPS; step++) {
            m->now_us += roll(m, 40 * US_PER_MS);
            operate(m);
            hear_news(m);
        }
        if (!m->is_attached) {
            come_back(m);
            hear_news(m);
        }
        restart(m, UTTERANCE_SESSION_END);
        playout_queue_destroy(m->q);
    }
    free(m);
    for (size_t i = 0; i < COUNT_OF(seen_event); i++) {
        assert_true(seen_event[i] > SEEDS);
    }
    for (size_t i = 0; i < COUNT_OF(seen_reason); i++) {
        assert_true(seen_reason[i] > SEEDS / 10);
    }
    for (size_t i = 0; i < COUNT_OF(seen_put); i++) {
        assert_true(i == PLAYOUT_PUT_FULL || seen_put[i] > SEEDS / 8);
    }
    assert_true(seen_ramp > SEEDS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_frames_keeps_the_life_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
