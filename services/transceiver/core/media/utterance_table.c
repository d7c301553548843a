/* utterance_table.c - see utterance_table.h */
#include "services/transceiver/core/media/utterance_table.h"

#include "services/transceiver/core/media/held_ids.h"

#include <assert.h>
#include <stdlib.h>

enum utterance_state {
    UTTERANCE_QUEUED,  /* waits for its turn, then for its prebuffer */
    UTTERANCE_PLAYING, /* has begun */
    UTTERANCE_DRY,     /* ran out; waits for a frame */
    UTTERANCE_DONE
};

struct utterance {
    uint32_t id;
    uint8_t state;  /* enum utterance_state */
    uint8_t reason; /* enum utterance_reason, when done */
    uint8_t untold; /* bit i: enum utterance_event_type i */
    bool is_complete;
    bool is_held;
    bool is_short_told; /* that its prebuffer keeps it waiting */
    uint64_t received_ticks;
    uint64_t sent_ticks;
    uint64_t told_ticks; /* of those sent, told by the progress before */
    uint64_t since_us;   /* done: since when. Else too little to play: since when, or TIME_NEVER */
};

struct utterance_table {
    struct utterance_pace pace;
    bool has_backend;
    bool is_draining; /* for good: who says so does not come back */

    /* A queue by age: those told to their end, those done, those that live. At most one plays, the
     * oldest that lives. */
    struct utterance *entry; /* UTTERANCE_TABLE_MAX; NULL at rest */
    size_t first;
    size_t told_count;
    size_t done_count; /* told ones included */
    size_t count;      /* done ones included */

    uint32_t newest_id;
    struct utterance_position rested; /* of the youngest, when the entries went */
    uint32_t flushed_up_to;
    uint32_t spoken_id;         /* of what was spoken last */
    uint32_t copied_id;         /* the oldest spoken one that no flush took back; 0 = none */
    struct held_ids held_ahead; /* before their first piece came */

    uint64_t queued_ticks;
    uint64_t underruns;
};

struct utterance_table *utterance_table_create(void)
{
    return calloc(1, sizeof(struct utterance_table));
}

static void entries_create(struct utterance_table *t)
{
    t->entry = calloc(UTTERANCE_TABLE_MAX, sizeof(*t->entry));
}

static void entries_destroy(struct utterance_table *t)
{
    free(t->entry);
    t->entry = NULL;
}

void utterance_table_destroy(struct utterance_table *t)
{
    if (t != NULL) {
        entries_destroy(t);
        free(t);
    }
}

/* --- entries ---------------------------------------------------------------------------------- */

static size_t index_of(const struct utterance_table *t, size_t age_rank)
{
    return (t->first + age_rank) % UTTERANCE_TABLE_MAX;
}

static struct utterance *entry_at(struct utterance_table *t, size_t age_rank)
{
    assert(age_rank < UTTERANCE_TABLE_MAX);
    return &t->entry[index_of(t, age_rank)];
}

/* The oldest that lives, whose turn it is; NULL when all are done. */
static struct utterance *speaker(struct utterance_table *t)
{
    return t->done_count < t->count ? entry_at(t, t->done_count) : NULL;
}

static const struct utterance *find_youngest(const struct utterance_table *t)
{
    return t->count > 0 ? &t->entry[index_of(t, t->count - 1)] : NULL;
}

static struct utterance *find_living(struct utterance_table *t, uint32_t id)
{
    for (size_t i = t->done_count; i < t->count; i++) {
        struct utterance *u = entry_at(t, i);
        if (u->id == id) {
            return u;
        }
    }
    return NULL;
}

/* The oldest `count` entries, done ones. */
static void forget(struct utterance_table *t, size_t count)
{
    assert(count <= t->done_count);
    t->first = index_of(t, count);
    t->count -= count;
    t->done_count -= count;
    t->told_count -= count < t->told_count ? count : t->told_count;
}

static uint64_t queued_of(const struct utterance *u)
{
    return u->state == UTTERANCE_DONE ? 0 : u->received_ticks - u->sent_ticks;
}

