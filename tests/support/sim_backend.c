/* sim_backend.c - see sim_backend.h */
#include "tests/support/sim_backend.h"

#include "tests/support/sim_speech.h"
#include "tests/support/sim_utterances.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define OUTPUT_BYTES  (4 * 1024 * 1024)
#define PIECE_US      (100 * US_PER_MS)
#define OVERRUN_US    (300 * US_PER_MS)
#define HEARTBEAT_US  US_PER_S
#define AFTERTALK_US  (200 * US_PER_MS)
#define PIECE_MIN_US  (5 * US_PER_MS)
#define PIECE_STEP_US 125

struct sim_backend {
    struct sim_backend_config config;
    struct random_generator random;
    struct sim_agent_rules *rules;
    struct backend_frame_reader *reader;
    uint8_t *output;
    size_t output_len;
    uint32_t session; /* 0: no call */
    bool is_accepted;
    bool is_ending;
    uint64_t accept_at_us;
    uint64_t stalled_until_us;
    uint64_t last_sent_us;
    uint32_t next_connection_sequence;
    uint32_t next_session_sequence;
    uint32_t newest;
    bool is_paused[SIM_AGENT_UTTERANCES_MAX];
    struct backend_format format; /* of this call */
    uint8_t *event;               /* its chunks so far */
    size_t event_len;
    struct sim_utterances utterances;
};

struct sim_backend *sim_backend_create(const struct sim_backend_config *config)
{
    struct sim_backend *b = calloc(1, sizeof(*b));
    assert(b != NULL);
    b->config = *config;
    random_generator_init(&b->random, config->seed);
    b->rules = sim_agent_rules_create(config->journal, config->start_us);
    b->output = malloc(OUTPUT_BYTES);
    b->event = malloc(BACKEND_MESSAGE_BYTES_MAX);
    assert(b->output != NULL && b->event != NULL);
    return b;
}

void sim_backend_destroy(struct sim_backend *b)
{
    if (b == NULL) {
        return;
    }
    sim_agent_rules_destroy(b->rules);
    backend_frame_reader_destroy(b->reader);
    free(b->output);
    free(b->event);
    free(b);
}

uint32_t sim_backend_newest(const struct sim_backend *b)
{
    return b->newest;
}

struct sim_agent_rules *sim_backend_rules(struct sim_backend *b)
{
    return b->rules;
}

/* --- out -------------------------------------------------------------------------------------- */

static void write_frame(struct sim_backend *b, struct backend_frame frame, uint64_t media_us,
                        uint64_t now_us)
{
    assert(OUTPUT_BYTES - b->output_len >= BACKEND_FRAME_HEADER_BYTES + frame.payload.len);
    frame.sequence =
        frame.session == 0 ? b->next_connection_sequence++ : b->next_session_sequence++;
    backend_frame_encode_header(&frame, b->output + b->output_len);
    b->output_len += BACKEND_FRAME_HEADER_BYTES;
    if (frame.payload.len > 0) {
        memcpy(b->output + b->output_len, frame.payload.data, frame.payload.len);
        b->output_len += frame.payload.len;
    }
    b->last_sent_us = now_us;
    sim_agent_rules_said(b->rules, &frame, media_us, now_us);
}

static void write_text(struct sim_backend *b, enum backend_frame_type type, uint32_t session,
                       const char *text, uint64_t now_us)
{
    write_frame(b,
                (struct backend_frame){
                    .type = (uint8_t)type, .session = session, .payload = bytes_view_of_text(text)},
                0, now_us);
}

void sim_backend_connect(struct sim_backend *b, uint64_t now_us)
{
    char text[256];
    backend_frame_reader_destroy(b->reader);
    b->reader = backend_frame_reader_create();
    assert(b->reader != NULL);
    b->output_len = b->event_len = 0;
    b->next_connection_sequence = 0;
    b->is_accepted = false;
    b->stalled_until_us = 0;
    sim_agent_rules_lost(b->rules);
    if (!b->config.resumes) {
        sim_agent_rules_connect(b->rules, false);
        b->session = b->newest = 0;
        b->utterances.count = 0;
    }
    (void)snprintf(text, sizeof(text),
                   "{\"versions\":[1],\"name\":\"sim\",\"instance\":\"1\",\"codecs\":[\"%s\"],"
                   "\"resume\":%s,\"heartbeat_ms\":1000}",
                   backend_format_name(b->config.format), b->config.resumes ? "true" : "false");
    write_text(b, BACKEND_HELLO, 0, text, now_us);
}

struct bytes_view sim_backend_output(const struct sim_backend *b)
{
    return bytes_view_of(b->output, b->output_len);
}

void sim_backend_sent(struct sim_backend *b, size_t len)
{
    b->output_len -= len;
    memmove(b->output, b->output + len, b->output_len);
}

