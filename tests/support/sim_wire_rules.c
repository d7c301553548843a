/* sim_wire_rules.c - see sim_wire_rules.h */
#include "tests/support/sim_wire_rules.h"

#include "common/backend_link/backend_report.h"
#include "services/transceiver/core/media/voice_silence.h"
#include "tests/support/sim_agent_rules.h"
#include "tests/support/sim_ear.h"
#include "tests/support/sim_speech.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define SLOT_US    (20 * US_PER_MS)
#define SLOT_UNITS 960
#define SPARSE_US  (400 * US_PER_MS)
#define WAKE_US    1 /* who became due in the instant that passes wakes in the next */
/* The 20 ms grid begins up to a slot earlier for an utterance, and after a stall two slots late. */
#define CLOCK_ERROR_US (3 * SLOT_US)
#define HISTORY        64 /* packets that NACK may ask for */
#define COPIES         8
#define WIRE_BYTES     1500
/* Of a flushed utterance: the ramp, and what the encoder still holds. Nothing when it is not
 * encoded here. */
#define TAIL_PACKETS 2
/* A tone is at 0.24 of full scale; this much is the onset of another. */
#define OLD_TONE_MAX 0.06

struct primary {
    uint32_t timestamp;
    bool is_speech;
    uint64_t cuts; /* how many there had been */
    size_t len;
    uint8_t data[WIRE_BYTES];
};

struct sim_wire_rules {
    struct sim_journal *journal;
    bool may_begin_late;
    bool is_uncoded;     /* the agent speaks Opus, and it leaves as it is */
    struct sim_ear *ear; /* NULL: not listened to */
    bool has_packet;
    uint32_t ssrc;
    uint16_t next_sequence;
    uint32_t timestamp;
    uint64_t media_us; /* of the timestamp, since the first */
    uint64_t first_us;
    uint64_t latest_us;
    uint64_t before_latest_us;
    uint64_t excused_us;
    uint64_t pause_max_us; /* between two packets */
    uint64_t packets;
    struct {
        bool is_speech;
        uint64_t cuts;
        size_t len;
        uint8_t data[WIRE_BYTES];
    } history[HISTORY];
    uint64_t repeats;
    uint64_t copies;
    struct primary primary[COPIES];
    uint64_t primary_count;
    struct voice_silences silences;
    bool was_speech;
    uint32_t newest; /* utterance with audio that the session took */
    uint32_t flushed_up_to;
    bool is_paused[SIM_AGENT_UTTERANCES_MAX];
    uint32_t latest_started;
    uint64_t flushes;
    uint32_t first_started; /* of those that no flush took back; 0 = none */
    uint64_t cuts;          /* flushes of what was spoken */
    unsigned tail_left;     /* packets that may still sound of what was flushed */
    uint32_t spoken;        /* uncoded: the utterance of the latest packet */
    uint64_t spoken_us;     /* and where it ends */
    uint64_t speech_packets[SIM_AGENT_UTTERANCES_MAX];
};

struct sim_wire_rules *sim_wire_rules_create(struct sim_journal *journal, bool is_heard,
                                             bool is_sparse, bool may_begin_late)
{
    struct sim_wire_rules *r = calloc(1, sizeof(*r));
    assert(r != NULL);
    const bool is_made = voice_silences_make(&r->silences);
    assert(is_made);
    (void)is_made;
    r->journal = journal;
    r->may_begin_late = may_begin_late;
    r->pause_max_us = (is_sparse ? SPARSE_US + SLOT_US : 2 * SLOT_US) + WAKE_US;
    r->ear = is_heard ? sim_ear_create() : NULL;
    return r;
}

void sim_wire_rules_destroy(struct sim_wire_rules *r)
{
    if (r != NULL) {
        sim_ear_destroy(r->ear);
        free(r);
    }
}

void sim_wire_rules_excuse(struct sim_wire_rules *r, uint64_t until_us)
{
    r->excused_us = until_us;
}

/* --- numbers and clock ------------------------------------------------------------------------ */

