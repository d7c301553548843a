/* sim_agent_rules.c - see sim_agent_rules.h */
#include "tests/support/sim_agent_rules.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WAKE_US_MAX (50 * US_PER_MS) /* after a stall: a step of the simulation */
/* sent_us and time_us are rounded down, each by less than a sample. */
#define ROUNDING_US 125

struct utterance {
    bool is_accepted;
    uint64_t complete_us; /* LAST, or a higher id; TIME_NEVER: neither */
    bool is_flushed;
    bool is_paused;
    bool is_started;
    bool was_away; /* while it was there the connection broke: its start may have been lost */
    bool is_done;  /* on this connection */
    bool was_done;
    uint64_t supplied_us;
    uint64_t sent_us;
    uint64_t heard_us;
    uint64_t latest_us; /* of its latest frame */
};

struct sim_agent_rules {
    struct sim_journal *journal;
    struct utterance utterance[SIM_AGENT_UTTERANCES_MAX];
    uint32_t newest;
    uint32_t newest_done;
    uint32_t flushed_up_to;
    uint32_t flushes_owed[16];
    size_t flush_count;
    uint64_t window_us;
    uint64_t limit_us;
    bool is_limit_of_resume; /* told by RESUME, and by no CREDIT yet */
    uint64_t supplied_us;    /* in all */
    bool has_session;
    bool is_accepted;  /* on this connection: nothing is told before */
    uint64_t start_us; /* when the session clock was 0 */
    bool is_over;
    bool is_answered;
    uint32_t next_sequence;
    bool has_audio;
    uint64_t next_audio_us;
    uint64_t next_sound_us;
    unsigned errors_allowed;
    uint64_t latest_error_us;
    uint64_t stalled_until_us;
};

static void forget_utterances(struct sim_agent_rules *r)
{
    for (size_t i = 0; i < SIM_AGENT_UTTERANCES_MAX; i++) {
        r->utterance[i] = (struct utterance){.complete_us = TIME_NEVER};
    }
}

struct sim_agent_rules *sim_agent_rules_create(struct sim_journal *journal, uint64_t start_us)
{
    struct sim_agent_rules *r = calloc(1, sizeof(*r));
    assert(r != NULL);
    r->journal = journal;
    r->start_us = start_us;
    forget_utterances(r);
    return r;
}

void sim_agent_rules_destroy(struct sim_agent_rules *r)
{
    free(r);
}

uint64_t sim_agent_rules_credit_us(const struct sim_agent_rules *r)
{
    return r->limit_us > r->supplied_us ? r->limit_us - r->supplied_us : 0;
}

uint64_t sim_agent_rules_number(const struct backend_frame *frame, const char *key)
{
    char text[512];
    char name[64];
    (void)snprintf(text, sizeof(text), "%.*s", (int)frame->payload.len,
                   (const char *)frame->payload.data);
    (void)snprintf(name, sizeof(name), "\"%s\":", key);
    const char *found = strstr(text, name);
    return found == NULL ? 0 : strtoull(found + strlen(name), NULL, 10);
}

static bool says(const struct backend_frame *frame, const char *words)
{
    const size_t len = strlen(words);
    for (size_t i = 0; i + len <= frame->payload.len; i++) {
        if (memcmp(frame->payload.data + i, words, len) == 0) {
            return true;
        }
    }
    return false;
}

void sim_agent_rules_lost(struct sim_agent_rules *r)
{
    r->has_session = r->is_accepted = false;
}

/* A resumed call keeps its utterances; each `done` may be told once more. A call that begins anew
 * knows none. */
void sim_agent_rules_connect(struct sim_agent_rules *r, bool is_resumed)
{
    r->has_session = r->is_accepted = false;
    r->next_sequence = 0;
    r->flush_count = 0;
    r->newest_done = 0;
    if (!is_resumed) {
        struct sim_journal *journal = r->journal;
        const uint64_t start_us = r->start_us;
        *r = (struct sim_agent_rules){.journal = journal, .start_us = start_us};
        forget_utterances(r);
    }
    for (size_t i = 0; i < SIM_AGENT_UTTERANCES_MAX; i++) {
        r->utterance[i].was_away = is_resumed;
        r->utterance[i].is_done = false;
    }
}

/* --- what the agent says ---------------------------------------------------------------------- */

static void complete(struct utterance *u, uint64_t now_us)
{
    u->complete_us = time_earlier(u->complete_us, now_us);
}