/* A piece of 5 to 250 ms, to a multiple of 125 us: two samples at 16 kHz, three at 24. */
static uint64_t piece_us(struct sim_backend *b, const struct sim_utterance *s)
{
    uint64_t us = PIECE_US;
    if (s->pace_us == 0) {
        us = PIECE_MIN_US + random_generator_next(&b->random) % (245 * US_PER_MS);
    }
    us = b->format.codec == BACKEND_CODEC_OPUS ? SIM_SPEECH_OPUS_US : us;
    us = time_earlier(us, s->duration_us - s->position_us);
    us = time_earlier(us, sim_agent_rules_credit_us(b->rules));
    return us - us % PIECE_STEP_US;
}

static void write_piece(struct sim_backend *b, const struct sim_utterance *s, uint64_t us,
                        bool is_last, uint64_t now_us)
{
    static uint8_t bytes[SIM_SPEECH_BYTES_MAX];
    const struct backend_format format = b->format;
    const struct backend_frame frame = {
        .type = BACKEND_AUDIO_OUT,
        .flags = is_last ? BACKEND_FLAG_LAST : 0,
        .session = b->session,
        .utterance = s->id,
        .codec = us == 0 ? BACKEND_CODEC_NONE : format.codec,
        .rate_khz = us == 0 ? 0 : format.rate_khz,
        .channels = us == 0 ? 0 : 1,
        .duration_2500us = format.codec == BACKEND_CODEC_OPUS ? 8 : 0,
        .payload = bytes_view_of(bytes, sim_speech_write(format, s->id, s->position_us, us, bytes)),
    };
    write_frame(b, frame, us, now_us);
}

/* Speech in the order of ids, as far as pace and credit allow. */
static void push_speech(struct sim_backend *b, uint64_t now_us)
{
    while (b->utterances.count > 0 && b->is_accepted) {
        struct sim_utterance *s = &b->utterances.waiting[0];
        if (now_us < s->next_us) {
            return;
        }
        const uint64_t us = piece_us(b, s);
        const bool is_end = s->position_us + us == s->duration_us;
        if (us == 0 && !is_end) {
            return; /* no credit */
        }
        write_piece(b, s, us, is_end && s->is_complete, now_us);
        s->position_us += us;
        s->next_us = now_us + s->pace_us;
        if (is_end) {
            sim_utterances_finish(&b->utterances);
        }
    }
}

/* --- deeds ------------------------------------------------------------------------------------ */

static bool may_speak(const struct sim_backend *b)
{
    return b->session != 0 && b->is_accepted && !b->is_ending;
}

uint32_t sim_backend_speak(struct sim_backend *b, uint64_t duration_us, uint64_t pace_us,
                           bool is_complete, uint64_t now_us)
{
    if (!may_speak(b) || sim_utterances_are_full(&b->utterances) ||
        b->newest + 2 >= SIM_AGENT_UTTERANCES_MAX) {
        return 0;
    }
    b->newest += 1 + (uint32_t)(random_generator_next(&b->random) % 2); /* ids rise, not by one */
    const struct sim_utterance one = {.id = b->newest,
                                      .duration_us = duration_us - duration_us % SIM_SPEECH_OPUS_US,
                                      .pace_us = pace_us,
                                      .next_us = now_us,
                                      .is_complete = is_complete};
    sim_utterances_add(&b->utterances, &one);
    push_speech(b, now_us);
    return b->newest;
}

/* What was not sent of the flushed is forgotten; one that does not listen to itself goes on. */
void sim_backend_flush(struct sim_backend *b, uint32_t utterance, uint64_t now_us)
{
    if (!may_speak(b)) {
        return;
    }
    write_frame(b,
                (struct backend_frame){
                    .type = BACKEND_FLUSH, .session = b->session, .utterance = utterance},
                0, now_us);
    for (size_t i = 0; b->config.ignores_flushes && i < b->utterances.count; i++) {
        const struct sim_utterance *s = &b->utterances.waiting[i];
        if ((utterance == 0 || s->id <= utterance) && s->position_us > 0 &&
            sim_agent_rules_credit_us(b->rules) > AFTERTALK_US) {
            write_piece(b, s, SIM_SPEECH_OPUS_US, false, now_us);
        }
    }
    sim_utterances_flush(&b->utterances, utterance);
}

void sim_backend_pause(struct sim_backend *b, uint32_t utterance, uint64_t now_us)
{
    if (may_speak(b) && utterance > 0 && utterance < SIM_AGENT_UTTERANCES_MAX) {
        b->is_paused[utterance] = true;
        write_frame(b,
                    (struct backend_frame){
                        .type = BACKEND_PAUSE, .session = b->session, .utterance = utterance},
                    0, now_us);
    }
}

