/* session_talk.c - see session_talk.h */
#include "services/inference-stub/session_talk.h"

#include "common/backend_link/backend_start.h"
#include "services/inference-stub/agent/agent.h"
#include "services/inference-stub/audio_frames.h"
#include "services/inference-stub/channel_echo.h"
#include "services/inference-stub/chunked_message.h"
#include "services/inference-stub/message_outbox.h"
#include "services/inference-stub/realtime/realtime_events.h"

#include <assert.h>
#include <stdlib.h>

#define AUDIO_BYTES_MAX (PCM_RATE_HZ_MAX / 1000 * DIALOGUE_CHUNK_MS * 2)

static_assert(AGENT_VOICE_CHUNK_MS <= DIALOGUE_CHUNK_MS, "the payload holds what either says");

struct session_talk {
    const struct stub_behaviour *behaviour;
    struct audio_frames audio;
    bool has_events;
    struct dialogue *dialogue; /* one of these two */
    struct agent *agent;
    struct chunked_message event;
    struct channel_echo channel;
    struct message_outbox outbox;
    uint64_t events_refused;
    uint8_t payload[AUDIO_BYTES_MAX]; /* of the audio taken last */
};

/* --- create ----------------------------------------------------------------------------------- */

static struct dialogue *create_dialogue(const struct session_talk *t,
                                        const struct backend_start_request *start)
{
    const struct stub_behaviour *b = t->behaviour;
    return dialogue_create(&(struct dialogue_config){
        .mode = b->mode,
        .rate_hz = t->audio.rate_khz * 1000u,
        .echo_delay_us = b->echo_delay_us,
        .tone_hz = b->tone_hz,
        .greeting = t->audio.rate_khz == 16 ? b->greeting_16k : b->greeting_24k,
        .credit_us = start->credit_us,
        .is_restarted = start->is_restarted,
        .counters = b->counters,
    });
}

static struct agent *create_agent(const struct session_talk *t,
                                  const struct backend_start_request *start,
                                  struct bytes_view start_text)
{
    const struct stub_behaviour *b = t->behaviour;
    size_t session_len;
    char *session = backend_start_session_create(start_text, &session_len);
    struct agent *agent = agent_create(&(struct agent_config){
        .script = b->script,
        .desk = b->desk,
        .counters = &b->counters->agent,
        .rate_hz = t->audio.rate_khz * 1000u,
        .credit_us = start->credit_us,
        .wall_clock_us = b->wall_clock_us,
        .has_events = start->has_events,
        .realtime = {.session_json = bytes_view_of(session, session_len),
                     .message_bytes_max = start->message_bytes_max,
                     .expires_at_s = start->expires_at_s,
                     .is_restarted = start->is_restarted,
                     .random = b->random},
    });
    backend_start_text_destroy(session, session_len);
    return agent;
}

struct session_talk *session_talk_create(const struct stub_behaviour *behaviour,
                                         const struct backend_start_request *start,
                                         struct bytes_view start_text, uint8_t rate_khz)
{
    struct session_talk *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    t->behaviour = behaviour;
    t->audio.rate_khz = rate_khz;
    t->has_events = start->has_events;
    message_outbox_init(&t->outbox);
    if (behaviour->script != NULL) {
        t->agent = create_agent(t, start, start_text);
    } else {
        t->dialogue = create_dialogue(t, start);
    }
    if (t->agent == NULL && t->dialogue == NULL) {
        session_talk_destroy(t);
        return NULL;
    }
    return t;
}

void session_talk_destroy(struct session_talk *t)
{
    if (t == NULL) {
        return;
    }
    dialogue_destroy(t->dialogue);
    agent_destroy(t->agent);
    chunked_message_drop(&t->event);
    channel_echo_clear(&t->channel);
    message_outbox_clear(&t->outbox);
    free(t);
}

/* --- audio and playback ----------------------------------------------------------------------- */