static void said_audio(struct sim_agent_rules *r, const struct backend_frame *frame,
                       uint64_t media_us, uint64_t now_us)
{
    const uint32_t id = frame->utterance;
    assert(id > 0 && id < SIM_AGENT_UTTERANCES_MAX);
    r->supplied_us += media_us;
    struct utterance *u = &r->utterance[id];
    if (id <= r->flushed_up_to || id < r->newest || u->complete_us != TIME_NEVER) {
        return; /* dropped by its number */
    }
    if (id > r->newest && r->newest > 0) {
        complete(&r->utterance[r->newest], now_us);
    }
    r->newest = id;
    u->is_accepted = true;
    u->supplied_us += media_us;
    if ((frame->flags & BACKEND_FLAG_LAST) != 0) {
        complete(u, now_us);
    }
    u->latest_us = media_us > 0 ? now_us : u->latest_us; /* an empty frame feeds nobody */
}

static void said_flush(struct sim_agent_rules *r, const struct backend_frame *frame)
{
    const bool is_all = frame->utterance == 0 || frame->utterance == UINT32_MAX;
    const uint32_t id = is_all ? r->newest : frame->utterance;
    assert(r->flush_count < sizeof(r->flushes_owed) / sizeof(r->flushes_owed[0]));
    r->flushes_owed[r->flush_count++] = id;
    r->flushed_up_to = id > r->flushed_up_to ? id : r->flushed_up_to;
    for (uint32_t i = 1; i <= id && i < SIM_AGENT_UTTERANCES_MAX; i++) {
        r->utterance[i].is_flushed = true;
    }
}

void sim_agent_rules_said(struct sim_agent_rules *r, const struct backend_frame *frame,
                          uint64_t media_us, uint64_t now_us)
{
    if (frame->type == BACKEND_AUDIO_OUT) {
        said_audio(r, frame, media_us, now_us);
    } else if (frame->type == BACKEND_FLUSH) {
        said_flush(r, frame);
    } else if (frame->type == BACKEND_SESSION_ACCEPT) {
        r->is_accepted = true;
    } else if (frame->type == BACKEND_SESSION_END) {
        complete(&r->utterance[r->newest], now_us); /* nothing more comes */
    } else if ((frame->type == BACKEND_PAUSE || frame->type == BACKEND_RESUME) &&
               frame->utterance < SIM_AGENT_UTTERANCES_MAX) {
        r->utterance[frame->utterance].is_paused = frame->type == BACKEND_PAUSE;
    }
}

void sim_agent_rules_stall(struct sim_agent_rules *r, uint64_t until_us)
{
    r->stalled_until_us = until_us;
}

void sim_agent_rules_allow_error(struct sim_agent_rules *r)
{
    r->errors_allowed++;
}

/* --- what it hears ---------------------------------------------------------------------------- */

static void heard_audio(struct sim_agent_rules *r, const struct backend_frame *frame,
                        uint64_t now_us)
{
    const bool is_gap = (frame->flags & BACKEND_AUDIO_DISCONTINUITY) != 0;
    const bool is_silence = (frame->flags & BACKEND_AUDIO_SILENCE) != 0;
    const uint64_t duration_us = frame->duration_2500us * UINT64_C(2500);
    if (is_silence != (frame->payload.len == 0)) {
        sim_journal_fault(r->journal, now_us, "AUDIO_IN has samples or is silence");
    }
    /* Silence is told before it is known how long it was: sound wins. */
    if (r->has_audio && frame->time_us + ROUNDING_US < r->next_sound_us) {
        sim_journal_fault(r->journal, now_us,
                          "AUDIO_IN is in order of time: %" PRIu64 " after the end at %" PRIu64,
                          frame->time_us, r->next_sound_us);
    }
    if (r->has_audio && !is_gap && frame->time_us > r->next_audio_us + ROUNDING_US) {
        sim_journal_fault(r->journal, now_us,
                          "a gap of AUDIO_IN is flagged: %" PRIu64 " after the end at %" PRIu64,
                          frame->time_us, r->next_audio_us);
    }
    r->has_audio = true;
    r->next_audio_us = frame->time_us + duration_us;
    r->next_sound_us = is_silence ? r->next_sound_us : r->next_audio_us;
}

static void heard_credit(struct sim_agent_rules *r, const struct backend_frame *frame,
                         uint64_t now_us)
{
    struct byte_reader reader;
    byte_reader_init(&reader, frame->payload);
    const uint64_t limit_us = byte_reader_u64_le(&reader);
    const bool is_said_again = r->is_limit_of_resume && limit_us == r->limit_us;
    r->is_limit_of_resume = false;
    if (limit_us <= r->limit_us && !is_said_again) {
        sim_journal_fault(r->journal, now_us, "the credit rises: %" PRIu64 " after %" PRIu64,
                          limit_us, r->limit_us);
    }
    if (limit_us > r->supplied_us + r->window_us) {
        sim_journal_fault(r->journal, now_us,
                          "the credit is at most the window: %" PRIu64 " of %" PRIu64 " + %" PRIu64,
                          limit_us, r->supplied_us, r->window_us);
    }
    r->limit_us = limit_us;
}