void sim_backend_go_on(struct sim_backend *b, uint64_t now_us)
{
    for (uint32_t i = 1; i < SIM_AGENT_UTTERANCES_MAX && may_speak(b); i++) {
        if (b->is_paused[i]) {
            b->is_paused[i] = false;
            write_frame(b,
                        (struct backend_frame){
                            .type = BACKEND_RESUME, .session = b->session, .utterance = i},
                        0, now_us);
        }
    }
}

void sim_backend_stall(struct sim_backend *b, uint64_t until_us)
{
    b->stalled_until_us = until_us;
    sim_agent_rules_stall(b->rules, until_us);
}

void sim_backend_talk_nonsense(struct sim_backend *b, uint64_t now_us)
{
    static const uint8_t three_bytes[] = {1, 2, 3};
    if (!may_speak(b)) {
        return;
    }
    const struct backend_frame wrong[] = {
        {.type = 0x7f, .session = b->session},
        {.type = 0x9f, .session = b->session}, /* of a later version: skipped */
        {.type = BACKEND_AUDIO_OUT,
         .session = b->session,
         .utterance = b->newest + 1,
         .codec = BACKEND_CODEC_PCMU,
         .rate_khz = 8,
         .channels = 1,
         .payload = bytes_view_of(three_bytes, sizeof(three_bytes))},
        {.type = BACKEND_FLUSHED, .session = b->session}, /* its direction is wrong */
    };
    sim_agent_rules_allow_error(b->rules);
    const size_t which = random_generator_next(&b->random) % COUNT_OF(wrong);
    /* Not through the rules: nothing of it counts. */
    struct backend_frame frame = wrong[which];
    frame.sequence = b->next_session_sequence++;
    backend_frame_encode_header(&frame, b->output + b->output_len);
    b->output_len += BACKEND_FRAME_HEADER_BYTES;
    if (frame.payload.len > 0) {
        memcpy(b->output + b->output_len, frame.payload.data, frame.payload.len);
        b->output_len += frame.payload.len;
    }
    b->last_sent_us = now_us;
}

void sim_backend_go_away(struct sim_backend *b, uint64_t within_us, uint64_t now_us)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "{\"reason\":\"stop\",\"deadline_ms\":%" PRIu64 "}",
                   within_us / US_PER_MS);
    write_text(b, BACKEND_GOAWAY, 0, text, now_us);
}

bool sim_backend_end(struct sim_backend *b, bool when_drained, uint64_t now_us)
{
    const bool may_end = may_speak(b);
    if (may_end) {
        b->is_ending = true;
        b->utterances.count = 0;
        write_text(b, BACKEND_SESSION_END, b->session,
                   when_drained ? "{\"reason\":\"done\",\"when\":\"drained\"}"
                                : "{\"reason\":\"done\",\"when\":\"now\"}",
                   now_us);
    }
    return may_end;
}

/* --- in --------------------------------------------------------------------------------------- */

struct bytes_span sim_backend_reserve(struct sim_backend *b, uint64_t now_us)
{
    if (now_us < b->stalled_until_us) {
        return (struct bytes_span){0};
    }
    return backend_frame_reader_reserve(b->reader);
}

static void accept(struct sim_backend *b, uint64_t now_us)
{
    char text[256];
    const char *format = backend_format_name(b->format);
    (void)snprintf(text, sizeof(text),
                   "{\"in\":\"%s\",\"out\":\"%s\",\"prebuffer_ms\":%u,\"progress_ms\":%u,"
                   "\"on_speech\":\"%s\"}",
                   format, format, b->config.prebuffer_ms, b->config.progress_ms,
                   b->config.pauses_on_speech ? "pause" : "hint");
    b->accept_at_us = TIME_NEVER;
    b->is_accepted = true;
    write_text(b, BACKEND_SESSION_ACCEPT, b->session, text, now_us);
}

/* The format it likes, if that is offered. */
static void choose_format(struct sim_backend *b, const struct backend_frame *frame)
{
    static const struct backend_format always = {BACKEND_CODEC_PCM16, 16};
    char text[4096];
    (void)snprintf(text, sizeof(text), "%.*s", (int)frame->payload.len,
                   (const char *)frame->payload.data);
    const bool is_offered = strstr(text, backend_format_name(b->config.format)) != NULL;
    b->format = is_offered ? b->config.format : always;
}

bool sim_backend_say_event(struct sim_backend *b, struct bytes_view text, uint64_t now_us)
{
    if (!may_speak(b)) {
        return false;
    }
    struct byte_reader r;
    byte_reader_init(&r, text);
    bool is_last = false;
    while (!is_last) {
        const size_t left = byte_reader_left(&r);
        is_last = left <= BACKEND_FRAME_PAYLOAD_MAX;
        write_frame(b,
                    (struct backend_frame){.type = BACKEND_EVENT,
                                           .session = b->session,
                                           .flags = is_last ? BACKEND_FLAG_LAST : 0,
                                           .payload = byte_reader_bytes(
                                               &r, is_last ? left : BACKEND_FRAME_PAYLOAD_MAX)},
                    0, now_us);
    }
    return true;
}

