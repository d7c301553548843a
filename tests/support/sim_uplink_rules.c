/* sim_uplink_rules.c - see sim_uplink_rules.h */
#include "tests/support/sim_uplink_rules.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define SLOTS      4096 /* of one SSRC: 80 s */
#define TRACKS_MAX 8
/* docs/architecture.md: the reorder window is at most 60 ms. */
#define WAIT_US_MAX (60 * US_PER_MS)
/* Around a change of SSRC, and at the end, packets may be dropped with reason. */
#define EXEMPT_US (200 * US_PER_MS)
/* The history that is kept while nobody listens. */
#define HISTORY_US     (2 * US_PER_S)
#define CONCEALED_MAX  5                 /* frames in a row: 100 ms */
#define CLOCK_ERROR_US (100 * US_PER_MS) /* of the time at which it was captured */
#define REPLAY_US      (200 * US_PER_MS)
/* What comes while the history is replayed follows it: 2 s of speech, 10 frames a millisecond. */
#define REPLAY_WAIT_US (15 * US_PER_MS)

struct slot {
    bool is_said;
    bool is_dtx;
    bool is_garbage;
    uint64_t number;
    bool is_given; /* as it was */
    bool is_concealed;
    bool is_late;     /* it may have been given up before */
    bool is_repaired; /* concealed, or from a copy or FEC */
    uint64_t said_us;
    uint64_t arrived_us;
    uint64_t copy_arrived_us;
    bool has_copy;
    uint32_t copy_slot;
    uint32_t previous_slot; /* of the packet before; its own: none */
};

/* One SSRC. */
struct track {
    uint32_t ssrc;
    uint32_t first_timestamp;
    uint16_t first_sequence;
    uint64_t begin_us;
    uint32_t latest_slot;
    uint32_t latest_arrived;
    bool has_given;
    uint32_t latest_given;
    struct slot slot[SLOTS];
    uint32_t slot_of_sequence[SLOTS];
};

struct sim_uplink_rules {
    struct sim_journal *journal;
    struct track *track[TRACKS_MAX];
    size_t track_count;
    bool is_fixed;   /* the client says fixed packets */
    bool is_uncoded; /* its backend conceals by itself */
    bool is_attached;
    uint64_t attached_us;
    uint64_t away_us; /* when the last listener went; 0 = never */
    uint64_t excused_us;
    uint64_t said;
    uint64_t arrived;
    uint64_t concealed;
    struct slot *owed; /* its turn has come at owed_us */
    uint64_t owed_us;
};

struct sim_uplink_rules *sim_uplink_rules_create(struct sim_journal *journal, bool is_fixed)
{
    struct sim_uplink_rules *r = calloc(1, sizeof(*r));
    assert(r != NULL);
    r->journal = journal;
    r->is_fixed = is_fixed;
    return r;
}

void sim_uplink_rules_destroy(struct sim_uplink_rules *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->track_count; i++) {
        free(r->track[i]);
    }
    free(r);
}

static void check_owed(struct sim_uplink_rules *r, uint64_t now_us)
{
    if (r->owed != NULL && now_us > r->owed_us) {
        if (r->is_attached && !r->owed->is_given) {
            sim_journal_fault(r->journal, r->owed_us,
                              "a packet whose turn it is is given in the same instant");
        }
        r->owed = NULL;
    }
}

static struct track *newest_track(const struct sim_uplink_rules *r)
{
    return r->track_count == 0 ? NULL : r->track[r->track_count - 1];
}

static struct track *find_track(const struct sim_uplink_rules *r, uint32_t ssrc)
{
    for (size_t i = 0; i < r->track_count; i++) {
        if (r->track[i]->ssrc == ssrc) {
            return r->track[i];
        }
    }
    return NULL;
}

static struct track *begin_track(struct sim_uplink_rules *r, const struct sim_said *said,
                                 uint64_t now_us)
{
    assert(r->track_count < TRACKS_MAX);
    struct track *t = calloc(1, sizeof(*t));
    assert(t != NULL);
    t->ssrc = said->ssrc;
    t->first_timestamp = said->timestamp;
    t->first_sequence = said->sequence_number;
    t->begin_us = now_us;
    r->track[r->track_count++] = t;
    return t;
}