static void heard_flushed(struct sim_agent_rules *r, const struct backend_frame *frame,
                          uint64_t now_us)
{
    const uint64_t sent_us = sim_agent_rules_number(frame, "sent_us");
    const uint64_t playing = sim_agent_rules_number(frame, "utterance");
    if (r->flush_count == 0 || r->flushes_owed[0] != frame->utterance) {
        sim_journal_fault(r->journal, now_us, "FLUSHED answers the oldest FLUSH: %" PRIu32,
                          frame->utterance);
        return;
    }
    r->flush_count--;
    memmove(r->flushes_owed, r->flushes_owed + 1, r->flush_count * sizeof(r->flushes_owed[0]));
    if (playing > frame->utterance ||
        (playing > 0 && sent_us > r->utterance[playing].supplied_us + ROUNDING_US) ||
        sim_agent_rules_number(frame, "heard_us") > sent_us) {
        sim_journal_fault(r->journal, now_us, "heard_us <= sent_us <= supplied in FLUSHED");
    }
}

/* An agent that did not read for a while hears of what is long past. */
static bool is_true_reason(const struct sim_agent_rules *r, const struct utterance *u,
                           const struct backend_frame *frame)
{
    const uint64_t then_us = r->start_us + frame->time_us;
    if (says(frame, "\"played\"")) {
        return u->complete_us <= then_us && u->sent_us + ROUNDING_US >= u->supplied_us;
    }
    if (says(frame, "\"flushed\"")) {
        return u->is_flushed;
    }
    if (says(frame, "\"starved\"")) {
        return u->complete_us >= then_us && !u->is_paused &&
               (u->latest_us > then_us || then_us - u->latest_us >= 2 * US_PER_S);
    }
    return says(frame, "\"session_end\"") || says(frame, "\"backend_lost\"") || r->is_over;
}

static void heard_done(struct sim_agent_rules *r, struct utterance *u,
                       const struct backend_frame *frame, uint64_t now_us)
{
    if (frame->utterance <= r->newest_done || u->is_done) {
        sim_journal_fault(r->journal, now_us, "done once, in the order of ids: %" PRIu32,
                          frame->utterance);
    }
    for (uint32_t i = 1; i < frame->utterance; i++) {
        if (r->utterance[i].is_accepted && !r->utterance[i].was_done) {
            sim_journal_fault(r->journal, now_us, "%" PRIu32 " is done before %" PRIu32,
                              frame->utterance, i);
        }
    }
    const bool is_repeat = u->was_done; /* after a resume */
    if (!is_repeat && !is_true_reason(r, u, frame)) {
        sim_journal_fault(r->journal, now_us, "done for a reason that is true: %" PRIu32 " %.*s",
                          frame->utterance, (int)frame->payload.len,
                          (const char *)frame->payload.data);
    }
    r->newest_done = frame->utterance;
    u->is_done = u->was_done = true;
}

static void heard_playback(struct sim_agent_rules *r, const struct backend_frame *frame,
                           uint64_t now_us)
{
    const uint64_t sent_us = sim_agent_rules_number(frame, "sent_us");
    const uint64_t heard_us = sim_agent_rules_number(frame, "heard_us");
    if (r->newest == 0 && !r->is_accepted && says(frame, "\"backend_lost\"")) {
        return; /* of the backend before, told to one that knows nothing of it */
    }
    if (frame->utterance == 0 || frame->utterance >= SIM_AGENT_UTTERANCES_MAX ||
        !r->utterance[frame->utterance].is_accepted) {
        sim_journal_fault(r->journal, now_us, "PLAYBACK is of an utterance that was said: %" PRIu32,
                          frame->utterance);
        return;
    }
    struct utterance *u = &r->utterance[frame->utterance];
    if (u->is_done && !says(frame, "\"done\"")) {
        sim_journal_fault(r->journal, now_us, "nothing follows done: %" PRIu32, frame->utterance);
    }
    if (heard_us > sent_us || sent_us > u->supplied_us + ROUNDING_US || sent_us < u->sent_us) {
        sim_journal_fault(r->journal, now_us,
                          "heard_us <= sent_us <= supplied, rising: %" PRIu64 " %" PRIu64
                          " %" PRIu64 " before %" PRIu64,
                          heard_us, sent_us, u->supplied_us, u->sent_us);
    }
    u->sent_us = sent_us;
    u->heard_us = heard_us;
    if (says(frame, "\"started\"")) {
        if (u->is_started) {
            sim_journal_fault(r->journal, now_us, "started once: %" PRIu32, frame->utterance);
        }
        u->is_started = true;
    } else if (says(frame, "\"done\"")) {
        heard_done(r, u, frame, now_us);
    } else if (!u->is_started && !u->was_away && !says(frame, "\"paused\"") &&
               !says(frame, "\"resumed\"") && !says(frame, "\"underrun\"")) {
        sim_journal_fault(r->journal, now_us, "started comes first: %" PRIu32, frame->utterance);
    }
}