static void take_event(struct sim_backend *b, const struct backend_frame *frame, uint64_t now_us)
{
    assert(frame->payload.len <= BACKEND_MESSAGE_BYTES_MAX - b->event_len);
    if (frame->payload.len > 0) {
        memcpy(b->event + b->event_len, frame->payload.data, frame->payload.len);
        b->event_len += frame->payload.len;
    }
    if ((frame->flags & BACKEND_FLAG_LAST) != 0) {
        if (b->config.hear_event != NULL) {
            b->config.hear_event(b->config.context, bytes_view_of(b->event, b->event_len), now_us);
        }
        b->event_len = 0;
    }
}

static void take_session_frame(struct sim_backend *b, const struct backend_frame *frame,
                               uint64_t now_us)
{
    switch (frame->type) {
    case BACKEND_SESSION_START:
    case BACKEND_SESSION_RESUME:
        b->session = frame->session;
        b->next_session_sequence = 0;
        b->accept_at_us = now_us + b->config.accept_us;
        b->is_ending = false;
        if (frame->type == BACKEND_SESSION_RESUME) {
            sim_utterances_resume(&b->utterances, sim_agent_rules_number(frame, "utterance"),
                                  sim_agent_rules_number(frame, "received_us"));
        } else {
            sim_utterances_clear(&b->utterances);
            memset(b->is_paused, 0, sizeof(b->is_paused));
            choose_format(b, frame);
        }
        sim_agent_rules_connect(b->rules, frame->type == BACKEND_SESSION_RESUME);
        break;
    case BACKEND_SESSION_END:
        if (!b->config.answers_no_end) {
            write_text(b, BACKEND_SESSION_ENDED, b->session, "{\"reason\":\"done\"}", now_us);
        }
        b->session = 0;
        b->is_accepted = false;
        break;
    case BACKEND_SESSION_ENDED:
        b->session = 0;
        b->is_accepted = false;
        break;
    case BACKEND_EVENT:
        take_event(b, frame, now_us);
        break;
    default:
        break;
    }
    sim_agent_rules_heard(b->rules, frame, now_us);
}

static void note(struct sim_backend *b, const struct backend_frame *frame, uint64_t now_us)
{
    if (frame->type != BACKEND_AUDIO_IN && frame->type != BACKEND_CREDIT) {
        sim_journal_note(b->config.journal, now_us, "agent hears %02x utterance=%" PRIu32 " %.*s",
                         frame->type, frame->utterance,
                         frame->payload.len < 120 ? (int)frame->payload.len : 120,
                         (const char *)frame->payload.data);
    }
}

void sim_backend_commit(struct sim_backend *b, size_t len, uint64_t now_us)
{
    struct backend_frame frame;
    if (len == 0) {
        return;
    }
    backend_frame_reader_commit(b->reader, len);
    while (backend_frame_reader_poll(b->reader, &frame) == BACKEND_FRAME_OK) {
        note(b, &frame, now_us);
        if (frame.session != 0) {
            take_session_frame(b, &frame, now_us);
        } else if (frame.type == BACKEND_PING) {
            write_frame(b, (struct backend_frame){.type = BACKEND_PONG, .payload = frame.payload},
                        0, now_us);
        }
    }
    push_speech(b, now_us); /* credit may have come */
}

void sim_backend_tick(struct sim_backend *b, uint64_t now_us)
{
    if (now_us >= b->accept_at_us && b->session != 0 && !b->is_accepted) {
        accept(b, now_us);
    }
    if (now_us >= b->last_sent_us + HEARTBEAT_US) {
        const uint8_t token[8] = {0};
        write_frame(b,
                    (struct backend_frame){.type = BACKEND_PING,
                                           .payload = bytes_view_of(token, sizeof(token))},
                    0, now_us);
    }
    push_speech(b, now_us);
}

uint64_t sim_backend_next_timeout(const struct sim_backend *b)
{
    uint64_t next_us = b->last_sent_us + HEARTBEAT_US;
    if (b->session != 0 && !b->is_accepted) {
        next_us = time_earlier(next_us, b->accept_at_us);
    }
    if (b->utterances.count > 0 && b->is_accepted && b->utterances.waiting[0].pace_us > 0 &&
        sim_agent_rules_credit_us(b->rules) >= PIECE_STEP_US) {
        next_us = time_earlier(next_us, b->utterances.waiting[0].next_us);
    }
    return next_us;
}