static void tell(struct utterance *u, enum utterance_event_type type)
{
    u->untold = (uint8_t)(u->untold | 1u << type);
}

static void hold(struct utterance *u)
{
    if (!u->is_held) {
        u->is_held = true;
        u->since_us = TIME_NEVER;
        tell(u, UTTERANCE_EVENT_PAUSED);
    }
}

/* The speaker ends, and what it did not say is gone. */
static void finish(struct utterance_table *t, enum utterance_reason reason, uint64_t now_us)
{
    struct utterance *u = speaker(t);
    assert(u != NULL);
    t->queued_ticks -= queued_of(u);
    u->state = UTTERANCE_DONE;
    u->reason = (uint8_t)reason;
    u->since_us = now_us;
    t->done_count++;
}

/* --- the backend comes and goes --------------------------------------------------------------- */

void utterance_table_attach(struct utterance_table *t, const struct utterance_pace *pace,
                            uint64_t now_us)
{
    t->pace = *pace;
    t->has_backend = true;
    size_t again = 0;
    while (again < t->told_count &&
           time_since(entry_at(t, again)->since_us, now_us) > UTTERANCE_DONE_KEPT_US) {
        again++;
    }
    t->told_count = again;
    struct utterance *u = speaker(t);
    if (u != NULL) {
        u->since_us = TIME_NEVER;
    }
}

void utterance_table_detach(struct utterance_table *t)
{
    t->has_backend = false;
}

void utterance_table_end(struct utterance_table *t, enum utterance_reason reason, uint64_t now_us)
{
    forget(t, t->has_backend ? t->told_count : t->done_count);
    struct utterance *u = NULL;
    while ((u = speaker(t)) != NULL) {
        finish(t, reason, now_us);
        if (!t->has_backend) {
            u->untold = 0; /* the next one has not heard of it, and needs no more than its end */
        }
    }
    t->newest_id = 0;
    t->rested = (struct utterance_position){0};
    t->flushed_up_to = 0;
    t->spoken_id = 0;
    t->copied_id = 0;
    t->held_ahead.count = 0;
}

/* --- pieces ----------------------------------------------------------------------------------- */

bool utterance_table_is_stale(const struct utterance_table *t, uint32_t id)
{
    if (id > t->newest_id) {
        return id <= t->flushed_up_to;
    }
    const struct utterance *u = find_youngest(t);
    return u == NULL || u->id != id || u->state == UTTERANCE_DONE || u->is_complete;
}

enum utterance_admission utterance_table_admit(struct utterance_table *t, uint32_t id)
{
    if (utterance_table_is_stale(t, id)) {
        return UTTERANCE_STALE;
    }
    if (id == t->newest_id) {
        return UTTERANCE_WELCOME;
    }
    if (t->count > t->done_count) {
        entry_at(t, t->count - 1)->is_complete = true;
    }
    t->newest_id = id;
    const bool is_held = held_ids_release(&t->held_ahead, 0, id);
    if (t->entry == NULL) {
        entries_create(t);
    }
    if (t->count == UTTERANCE_TABLE_MAX && t->told_count > 0) {
        forget(t, 1);
    }
    if (t->entry == NULL || t->count == UTTERANCE_TABLE_MAX) {
        return UTTERANCE_NO_ROOM;
    }
    struct utterance *u = entry_at(t, t->count++);
    *u = (struct utterance){.id = id, .since_us = TIME_NEVER};
    if (is_held) {
        hold(u);
    }
    return UTTERANCE_WELCOME;
}

void utterance_table_add(struct utterance_table *t, uint64_t ticks, bool is_last)
{
    assert(t->count > 0);
    struct utterance *u = entry_at(t, t->count - 1);
    assert(u->state != UTTERANCE_DONE);
    u->received_ticks += ticks;
    t->queued_ticks += ticks;
    u->is_complete = is_last;
    u->since_us = TIME_NEVER;
}

void utterance_table_drain(struct utterance_table *t)
{
    t->is_draining = true;
    for (size_t i = t->done_count; i < t->count; i++) {
        utterance_table_resume(t, entry_at(t, i)->id);
    }
}

/* --- speaking --------------------------------------------------------------------------------- */