static void check_repeat(struct sim_wire_rules *r, uint16_t sequence, struct bytes_view wire,
                         uint64_t now_us)
{
    const size_t i = sequence % HISTORY;
    const uint16_t age = (uint16_t)(r->next_sequence - sequence);
    if (age == 0 || age > HISTORY || age > r->packets || wire.len != r->history[i].len ||
        memcmp(wire.data, r->history[i].data, wire.len) != 0) {
        sim_journal_fault(r->journal, now_us,
                          "sequence + 1 a packet, and an SRTP index is used once: %u, next is %u",
                          sequence, r->next_sequence);
    }
    if (r->history[i].is_speech && r->history[i].cuts < r->cuts) {
        sim_journal_fault(r->journal, now_us, "no stale audio after FLUSHED, in no repeat");
    }
    r->repeats++;
}

static void check_clock(struct sim_wire_rules *r, uint64_t now_us)
{
    const uint64_t passed_us = now_us - r->first_us;
    const uint64_t error_us =
        r->media_us > passed_us ? r->media_us - passed_us : passed_us - r->media_us;
    if (error_us > CLOCK_ERROR_US) {
        sim_journal_fault(r->journal, now_us,
                          "timestamps keep step with the clock: off by %" PRIu64, error_us);
    }
    const uint64_t three_us = now_us - r->before_latest_us;
    if (r->packets > 2 &&
        (three_us == 0 || (three_us < SLOT_US / 2 && now_us > r->excused_us + SLOT_US))) {
        sim_journal_fault(r->journal, now_us, "at most two packets back to back");
    }
    if (r->packets > 1 && now_us - r->latest_us > r->pause_max_us &&
        now_us > r->excused_us + r->pause_max_us - SLOT_US) {
        sim_journal_fault(r->journal, now_us, "something leaves in each slot: none for %" PRIu64,
                          now_us - r->latest_us);
    }
}

void sim_wire_rules_packet(struct sim_wire_rules *r, struct bytes_view wire, uint64_t now_us)
{
    struct byte_reader reader;
    byte_reader_init(&reader, wire);
    byte_reader_skip(&reader, 2);
    const uint16_t sequence = byte_reader_u16(&reader);
    const uint32_t timestamp = byte_reader_u32(&reader);
    const uint32_t ssrc = byte_reader_u32(&reader);
    assert(!reader.failed && wire.len <= WIRE_BYTES);
    if (r->has_packet && sequence != r->next_sequence) {
        check_repeat(r, sequence, wire, now_us);
        return;
    }
    if (!r->has_packet) {
        r->first_us = now_us;
    } else {
        const uint32_t step = timestamp - r->timestamp;
        if (ssrc != r->ssrc || step == 0 || step % SLOT_UNITS != 0 || step > 1000 * SLOT_UNITS) {
            sim_journal_fault(r->journal, now_us, "one SSRC, timestamp + 960 a slot: + %" PRIu32,
                              step);
        }
        r->media_us += step / SLOT_UNITS * SLOT_US;
        check_clock(r, now_us);
    }
    r->has_packet = true;
    r->ssrc = ssrc;
    r->next_sequence = (uint16_t)(sequence + 1);
    r->timestamp = timestamp;
    r->before_latest_us = r->latest_us;
    r->latest_us = now_us;
    r->packets++;
    r->history[sequence % HISTORY].is_speech = false;
    r->history[sequence % HISTORY].cuts = r->cuts;
    r->history[sequence % HISTORY].len = wire.len;
    memcpy(r->history[sequence % HISTORY].data, wire.data, wire.len);
}

void sim_wire_rules_finish(struct sim_wire_rules *r, uint64_t now_us)
{
    if (r->has_packet && now_us - r->latest_us > r->pause_max_us &&
        now_us > r->excused_us + r->pause_max_us - SLOT_US) {
        sim_journal_fault(r->journal, now_us, "something leaves in each slot, to the end");
    }
}

/* --- what is in it ---------------------------------------------------------------------------- */

static bool is_silence(const struct sim_wire_rules *r, struct bytes_view payload)
{
    static const uint32_t rate_hz[] = {8000, 16000, 24000, 48000};
    for (size_t i = 0; i < COUNT_OF(rate_hz); i++) {
        if (bytes_equal(payload, voice_silences_find(&r->silences, VOICE_CODEC_OPUS, rate_hz[i]))) {
            return true;
        }
    }
    return false;
}

