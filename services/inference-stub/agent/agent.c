/* agent.c - see agent.h */
#include "services/inference-stub/agent/agent.h"

#include "services/inference-stub/agent/agent_reply.h"
#include "services/inference-stub/sound/step_cutter.h"
#include "services/inference-stub/sound/turn_detector.h"

#include <stdio.h>
#include <stdlib.h>

#define APPENDED_RATE_HZ 24000

/* A client that has its channel open first says how the session is to be; a greeting waits so long
 * for it. */
#define GREETING_WAIT_US US_PER_S

/* Audio that stops without a word ends a turn as silence does. */
#define AUDIO_GAP_US (VOICE_STOP_MS * US_PER_MS)

#define DIGIT_WORD_CAP 8

struct agent {
    struct agent_config config;
    struct agent_reply_rooms rooms;
    struct agent_reply reply;
    struct turn_detector detector;
    struct step_cutter heard;    /* by RTP */
    struct step_cutter appended; /* by events */
    uint32_t prefix_padding_ms;
    uint64_t gap_deadline_us;
    uint64_t greeting_us; /* TIME_NEVER: not any more */
    uint64_t digits_us;   /* when the digits are answered */
    size_t digit_count;
    char digits[AGENT_DIGITS_MAX * DIGIT_WORD_CAP]; /* as words */
    enum agent_cause own_cause; /* of the response that the agent itself asks for */
    uint32_t flushed;           /* the highest utterance that was */
    struct agent_question question;
    struct agent_answer answer;
};

struct agent *agent_create(const struct agent_config *config)
{
    struct agent *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return NULL;
    }
    a->config = *config;
    a->rooms = (struct agent_reply_rooms){
        .realtime = realtime_create(&config->realtime),
        .voice = agent_voice_create(config->rate_hz, config->credit_us),
        .desk = config->desk,
        .rate_hz = config->rate_hz,
    };
    if (a->rooms.realtime == NULL || a->rooms.voice == NULL) {
        agent_destroy(a);
        return NULL;
    }
    turn_detector_init(&a->detector);
    step_cutter_init(&a->heard, config->rate_hz);
    step_cutter_init(&a->appended, APPENDED_RATE_HZ);
    a->gap_deadline_us = TIME_NEVER;
    a->greeting_us = TIME_NEVER;
    a->digits_us = TIME_NEVER;
    a->own_cause = AGENT_CAUSE_NOTHING;
    return a;
}

void agent_destroy(struct agent *a)
{
    if (a == NULL) {
        return;
    }
    if (a->rooms.realtime != NULL && a->rooms.voice != NULL) {
        agent_reply_stop(&a->reply, &a->rooms);
    }
    realtime_destroy(a->rooms.realtime);
    agent_voice_destroy(a->rooms.voice);
    free(a);
}

/* --- what was heard --------------------------------------------------------------------------- */

static void note_turn(struct agent *a, enum turn_change change)
{
    switch (change) {
    case TURN_UNCHANGED:
        break;
    case TURN_BEGAN: {
        const uint64_t begin_ms = a->detector.speech.begin_ms;
        a->greeting_us = TIME_NEVER;
        realtime_speech_started(a->rooms.realtime, begin_ms > a->prefix_padding_ms
                                                       ? begin_ms - a->prefix_padding_ms
                                                       : 0);
        break;
    }
    case TURN_OVER:
        metric_add(&a->config.counters->turns, 1);
        realtime_speech_stopped(a->rooms.realtime, a->detector.heard_ms);
        break;
    }
}

static void hear_step(struct agent *a, struct pcm_view step)
{
    realtime_audio_in(a->rooms.realtime, VOICE_STEP_MS * US_PER_MS);
    note_turn(a, turn_detector_step(&a->detector, step));
}