static uint32_t slot_number(const struct track *t, uint32_t timestamp)
{
    return (timestamp - t->first_timestamp) / SIM_SPEAKER_SLOT_UNITS;
}

void sim_uplink_rules_said(struct sim_uplink_rules *r, const struct sim_said *said, uint64_t now_us)
{
    struct track *t = newest_track(r);
    check_owed(r, now_us);
    if (t == NULL || t->ssrc != said->ssrc) {
        t = begin_track(r, said, now_us);
    }
    const uint32_t number = slot_number(t, said->timestamp);
    assert(number < SLOTS);
    r->said++;
    t->slot[number] = (struct slot){.is_said = true,
                                    .said_us = now_us,
                                    .is_dtx = said->is_dtx,
                                    .number = said->number,
                                    .is_garbage = said->is_garbage,
                                    .has_copy = said->has_copy,
                                    .copy_slot = slot_number(t, said->copy_timestamp),
                                    .previous_slot = t->latest_slot};
    t->latest_slot = number;
    t->slot_of_sequence[(uint16_t)(said->sequence_number - t->first_sequence) % SLOTS] = number;
}

/* Nothing is given for silence: it is as settled as what came before it. */
static bool is_settled(const struct track *t, uint32_t number)
{
    const struct slot *s = &t->slot[number];
    while (s->is_dtx && s->arrived_us > 0 && s->previous_slot != number) {
        number = s->previous_slot;
        s = &t->slot[number];
    }
    return s->is_given || s->is_repaired || (s->is_dtx && s->arrived_us > 0);
}

/* What comes before, or while the history is replayed, has its place decided before it is given. */
static bool is_live(const struct sim_uplink_rules *r, uint64_t now_us)
{
    return r->is_attached && now_us > r->attached_us + REPLAY_US;
}

/* One behind it has waited for it as long as anything waits. */
static bool is_given_up(const struct track *t, uint32_t number, uint64_t now_us)
{
    return t->latest_arrived > number &&
           time_since(t->slot[t->latest_arrived].arrived_us, now_us) > WAIT_US_MAX;
}

void sim_uplink_rules_arrived(struct sim_uplink_rules *r, uint32_t ssrc, uint16_t sequence_number,
                              uint64_t now_us)
{
    struct track *t = find_track(r, ssrc);
    check_owed(r, now_us);
    assert(t != NULL);
    const uint32_t number =
        t->slot_of_sequence[(uint16_t)(sequence_number - t->first_sequence) % SLOTS];
    struct slot *s = &t->slot[number];
    if (s->has_copy && t->slot[s->copy_slot].copy_arrived_us == 0) {
        t->slot[s->copy_slot].copy_arrived_us = now_us;
    }
    if (s->is_garbage) {
        return; /* as if it were lost, but for the copy in it */
    }
    if (s->arrived_us > 0 || s->is_repaired) {
        return; /* twice, or late: it stays concealed */
    }
    s->arrived_us = now_us;
    s->is_late =
        (r->is_attached ? t->has_given && number < t->latest_given : number < t->latest_arrived) ||
        is_given_up(t, number, now_us);
    const bool is_first = s->previous_slot == number;
    r->arrived += t->latest_arrived <= number; /* what comes late was given up before */
    t->latest_arrived = t->latest_arrived > number ? t->latest_arrived : number;
    const bool is_next = is_first || is_settled(t, s->previous_slot);
    const bool is_past = s->is_late || (t->has_given && number <= t->latest_given);
    if (!s->is_dtx && is_next && !is_past && is_live(r, now_us) && t == newest_track(r)) {
        r->owed = s;
        r->owed_us = now_us;
    }
}