/* Speech that was not coded here says whose it is. */
static void check_uncoded(struct sim_wire_rules *r, struct bytes_view payload, uint64_t now_us)
{
    const uint32_t utterance = sim_speech_utterance(payload);
    const uint64_t from_us = sim_speech_position_us(payload);
    if (utterance == 0) {
        return;
    }
    if (utterance <= r->flushed_up_to) {
        sim_journal_fault(r->journal, now_us, "no stale audio after FLUSHED: utterance %" PRIu32,
                          utterance);
    }
    const bool is_first = r->may_begin_late && r->spoken == 0;
    if (utterance < r->spoken || (utterance == r->spoken && from_us != r->spoken_us) ||
        (utterance > r->spoken && from_us != 0 && !is_first)) {
        sim_journal_fault(r->journal, now_us,
                          "speech is in order, whole, and once: utterance %" PRIu32 " at %" PRIu64
                          " after %" PRIu32 " at %" PRIu64,
                          utterance, from_us, r->spoken, r->spoken_us);
    }
    if (is_first) {
        r->speech_packets[utterance % SIM_AGENT_UTTERANCES_MAX] += from_us / SLOT_US;
    }
    r->spoken = utterance;
    r->spoken_us = from_us + SLOT_US;
    r->speech_packets[utterance % SIM_AGENT_UTTERANCES_MAX]++;
}

static void check_copy(struct sim_wire_rules *r, uint32_t timestamp, struct bytes_view payload,
                       uint64_t now_us)
{
    r->copies++;
    for (uint64_t i = 0; i < COPIES && i < r->primary_count; i++) {
        const struct primary *p = &r->primary[i];
        if (p->timestamp != timestamp) {
            continue;
        }
        if (p->is_speech && p->cuts < r->cuts) {
            sim_journal_fault(r->journal, now_us, "no stale audio after FLUSHED, in no copy");
        }
        if (p->len != payload.len || memcmp(p->data, payload.data, p->len) != 0) {
            sim_journal_fault(r->journal, now_us, "a copy is of what was sent");
        }
        return;
    }
    sim_journal_fault(r->journal, now_us, "a copy is of a packet that was sent lately");
}

static void check_tail(struct sim_wire_rules *r, struct bytes_view payload, bool is_speech,
                       uint64_t now_us)
{
    const double old_tone =
        r->ear == NULL ? 0 : sim_ear_hear(r->ear, payload, sim_speech_tone_hz(r->flushed_up_to));
    if (r->flushes == 0) {
        return;
    }
    if (r->tail_left > 0) {
        r->tail_left--;
        return;
    }
    if (is_speech && r->newest <= r->flushed_up_to) {
        sim_journal_fault(r->journal, now_us, "no stale audio after FLUSHED: %" PRIu32,
                          r->flushed_up_to);
    }
    const bool is_other_tone = r->newest - r->flushed_up_to < SIM_SPEECH_TONES;
    if (is_other_tone && old_tone > OLD_TONE_MAX) {
        sim_journal_fault(r->journal, now_us,
                          "no tone of what was FLUSHED: %" PRIu32 ", level %.3f", r->flushed_up_to,
                          old_tone);
    }
}

void sim_wire_rules_payload(struct sim_wire_rules *r, const struct rtp_packet *packet,
                            const struct sim_red_block *block, size_t count, uint64_t now_us)
{
    if (count == 0) {
        sim_journal_fault(r->journal, now_us, "a packet that can not be read");
        return;
    }
    if ((uint16_t)(packet->sequence_number + 1) != r->next_sequence) {
        return; /* said again, for one that could not read it before: check_repeat saw it */
    }
    for (size_t i = 0; i + 1 < count; i++) {
        check_copy(r, packet->timestamp - block[i].timestamp_offset, block[i].payload, now_us);
    }
    const struct bytes_view payload = block[count - 1].payload;
    const bool is_speech = !is_silence(r, payload);
    if (is_speech != r->was_speech) {
        sim_journal_note(r->journal, now_us, "wire: %s", is_speech ? "speech" : "silence");
    }
    r->was_speech = is_speech;
    check_uncoded(r, payload, now_us);
    check_tail(r, payload, is_speech, now_us);
    struct primary *p = &r->primary[r->primary_count++ % COPIES];
    p->timestamp = packet->timestamp;
    p->is_speech = is_speech;
    p->cuts = r->cuts;
    r->history[packet->sequence_number % HISTORY].is_speech = is_speech;
    p->len = payload.len;
    memcpy(p->data, payload.data, payload.len);
}