static void hear_appended(struct agent *a, struct bytes_view pcm16)
{
    struct byte_reader r;
    byte_reader_init(&r, pcm16);
    while (byte_reader_left(&r) >= 2) {
        int16_t samples[APPENDED_RATE_HZ / 50];
        size_t count = 0;
        while (count < COUNT_OF(samples) && byte_reader_left(&r) >= 2) {
            samples[count++] = (int16_t)byte_reader_u16_le(&r);
        }
        struct pcm_view pcm = {samples, count};
        struct pcm_view step;
        while (step_cutter_take(&a->appended, &pcm, &step)) {
            hear_step(a, step);
        }
    }
}

static void tune(struct agent *a, const struct realtime_turn_detection *wanted)
{
    a->prefix_padding_ms = wanted->prefix_padding_ms;
    turn_detector_tune(&a->detector,
                       &(struct turn_rule){.is_on = wanted->is_on,
                                           .threshold = wanted->threshold,
                                           .silence_ms = wanted->silence_duration_ms});
}

/* --- what is answered ------------------------------------------------------------------------- */

static struct agent_facts facts(const struct agent *a, const char *text, uint64_t now_us)
{
    return (struct agent_facts){
        .speech_ms = turn_detector_speech_ms(&a->detector),
        .level_dbov = turn_detector_level_dbov(&a->detector),
        .wall_clock_us = a->config.wall_clock_us + now_us,
        .text = text,
    };
}

static void transcribe(struct agent *a, const char *item_id, uint64_t now_us)
{
    char text[AGENT_PHRASE_CAP];
    const struct agent_facts heard = facts(a, "", now_us);
    agent_words_fill(a->config.script->phrase[AGENT_PHRASE_TRANSCRIPT], &heard, text, sizeof(text));
    realtime_transcript(a->rooms.realtime, item_id, text);
}

/* What the agent asks for itself answers nothing that was said. */
static enum agent_cause cause_of(const struct agent *a, enum realtime_prompt prompt)
{
    if (a->own_cause != AGENT_CAUSE_NOTHING) {
        return a->own_cause;
    }
    switch (prompt) {
    case REALTIME_PROMPT_SPOKEN:
        return AGENT_CAUSE_SPOKEN;
    case REALTIME_PROMPT_TYPED:
        return AGENT_CAUSE_TYPED;
    case REALTIME_PROMPT_TOOL_OUTPUT:
        return AGENT_CAUSE_TOOL_OUTPUT;
    case REALTIME_PROMPT_NONE:
        break;
    }
    return AGENT_CAUSE_NOTHING;
}

static void ask(struct agent *a, const struct realtime_respond_order *order, uint64_t now_us)
{
    struct agent_question *q = &a->question;
    struct stub_line line;
    q->cause = cause_of(a, order->prompt);
    q->facts = facts(a, q->cause == AGENT_CAUSE_DIALLED ? a->digits : order->text, now_us);
    q->facts.turn = order->spoken_turn;
    q->instructions = order->instructions;
    q->first_tool = order->tool;
    const bool may_call = order->tool != NULL;
    for (size_t i = 0; i < a->config.script->tool_count; i++) {
        q->may_call[i] =
            may_call && realtime_has_tool(a->rooms.realtime, a->config.script->tool[i].tool);
    }
    q->may_call[AGENT_TOOLS_MAX] = may_call && stub_line_read(order->instructions, &line) &&
                                   realtime_has_tool(a->rooms.realtime, line.tool);
    agent_brain_answer(a->config.script, q, &a->answer);
}

static void respond(struct agent *a, const struct realtime_respond_order *order, uint64_t now_us)
{
    const struct agent_answer *answer = &a->answer;
    a->greeting_us = TIME_NEVER;
    ask(a, order, now_us);
    a->own_cause = AGENT_CAUSE_NOTHING;
    if (a->question.cause == AGENT_CAUSE_DIALLED) {
        a->digit_count = 0;
        a->digits[0] = '\0';
    }
    struct agent_counters *c = a->config.counters;
    metric_add(answer->tool != NULL ? &c->calls : &c->answers, 1);
    if (answer->tool != NULL) {
        realtime_call_tool(a->rooms.realtime, order->response, answer->tool, answer->arguments);
    } else if (order->is_text_only) {
        agent_reply_write(&a->reply, &a->rooms, order->response, answer->text, now_us);
    } else {
        agent_reply_begin(&a->reply, &a->rooms, order->response, answer->text, answer->speak_ms,
                          now_us);
    }
}