static struct slot *find_slot(const struct sim_uplink_rules *r, uint32_t timestamp,
                              struct track **out_track)
{
    for (size_t i = r->track_count; i > 0; i--) {
        struct track *t = r->track[i - 1];
        const uint32_t number = slot_number(t, timestamp);
        if (number < SLOTS && timestamp - t->first_timestamp == number * SIM_SPEAKER_SLOT_UNITS) {
            *out_track = t;
            return &t->slot[number];
        }
    }
    return NULL;
}

/* What passes through uncoded is what was said. */
static void check_uncoded(struct sim_uplink_rules *r, const struct slot *s,
                          const struct backend_frame *frame, uint64_t now_us)
{
    if (r->is_fixed && frame->codec == BACKEND_CODEC_OPUS && !s->is_dtx &&
        !bytes_equal(frame->payload, sim_voice_fixed(s->number))) {
        sim_journal_fault(r->journal, now_us, "what is given is what was said: timestamp %u",
                          frame->utterance);
    }
}

static void given_as_it_was(struct sim_uplink_rules *r, struct slot *s,
                            const struct backend_frame *frame, uint64_t now_us)
{
    const bool is_late = (frame->flags & BACKEND_AUDIO_LATE) != 0;
    if (s->arrived_us == 0) {
        sim_journal_fault(r->journal, now_us, "a frame without a flag has arrived: timestamp %u",
                          frame->utterance);
    }
    if (s->is_given && !is_late) {
        sim_journal_fault(r->journal, now_us, "a packet is given once: timestamp %u",
                          frame->utterance);
    }
    const uint64_t turn_us = time_later(time_later(s->arrived_us, r->excused_us) + WAIT_US_MAX,
                                        r->attached_us + REPLAY_WAIT_US);
    if (!is_late && now_us > turn_us) {
        sim_journal_fault(r->journal, now_us, "no packet waits %" PRIu64 " us: timestamp %u",
                          now_us - s->arrived_us, frame->utterance);
    }
    check_uncoded(r, s, frame, now_us);
    s->is_given = true;
}

static void given_repaired(struct sim_uplink_rules *r, struct slot *s,
                           const struct backend_frame *frame, uint64_t now_us)
{
    const bool is_copy = (frame->flags & BACKEND_AUDIO_RED) != 0;
    sim_journal_note(r->journal, now_us, "voice %s: timestamp %u",
                     is_copy                                   ? "from RED"
                     : (frame->flags & BACKEND_AUDIO_FEC) != 0 ? "from FEC"
                                                               : "concealed",
                     frame->utterance);
    if (s->arrived_us > 0 && is_live(r, s->arrived_us)) {
        sim_journal_fault(r->journal, now_us, "what has arrived is not repaired: timestamp %u",
                          frame->utterance);
    }
    const bool has_copy = s->copy_arrived_us > 0;
    if (is_copy ? !has_copy : has_copy && is_live(r, s->copy_arrived_us)) {
        sim_journal_fault(r->journal, now_us, "a copy that has arrived is used: timestamp %u",
                          frame->utterance);
    }
    if (is_copy) {
        check_uncoded(r, s, frame, now_us);
    }
    s->is_repaired = true;
}

static void note_given(struct track *t, uint32_t number)
{
    t->latest_given = t->has_given && t->latest_given > number ? t->latest_given : number;
    t->has_given = true;
}