static bool has_enough(const struct utterance_table *t, const struct utterance *u)
{
    const uint64_t needed =
        u->state == UTTERANCE_QUEUED ? t->pace.prebuffer_ticks : UTTERANCE_FRAME_TICKS;
    return u->is_complete || (queued_of(u) > 0 && (queued_of(u) >= needed || t->is_draining));
}

static void tell_underrun(struct utterance_table *t, struct utterance *u)
{
    tell(u, UTTERANCE_EVENT_UNDERRUN);
    t->underruns++;
}

/* u is the speaker and has too little: it is told once, and starves in time. */
static void wait_for_more(struct utterance_table *t, struct utterance *u, uint64_t now_us)
{
    if (u->state == UTTERANCE_QUEUED && !u->is_short_told) {
        u->is_short_told = true;
        tell_underrun(t, u);
    }
    u->since_us = time_earlier(u->since_us, now_us);
    if (t->has_backend && !t->is_draining &&
        time_since(u->since_us, now_us) >= UTTERANCE_STARVE_US) {
        finish(t, UTTERANCE_STARVED, now_us);
    }
}

/* Whether u, the speaker, may go on or begin. */
static bool may_speak(struct utterance_table *t, struct utterance *u)
{
    if (u->is_held) {
        return false;
    }
    if (u->state == UTTERANCE_PLAYING) {
        return true;
    }
    if (!has_enough(t, u)) {
        return false;
    }
    if (u->state == UTTERANCE_QUEUED && queued_of(u) > 0) {
        tell(u, UTTERANCE_EVENT_STARTED);
    }
    u->state = UTTERANCE_PLAYING;
    return true;
}

uint64_t utterance_table_turn(struct utterance_table *t, uint64_t now_us)
{
    struct utterance *u = NULL;
    while ((u = speaker(t)) != NULL && may_speak(t, u)) {
        if (queued_of(u) > 0) {
            return queued_of(u);
        }
        if (!u->is_complete) {
            u->state = UTTERANCE_DRY;
            tell_underrun(t, u);
            break;
        }
        finish(t, UTTERANCE_PLAYED, now_us);
    }
    if (u != NULL && !u->is_held) {
        wait_for_more(t, u, now_us);
    }
    return 0;
}

void utterance_table_spoke(struct utterance_table *t, uint64_t ticks, uint64_t now_us)
{
    struct utterance *u = speaker(t);
    assert(u != NULL);
    assert(ticks <= queued_of(u));
    u->sent_ticks += ticks;
    t->queued_ticks -= ticks;
    t->spoken_id = u->id;
    t->copied_id = t->copied_id == 0 ? u->id : t->copied_id;
    if (u->is_complete && queued_of(u) == 0) {
        finish(t, UTTERANCE_PLAYED, now_us);
    } else if (t->pace.progress_ticks > 0 &&
               u->sent_ticks - u->told_ticks >= t->pace.progress_ticks) {
        u->told_ticks = u->sent_ticks;
        tell(u, UTTERANCE_EVENT_PROGRESS);
    }
}

bool utterance_table_may_start(const struct utterance_table *t)
{
    if (t->done_count == t->count) {
        return false;
    }
    const struct utterance *u = &t->entry[index_of(t, t->done_count)];
    return !u->is_held && queued_of(u) > 0 && (u->state == UTTERANCE_PLAYING || has_enough(t, u));
}

/* --- hold and flush --------------------------------------------------------------------------- */

bool utterance_table_pause(struct utterance_table *t, uint32_t id)
{
    struct utterance *u = find_living(t, id);
    if (u != NULL) {
        hold(u);
        return true;
    }
    return id <= t->newest_id || id <= t->flushed_up_to || held_ids_put(&t->held_ahead, id);
}

void utterance_table_pause_speaker(struct utterance_table *t)
{
    struct utterance *u = speaker(t);
    if (u != NULL && u->state != UTTERANCE_QUEUED) {
        hold(u);
    }
}