/* --- what changes it -------------------------------------------------------------------------- */

static void take_flushed(struct sim_wire_rules *r, const struct backend_frame *frame,
                         uint64_t now_us)
{
    const uint64_t playing = sim_agent_rules_number(frame, "utterance");
    const uint64_t sent_us = sim_agent_rules_number(frame, "sent_us");
    const bool has_begun = !r->may_begin_late || r->spoken > 0;
    if (has_begun && r->is_uncoded && playing > 0 && playing < SIM_AGENT_UTTERANCES_MAX &&
        sent_us != r->speech_packets[playing] * SLOT_US) {
        sim_journal_fault(r->journal, now_us,
                          "FLUSHED tells what was sent: %" PRIu64 " us, but %" PRIu64 " packets",
                          sent_us, r->speech_packets[playing]);
    }
    if (frame->utterance > r->flushed_up_to) {
        r->flushed_up_to = frame->utterance;
        r->flushes++;
        if (r->first_started > 0 && frame->utterance >= r->first_started) {
            r->cuts++;
            r->first_started = r->latest_started > frame->utterance ? r->latest_started : 0;
        }
        r->tail_left = r->is_uncoded ? 0 : TAIL_PACKETS;
    }
}

/* Another backend: ids begin anew. What went to the client before stays as it was. */
static void forget_utterances(struct sim_wire_rules *r)
{
    r->newest = r->flushed_up_to = r->latest_started = r->first_started = r->spoken = 0;
    r->spoken_us = r->flushes = 0;
    r->tail_left = 0;
    memset(r->is_paused, 0, sizeof(r->is_paused));
    memset(r->speech_packets, 0, sizeof(r->speech_packets));
}

void sim_wire_rules_frame(struct sim_wire_rules *r, const struct backend_frame *frame,
                          bool is_from_backend, uint64_t now_us)
{
    if (is_from_backend && frame->type == BACKEND_AUDIO_OUT && frame->payload.len > 0 &&
        frame->utterance > r->newest && frame->utterance < SIM_AGENT_UTTERANCES_MAX) {
        r->newest = frame->utterance;
    } else if (is_from_backend && frame->type == BACKEND_SESSION_ACCEPT) {
        struct backend_accept accept;
        r->is_uncoded = backend_accept_decode(frame->payload, &accept) &&
                        accept.out.codec == BACKEND_CODEC_OPUS;
    } else if (is_from_backend && (frame->type == BACKEND_PAUSE || frame->type == BACKEND_RESUME)) {
        r->is_paused[frame->utterance % SIM_AGENT_UTTERANCES_MAX] = frame->type == BACKEND_PAUSE;
    } else if (is_from_backend && frame->type == BACKEND_SESSION_END) {
        memset(r->is_paused, 0, sizeof(r->is_paused)); /* nobody would let it go on */
    } else if (!is_from_backend && frame->type == BACKEND_PLAYBACK) {
        struct backend_playback playback;
        if (backend_playback_decode(frame->payload, &playback) &&
            strcmp(playback.state, "started") == 0) {
            r->latest_started = frame->utterance;
            r->first_started = r->first_started == 0 ? frame->utterance : r->first_started;
            if (r->is_paused[frame->utterance % SIM_AGENT_UTTERANCES_MAX]) {
                sim_journal_fault(r->journal, now_us, "what is paused does not start: %" PRIu32,
                                  frame->utterance);
            }
        }
    } else if (!is_from_backend && frame->type == BACKEND_FLUSHED) {
        take_flushed(r, frame, now_us);
    } else if (!is_from_backend && frame->type == BACKEND_SESSION_START) {
        forget_utterances(r);
    }
}

uint64_t sim_wire_rules_copies(const struct sim_wire_rules *r)
{
    return r->copies;
}

uint64_t sim_wire_rules_repeats(const struct sim_wire_rules *r)
{
    return r->repeats;
}