static enum session_talk_result audio_in(struct session_talk *t, const struct backend_frame *frame,
                                         uint64_t now_us)
{
    struct audio_frames_input input;
    struct pcm_view pcm;
    unsigned flags;
    switch (audio_frames_open(&t->audio, frame, &input)) {
    case AUDIO_FRAMES_CODEC:
        return TALK_CODEC;
    case AUDIO_FRAMES_BROKEN:
        return TALK_BROKEN;
    case AUDIO_FRAMES_OK:
        break;
    }
    while (audio_frames_next(&input, &pcm, &flags)) {
        if (t->agent != NULL) {
            agent_audio_in(t->agent, pcm, now_us);
        } else {
            dialogue_audio_in(t->dialogue, pcm, flags, now_us);
        }
    }
    return TALK_OK;
}

static enum session_talk_result credit(struct session_talk *t, const struct backend_frame *frame)
{
    struct byte_reader r;
    byte_reader_init(&r, frame->payload);
    const uint64_t limit_us = byte_reader_u64_le(&r);
    if (r.failed || byte_reader_left(&r) > 0) {
        return TALK_BROKEN;
    }
    if (t->agent != NULL) {
        agent_credit(t->agent, limit_us);
    } else {
        dialogue_credit(t->dialogue, limit_us);
    }
    return TALK_OK;
}

static enum session_talk_result playback(struct session_talk *t, const struct backend_frame *frame,
                                         uint64_t now_us)
{
    struct backend_playback p;
    if (!backend_playback_decode(frame->payload, &p)) {
        return TALK_BROKEN;
    }
    if (t->agent != NULL) {
        agent_playback(t->agent, &p, now_us);
    } else {
        dialogue_playback(t->dialogue, &p);
    }
    return TALK_OK;
}

/* --- messages --------------------------------------------------------------------------------- */

static void count_answer(struct session_talk *t, bool is_answered)
{
    struct stub_counters *c = t->behaviour->counters;
    metric_add(is_answered ? &c->events_answered : &c->events_dropped, 1);
}

static bool refuse_event(struct session_talk *t, struct bytes_view event)
{
    char text[REALTIME_EVENT_BYTES_MAX];
    const size_t len =
        realtime_events_refuse(event, t->behaviour->mode_name, t->events_refused + 1, text);
    const struct outbox_message answer = {.type = BACKEND_EVENT, .bytes = bytes_view_of(text, len)};
    if (len == 0 || !message_outbox_put(&t->outbox, &answer)) {
        return false;
    }
    t->events_refused++;
    return true;
}

static enum session_talk_result event(struct session_talk *t, const struct backend_frame *frame,
                                      uint64_t now_us)
{
    if (!chunked_message_append(&t->event, frame->payload)) {
        return TALK_BROKEN;
    }
    if ((frame->flags & BACKEND_FLAG_LAST) == 0) {
        return TALK_OK;
    }
    const struct bytes_view whole = chunked_message_view(&t->event);
    if (t->agent != NULL) {
        count_answer(t, agent_event(t->agent, whole, now_us));
    } else if (t->has_events) {
        count_answer(t, refuse_event(t, whole));
    }
    chunked_message_drop(&t->event);
    return TALK_OK;
}

static enum session_talk_result channel(struct session_talk *t, const struct backend_frame *frame)
{
    struct outbox_message message;
    switch (channel_echo_input(&t->channel, frame, &message)) {
    case CHANNEL_ECHO_BROKEN:
        return TALK_BROKEN;
    case CHANNEL_ECHO_NOTHING:
        break;
    case CHANNEL_ECHO_MESSAGE:
        count_answer(t, message_outbox_put(&t->outbox, &message));
        channel_echo_clear(&t->channel);
        break;
    }
    return TALK_OK;
}

/* --- what only the agent has a use for -------------------------------------------------------- */

static enum session_talk_result flushed(struct session_talk *t, const struct backend_frame *frame,
                                        uint64_t now_us)
{
    struct backend_flushed f;
    if (!backend_flushed_decode(frame->payload, &f)) {
        return TALK_BROKEN;
    }
    if (t->agent != NULL) {
        agent_flushed(t->agent, frame->utterance, &f, now_us);
    }
    return TALK_OK;
}