void utterance_table_resume(struct utterance_table *t, uint32_t id)
{
    struct utterance *u = find_living(t, id);
    if (u == NULL) {
        (void)held_ids_release(&t->held_ahead, id, id);
    } else if (u->is_held) {
        u->is_held = false;
        tell(u, UTTERANCE_EVENT_RESUMED);
    }
}

/* Whether something up to `id` was spoken since the last time. Copies are forgotten all at once:
 * from then on there are only those of who speaks on. */
static bool take_back(struct utterance_table *t, uint32_t id)
{
    if (t->copied_id == 0 || t->copied_id > id) {
        return false;
    }
    t->copied_id = t->spoken_id > id ? t->spoken_id : 0;
    return true;
}

struct utterance_flushed utterance_table_flush(struct utterance_table *t, uint32_t id,
                                               uint64_t now_us)
{
    const bool is_all = id == 0 || id == UTTERANCE_ALL;
    struct utterance_flushed flushed = {.flush = is_all ? t->newest_id : id};
    flushed.was_spoken = take_back(t, flushed.flush);
    if (flushed.flush > t->flushed_up_to) {
        t->flushed_up_to = flushed.flush;
    }
    (void)held_ids_release(&t->held_ahead, 0, t->flushed_up_to);
    const uint64_t queued_before = t->queued_ticks;
    struct utterance *u = NULL;
    while ((u = speaker(t)) != NULL && u->id <= flushed.flush) {
        if (u->sent_ticks > 0) {
            flushed.utterance = u->id;
            flushed.sent_ticks = u->sent_ticks;
            flushed.was_sounding = u->state == UTTERANCE_PLAYING;
        }
        finish(t, UTTERANCE_FLUSHED, now_us);
    }
    flushed.dropped_ticks = queued_before - t->queued_ticks;
    return flushed;
}

/* --- rest ------------------------------------------------------------------------------------- */

void utterance_table_rest(struct utterance_table *t, uint64_t now_us)
{
    const struct utterance *u = find_youngest(t);
    if (t->told_count < t->count ||
        (u != NULL && time_since(u->since_us, now_us) <= UTTERANCE_DONE_KEPT_US)) {
        return;
    }
    if (u != NULL) {
        t->rested = utterance_table_position(t);
    }
    forget(t, t->count);
    entries_destroy(t);
}

/* --- telling ---------------------------------------------------------------------------------- */

/* The first thing that u has to tell but its end. */
static bool take_untold(struct utterance *u, enum utterance_event_type *out)
{
    for (unsigned type = 0; type < UTTERANCE_EVENT_DONE; type++) {
        if ((u->untold >> type & 1) != 0) {
            u->untold = (uint8_t)(u->untold & ~(1u << type));
            *out = (enum utterance_event_type)type;
            return true;
        }
    }
    return false;
}

bool utterance_table_poll_event(struct utterance_table *t, struct utterance_event *out)
{
    for (size_t i = t->told_count; i < t->count; i++) {
        struct utterance *u = entry_at(t, i);
        *out = (struct utterance_event){
            .type = UTTERANCE_EVENT_DONE,
            .utterance = u->id,
            .reason = (enum utterance_reason)u->reason,
            .sent_ticks = u->sent_ticks,
            .queued_ticks = queued_of(u),
        };
        if (take_untold(u, &out->type)) {
            return true;
        }
        if (u->state == UTTERANCE_DONE) {
            t->told_count++;
            /* Its ids are of a backend that is no more: nobody is told again. */
            if (u->reason == UTTERANCE_BACKEND_LOST) {
                forget(t, t->told_count);
            }
            return true;
        }
    }
    return false;
}

struct utterance_position utterance_table_position(const struct utterance_table *t)
{
    const struct utterance *u = find_youngest(t);
    if (u != NULL && u->id == t->newest_id) {
        return (struct utterance_position){t->newest_id, u->received_ticks, u->sent_ticks};
    }
    return t->rested.utterance == t->newest_id
               ? t->rested
               : (struct utterance_position){.utterance = t->newest_id};
}

uint64_t utterance_table_queued(const struct utterance_table *t)
{
    return t->queued_ticks;
}

uint64_t utterance_table_underruns(const struct utterance_table *t)
{
    return t->underruns;
}