static void heard_error(struct sim_agent_rules *r, const struct backend_frame *frame,
                        uint64_t now_us)
{
    if (r->errors_allowed == 0) {
        sim_journal_fault(r->journal, now_us, "an ERROR has a cause: %.*s", (int)frame->payload.len,
                          (const char *)frame->payload.data);
    }
    if (r->latest_error_us > 0 && now_us - r->latest_error_us < US_PER_S) {
        sim_journal_fault(r->journal, now_us, "at most one ERROR a second");
    }
    const bool is_fresh = now_us > r->stalled_until_us + WAKE_US_MAX; /* else it came long ago */
    r->latest_error_us = is_fresh ? now_us : 0;
}

/* What did not arrive before the connection broke was never said. */
static void resume_utterances(struct sim_agent_rules *r, const struct backend_frame *frame)
{
    const uint32_t newest = (uint32_t)sim_agent_rules_number(frame, "utterance");
    const uint64_t received_us = sim_agent_rules_number(frame, "received_us");
    for (uint32_t i = newest + 1; i < SIM_AGENT_UTTERANCES_MAX; i++) {
        r->utterance[i] = (struct utterance){.complete_us = TIME_NEVER};
    }
    if (newest > 0 && newest < SIM_AGENT_UTTERANCES_MAX) {
        struct utterance *u = &r->utterance[newest];
        const bool is_cut = u->supplied_us > received_us + ROUNDING_US;
        u->complete_us = is_cut ? TIME_NEVER : u->complete_us;
        u->supplied_us = time_earlier(u->supplied_us, received_us + ROUNDING_US);
    }
    r->newest = newest;
}

static void heard_start(struct sim_agent_rules *r, const struct backend_frame *frame)
{
    r->has_session = true;
    r->next_sequence = 1;
    if (frame->type == BACKEND_SESSION_START) {
        r->window_us = r->limit_us = sim_agent_rules_number(frame, "credit_us");
        r->has_audio = false;
    } else {
        r->limit_us = sim_agent_rules_number(frame, "credit_us");
        r->is_limit_of_resume = true;
        r->supplied_us = sim_agent_rules_number(frame, "received_total_us");
        resume_utterances(r, frame);
        r->next_audio_us = r->next_sound_us = sim_agent_rules_number(frame, "audio_in_from_us");
    }
}

void sim_agent_rules_heard(struct sim_agent_rules *r, const struct backend_frame *frame,
                           uint64_t now_us)
{
    if (frame->type == BACKEND_SESSION_START || frame->type == BACKEND_SESSION_RESUME) {
        heard_start(r, frame);
        return;
    }
    if (frame->sequence != r->next_sequence++) {
        sim_journal_fault(r->journal, now_us, "frames are numbered without a gap: %" PRIu32,
                          frame->sequence);
    }
    /* Both ends at once: each answers. */
    if (r->is_over && (frame->type != BACKEND_SESSION_ENDED || r->is_answered)) {
        sim_journal_fault(r->journal, now_us, "nothing follows the last word: type %02x",
                          frame->type);
    }
    switch (frame->type) {
    case BACKEND_AUDIO_IN:
        heard_audio(r, frame, now_us);
        break;
    case BACKEND_CREDIT:
        heard_credit(r, frame, now_us);
        break;
    case BACKEND_FLUSHED:
        heard_flushed(r, frame, now_us);
        break;
    case BACKEND_PLAYBACK:
        heard_playback(r, frame, now_us);
        break;
    case BACKEND_ERROR:
        heard_error(r, frame, now_us);
        break;
    case BACKEND_SESSION_END:
    case BACKEND_SESSION_ENDED:
        r->is_answered = frame->type == BACKEND_SESSION_ENDED;
        sim_agent_rules_finish(r, now_us);
        break;
    default:
        break;
    }
}

void sim_agent_rules_finish(struct sim_agent_rules *r, uint64_t now_us)
{
    r->is_over = true;
    for (uint32_t i = 1; i < SIM_AGENT_UTTERANCES_MAX; i++) {
        if (r->is_accepted && r->utterance[i].is_accepted && !r->utterance[i].was_done) {
            sim_journal_fault(r->journal, now_us, "each utterance is done: %" PRIu32, i);
        }
    }
    if (r->flush_count > 0) {
        sim_journal_fault(r->journal, now_us, "each FLUSH is answered: %" PRIu32,
                          r->flushes_owed[0]);
    }
}