/* --- orders ----------------------------------------------------------------------------------- */

static void cancel(struct agent *a, uint32_t response)
{
    if (a->reply.response == response) {
        agent_reply_stop(&a->reply, &a->rooms);
    }
}

/* A reply whose utterance is dead has no use for its sounds. */
static void flush(struct agent *a, uint32_t utterance)
{
    if (agent_voice_flush(a->rooms.voice, utterance)) {
        agent_reply_mute(&a->reply, &a->rooms);
    }
    if (a->detector.is_in_turn) {
        metric_add(&a->config.counters->barge_ins, 1);
    }
}

static void obey(struct agent *a, const struct realtime_order *order, uint64_t now_us)
{
    switch (order->type) {
    case REALTIME_RESPOND:
        respond(a, &order->respond, now_us);
        break;
    case REALTIME_CANCEL:
        cancel(a, order->response);
        break;
    case REALTIME_FLUSH:
        flush(a, order->utterance);
        break;
    case REALTIME_TURN_DETECTION:
        tune(a, &order->turn_detection);
        break;
    case REALTIME_FORGET_AUDIO:
        turn_detector_forget(&a->detector);
        break;
    case REALTIME_APPEND_AUDIO:
        hear_appended(a, order->pcm16_24000);
        break;
    case REALTIME_TRANSCRIBE:
        transcribe(a, order->transcribe.item_id, now_us);
        break;
    }
}

static void obey_all(struct agent *a, uint64_t now_us)
{
    struct realtime_order order;
    while (realtime_poll_order(a->rooms.realtime, &order)) {
        obey(a, &order, now_us);
    }
}

/* --- input ------------------------------------------------------------------------------------ */

void agent_connected(struct agent *a, uint64_t now_us)
{
    const bool greets = a->config.script->phrase[AGENT_PHRASE_GREETING][0] != '\0' &&
                        !a->config.realtime.is_restarted && !a->detector.is_in_turn;
    if (greets) {
        a->greeting_us = now_us + (a->config.has_events ? GREETING_WAIT_US : 0);
    }
    agent_tick(a, now_us);
}

void agent_audio_in(struct agent *a, struct pcm_view pcm, uint64_t now_us)
{
    struct pcm_view step;
    while (step_cutter_take(&a->heard, &pcm, &step)) {
        hear_step(a, step);
        obey_all(a, now_us);
    }
    a->gap_deadline_us = a->detector.is_in_turn ? now_us + AUDIO_GAP_US : TIME_NEVER;
}

void agent_digit(struct agent *a, char digit, uint64_t now_us)
{
    const char *word = digit == '*' ? "star" : digit == '#' ? "pound" : (char[2]){digit, '\0'};
    if (a->digit_count == AGENT_DIGITS_MAX) {
        return;
    }
    const size_t len = strlen(a->digits);
    (void)snprintf(a->digits + len, sizeof(a->digits) - len, "%s%s", len > 0 ? " " : "", word);
    a->digit_count++;
    a->digits_us = now_us + a->config.script->digits_pause_us;
}

bool agent_event(struct agent *a, struct bytes_view event, uint64_t now_us)
{
    const bool is_taken = realtime_input(a->rooms.realtime, event);
    obey_all(a, now_us);
    return is_taken;
}

void agent_sideband_attached(struct agent *a, uint32_t sideband, uint64_t now_us)
{
    realtime_sideband_attached(a->rooms.realtime, sideband);
    obey_all(a, now_us);
}