void sim_uplink_rules_given(struct sim_uplink_rules *r, const struct backend_frame *audio_in,
                            uint64_t now_us)
{
    static const unsigned repaired =
        BACKEND_AUDIO_CONCEALED | BACKEND_AUDIO_FEC | BACKEND_AUDIO_RED;
    if ((audio_in->flags & BACKEND_AUDIO_SILENCE) != 0) {
        return;
    }
    r->is_uncoded = audio_in->codec == BACKEND_CODEC_OPUS;
    struct track *t = NULL;
    struct slot *s = find_slot(r, audio_in->utterance, &t);
    if (s != NULL) {
        note_given(t, (uint32_t)(s - t->slot));
    }
    if ((audio_in->flags & BACKEND_AUDIO_CONCEALED) != 0) {
        /* Silence is never concealed; but where in it a packet was lost, nobody knows. */
        r->concealed += s == NULL || !s->is_concealed; /* a replay repeats it */
        if (s != NULL) {
            s->is_concealed = true;
        }
        if (r->concealed > r->said - r->arrived) {
            sim_journal_fault(r->journal, now_us,
                              "concealed is at most what was lost: timestamp %u",
                              audio_in->utterance);
        }
        if (s == NULL || !s->is_said) {
            return;
        }
    }
    if (s == NULL || !s->is_said) {
        sim_journal_fault(r->journal, now_us, "AUDIO_IN is of what was said: timestamp %u",
                          audio_in->utterance);
    } else if ((audio_in->flags & repaired) != 0) {
        given_repaired(r, s, audio_in, now_us);
    } else {
        given_as_it_was(r, s, audio_in, now_us);
    }
}

void sim_uplink_rules_attach(struct sim_uplink_rules *r, bool is_attached, uint64_t now_us)
{
    check_owed(r, now_us);
    r->away_us = r->is_attached && !is_attached ? now_us : r->away_us;
    r->attached_us = is_attached && !r->is_attached ? now_us : r->attached_us;
    r->is_attached = is_attached;
}

/* Packets that nobody need be given. */
static bool is_excused(const struct sim_uplink_rules *r, const struct track *next,
                       const struct slot *s, uint64_t end_us)
{
    return s->is_dtx || s->is_late || s->arrived_us + EXEMPT_US > end_us ||
           (next != NULL && s->arrived_us + EXEMPT_US > next->begin_us) ||
           s->said_us + HISTORY_US < r->attached_us + CLOCK_ERROR_US ||
           (s->arrived_us >= r->attached_us && !is_live(r, s->arrived_us));
}

/* A short loss between two packets that were given, in a voice that did not pause, is repaired:
 * every frame of it. */
static void check_repaired(struct sim_uplink_rules *r, const struct track *t, uint64_t end_us)
{
    uint32_t lost = 0;
    bool is_after_given = false;
    for (uint32_t n = 0; n <= t->latest_slot; n++) {
        const struct slot *s = &t->slot[n];
        const bool is_lost = s->is_said && !s->is_dtx && s->arrived_us == 0 && !s->is_repaired;
        if (is_lost) {
            lost++;
            continue;
        }
        const bool is_live_one = s->is_given && is_live(r, s->arrived_us) &&
                                 s->arrived_us + EXEMPT_US < end_us && !s->is_late;
        if (is_live_one && is_after_given && lost > 0 && lost <= CONCEALED_MAX) {
            sim_journal_fault(r->journal, s->arrived_us, "a short loss is repaired: timestamp %u",
                              t->first_timestamp + n * SIM_SPEAKER_SLOT_UNITS);
        }
        is_after_given = is_live_one;
        lost = 0;
    }
}

void sim_uplink_rules_finish(struct sim_uplink_rules *r, uint64_t now_us)
{
    const uint64_t end_us = r->is_attached ? now_us : r->away_us;
    check_owed(r, now_us);
    for (size_t i = 0; i < r->track_count; i++) {
        const struct track *t = r->track[i];
        const struct track *next = i + 1 < r->track_count ? r->track[i + 1] : NULL;
        if (!r->is_uncoded) {
            check_repaired(r, t, next == NULL ? end_us : next->begin_us);
        }
        for (uint32_t n = 0; n <= t->latest_slot; n++) {
            const struct slot *s = &t->slot[n];
            if (s->arrived_us > 0 && !s->is_given && !s->is_repaired &&
                !is_excused(r, next, s, end_us)) {
                sim_journal_fault(r->journal, s->arrived_us,
                                  "what arrived in time is given on: timestamp %" PRIu32,
                                  t->first_timestamp + n * SIM_SPEAKER_SLOT_UNITS);
            }
        }
    }
}

void sim_uplink_rules_excuse(struct sim_uplink_rules *r, uint64_t until_us)
{
    r->excused_us = until_us;
}
