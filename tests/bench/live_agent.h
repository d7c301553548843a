/*
 * live_agent.h - the voice agent of a live shard: one connection, and a manner for each call
 *
 * Takes:   frames of the shard; a real clock.
 * Gives:   speech that no two calls say at the same time, and what it observed, to poll.
 * Not here: what left for the clients (live_shard.h).
 */
#ifndef EARSHOT_LIVE_AGENT_H
#define EARSHOT_LIVE_AGENT_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define LIVE_AGENT_CALLS_MAX 100
#define LIVE_AGENT_RATE_HZ   24000

/* An event of the client or the agent begins with so many digits: when it was said. */
#define LIVE_AGENT_TIME_DIGITS 20
#define LIVE_AGENT_EVENT_BYTES 1024

enum live_manner {
    LIVE_SILENT,
    LIVE_STREAMING,       /* speaks without a pause */
    LIVE_SHORT_SENTENCES, /* of 100 ms, with pauses */
    LIVE_INTERRUPTED      /* speaks, and takes it back after a while at random */
};

enum live_event_kind {
    LIVE_HEARD,   /* AUDIO_IN: what the client said at `timestamp` */
    LIVE_ASKED,   /* the shard wanted an agent for this call */
    LIVE_FLUSHED, /* a FLUSH of at_us was answered long ago: sent_us of the utterance had left */
    LIVE_TOLD     /* EVENT: it says that the client said it at sent_us. It was told back at once */
};

struct live_event {
    enum live_event_kind kind;
    size_t call; /* its number in "rtc_N" */
    uint32_t timestamp;
    uint64_t at_us;
    uint64_t sent_us;
};

struct live_agent;

/* Listens at this path of a UNIX socket. */
struct live_agent *live_agent_create(const char *path);
void live_agent_destroy(struct live_agent *a);

/* An event that says it is said now. */
void live_agent_write_event(char text[LIVE_AGENT_EVENT_BYTES], uint64_t now_us);
/* When an event was said. */
uint64_t live_agent_read_event(struct bytes_view text);

/* For poll. */
int live_agent_fd(const struct live_agent *a);
void live_agent_hear(struct live_agent *a);
MUST_USE bool live_agent_poll_event(struct live_agent *a, struct live_event *out);

/* What a call said before is taken back. */
void live_agent_set_manner(struct live_agent *a, size_t call, enum live_manner manner,
                           uint64_t now_us);
/* Says what is due, and returns when the next is. */
uint64_t live_agent_speak(struct live_agent *a, uint64_t now_us);
/* When it began to say the utterance whose first packet left now; each is told once, 0 = none. */
uint64_t live_agent_take_begin(struct live_agent *a, size_t call);
enum live_manner live_agent_manner(const struct live_agent *a, size_t call);

#endif