/* --- playback --------------------------------------------------------------------------------- */

void agent_credit(struct agent *a, uint64_t limit_us)
{
    agent_voice_credit(a->rooms.voice, limit_us);
}

static bool read_state(const struct agent *a, const struct backend_playback *playback,
                       enum realtime_playback_state *out)
{
    if (strcmp(playback->state, "started") == 0) {
        *out = REALTIME_PLAYBACK_STARTED;
    } else if (strcmp(playback->state, "progress") == 0) {
        *out = REALTIME_PLAYBACK_PROGRESS;
    } else if (strcmp(playback->state, "done") == 0) {
        *out =
            playback->utterance <= a->flushed ? REALTIME_PLAYBACK_FLUSHED : REALTIME_PLAYBACK_DONE;
    } else {
        return false;
    }
    return true;
}

void agent_playback(struct agent *a, const struct backend_playback *playback, uint64_t now_us)
{
    enum realtime_playback_state state;
    if (!read_state(a, playback, &state)) {
        return;
    }
    if (state == REALTIME_PLAYBACK_DONE) {
        agent_voice_done(a->rooms.voice, playback->utterance);
    }
    realtime_playback(a->rooms.realtime, state, playback->utterance, playback->heard_us);
    obey_all(a, now_us);
}

void agent_flushed(struct agent *a, uint32_t flush, const struct backend_flushed *flushed,
                   uint64_t now_us)
{
    a->flushed = flush > a->flushed ? flush : a->flushed;
    realtime_flushed(a->rooms.realtime, &(struct realtime_flushed){.flush = flush,
                                                                   .utterance = flushed->utterance,
                                                                   .heard_us = flushed->heard_us});
    obey_all(a, now_us);
}

void agent_resume(struct agent *a, const struct backend_position *position, uint64_t now_us)
{
    agent_voice_resume(a->rooms.voice, position);
    realtime_resumed(a->rooms.realtime);
    obey_all(a, now_us);
}

/* --- time ------------------------------------------------------------------------------------- */

/* False when a response is active: nothing happened. */
static bool respond_by_itself(struct agent *a, enum agent_cause cause, uint64_t now_us)
{
    a->own_cause = cause;
    realtime_respond(a->rooms.realtime);
    obey_all(a, now_us);
    const bool has_responded = a->own_cause == AGENT_CAUSE_NOTHING;
    a->own_cause = AGENT_CAUSE_NOTHING;
    return has_responded;
}

static void greet(struct agent *a, uint64_t now_us)
{
    a->greeting_us = TIME_NEVER;
    if (!stub_line_exists(realtime_instructions(a->rooms.realtime))) {
        (void)respond_by_itself(a, AGENT_CAUSE_GREETING, now_us);
    }
}

void agent_tick(struct agent *a, uint64_t now_us)
{
    if (now_us >= a->gap_deadline_us) {
        a->gap_deadline_us = TIME_NEVER;
        note_turn(a, turn_detector_finish(&a->detector));
    }
    obey_all(a, now_us);
    if (now_us >= a->greeting_us) {
        greet(a, now_us);
    }
    if (now_us >= a->digits_us && respond_by_itself(a, AGENT_CAUSE_DIALLED, now_us)) {
        a->digits_us = TIME_NEVER;
    }
    agent_reply_advance(&a->reply, &a->rooms, now_us);
    obey_all(a, now_us);
}

/* --- output ----------------------------------------------------------------------------------- */

bool agent_take_flush(struct agent *a, uint32_t *utterance)
{
    return agent_voice_take_flush(a->rooms.voice, utterance);
}

bool agent_take_audio(struct agent *a, struct utterance_audio *out)
{
    return agent_voice_take_audio(a->rooms.voice, out);
}

bool agent_poll_event(struct agent *a, struct realtime_event *out)
{
    return realtime_poll_event(a->rooms.realtime, out);
}