static enum session_talk_result dtmf(struct session_talk *t, const struct backend_frame *frame,
                                     uint64_t now_us)
{
    struct backend_dtmf d;
    if (!backend_dtmf_decode(frame->payload, &d)) {
        return TALK_BROKEN;
    }
    if (t->agent != NULL) {
        agent_digit(t->agent, d.digit, now_us);
    }
    return TALK_OK;
}

static enum session_talk_result sideband(struct session_talk *t, const struct backend_frame *frame,
                                         uint64_t now_us)
{
    struct backend_sideband s;
    if (!backend_sideband_decode(frame->payload, &s)) {
        return TALK_BROKEN;
    }
    if (t->agent != NULL && s.is_attached) {
        agent_sideband_attached(t->agent, s.id, now_us);
    }
    return TALK_OK;
}

static void connected(struct session_talk *t, uint64_t now_us)
{
    if (t->agent != NULL) {
        agent_connected(t->agent, now_us);
    } else {
        dialogue_connected(t->dialogue);
    }
}

enum session_talk_result session_talk_input(struct session_talk *t,
                                            const struct backend_frame *frame, uint64_t now_us)
{
    switch (frame->type) {
    case BACKEND_CONNECTED:
        connected(t, now_us);
        return TALK_OK;
    case BACKEND_AUDIO_IN:
        return audio_in(t, frame, now_us);
    case BACKEND_CREDIT:
        return credit(t, frame);
    case BACKEND_PLAYBACK:
        return playback(t, frame, now_us);
    case BACKEND_FLUSHED:
        return flushed(t, frame, now_us);
    case BACKEND_EVENT:
        return event(t, frame, now_us);
    case BACKEND_CHANNEL_DATA:
        return channel(t, frame);
    case BACKEND_SIDEBAND:
        return sideband(t, frame, now_us);
    case BACKEND_DTMF:
        return dtmf(t, frame, now_us);
    case BACKEND_SPEECH: /* the agent listens for itself */
    case BACKEND_NET_STATS:
        return TALK_OK;
    default:
        return frame->type < BACKEND_FRAME_TYPE_OPTIONAL_FROM ? TALK_UNSUPPORTED : TALK_OK;
    }
}

void session_talk_resume(struct session_talk *t, const struct backend_position *position,
                         uint64_t now_us)
{
    chunked_message_drop(&t->event);
    channel_echo_clear(&t->channel);
    message_outbox_rewind(&t->outbox);
    if (t->agent != NULL) {
        agent_resume(t->agent, position, now_us);
    } else {
        dialogue_resume(t->dialogue, position);
    }
}

void session_talk_tick(struct session_talk *t, uint64_t now_us)
{
    if (t->agent != NULL) {
        agent_tick(t->agent, now_us);
    } else {
        dialogue_tick(t->dialogue, now_us);
    }
}

/* --- output ----------------------------------------------------------------------------------- */

bool session_talk_take_flush(struct session_talk *t, struct backend_frame *out)
{
    *out = (struct backend_frame){.type = BACKEND_FLUSH};
    return t->agent != NULL ? agent_take_flush(t->agent, &out->utterance)
                            : dialogue_take_flush(t->dialogue, &out->utterance);
}

bool session_talk_take_audio(struct session_talk *t, struct backend_frame *out)
{
    struct utterance_audio audio;
    if (!(t->agent != NULL ? agent_take_audio(t->agent, &audio)
                           : dialogue_take_audio(t->dialogue, &audio))) {
        return false;
    }
    audio_frames_write(&t->audio, &audio, t->payload, sizeof(t->payload), out);
    return true;
}

bool session_talk_take_message(struct session_talk *t, struct backend_frame *out)
{
    struct realtime_event e;
    if (t->agent != NULL && message_outbox_is_empty(&t->outbox) && agent_poll_event(t->agent, &e)) {
        message_outbox_lend(&t->outbox, &(struct outbox_message){.type = BACKEND_EVENT,
                                                                 .is_of_one = e.sideband != 0,
                                                                 .sideband = e.sideband,
                                                                 .bytes = e.text});
    }
    return message_outbox_take(&t->outbox, out);
}
