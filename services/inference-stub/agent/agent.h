/*
 * agent.h - the voice agent of a call: between its transceiver and the Realtime API, a pure machine
 *
 * Takes:   the user's samples, digits and events, credit, what the transceiver tells of the
 *          playback, and time.
 * Gives:   audio, flushes and events.
 * Owns:    the call's Realtime machine, its speech and its turn detection.
 * Rule:    it greets where the script says so, unless the user was faster; it answers what the
 *          Realtime machine orders, and digits after a pause.
 * Full:    AGENT_DIGITS_MAX digits wait for their answer; more are ignored.
 * Not here: frames (stub_session.h), what is said (agent_brain.h), how (agent_reply.h).
 */
#ifndef EARSHOT_AGENT_H
#define EARSHOT_AGENT_H

#include "services/inference-stub/agent/agent_counters.h"
#include "services/inference-stub/agent/agent_script.h"
#include "services/inference-stub/agent/agent_voice.h"
#include "services/inference-stub/realtime/realtime.h"
#include "services/inference-stub/sound/speech_desk.h"

#define AGENT_DIGITS_MAX 32

struct agent_config {
    const struct agent_script *script; /* these three outlive the agent */
    struct speech_desk *desk;
    struct agent_counters *counters;
    uint32_t rate_hz; /* of both directions: 16000 or 24000 */
    uint64_t credit_us;
    uint64_t wall_clock_us; /* Unix time when the caller's clock was 0 */
    bool has_events;        /* the client has an event channel */
    struct realtime_config realtime;
};

struct agent;

/* NULL when there is no memory. What config->realtime points at is not kept. */
struct agent *agent_create(const struct agent_config *config);
void agent_destroy(struct agent *a);

/* The user can hear from now on. */
void agent_connected(struct agent *a, uint64_t now_us);
void agent_audio_in(struct agent *a, struct pcm_view pcm, uint64_t now_us);
void agent_digit(struct agent *a, char digit, uint64_t now_us);
/* False: dropped, because too many events wait. */
bool agent_event(struct agent *a, struct bytes_view event, uint64_t now_us);
void agent_sideband_attached(struct agent *a, uint32_t sideband, uint64_t now_us);

void agent_credit(struct agent *a, uint64_t limit_us);
void agent_playback(struct agent *a, const struct backend_playback *playback, uint64_t now_us);
/* flush: the id in the frame's header. */
void agent_flushed(struct agent *a, uint32_t flush, const struct backend_flushed *flushed,
                   uint64_t now_us);
void agent_resume(struct agent *a, const struct backend_position *position, uint64_t now_us);

/* Each 100 ms, and when a sound was made. */
void agent_tick(struct agent *a, uint64_t now_us);

/* Drain all three after each call above, flushes first. */
bool agent_take_flush(struct agent *a, uint32_t *utterance);
bool agent_take_audio(struct agent *a, struct utterance_audio *out);
bool agent_poll_event(struct agent *a, struct realtime_event *out);

#endif
