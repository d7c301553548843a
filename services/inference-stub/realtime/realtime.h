/*
 * realtime.h - a call as its client sees it on the event channel: the Realtime API, a pure machine
 *
 * Takes:   events of the client and of side-bands (foreign JSON of any shape), what turn detection
 *          heard, what the agent says, and what the transceiver tells of the playback.
 * Gives:   orders for the agent: take all of them after each call here. Events in the order in
 *          which they are sent: take one when it can leave.
 * Owns:    the session's configuration, at most REALTIME_SESSION_BYTES_MAX of JSON; the newest
 *          items of the conversation, REALTIME_ITEMS_MAX and REALTIME_ITEMS_BYTES_MAX at most (the
 *          oldest is forgotten, without an event); the events that wait.
 * Units:   *_ms and *_us count from the start of the call or of an utterance, as the name says.
 * Fails:   a client's mistake is answered with an `error` event. An event of a client that comes
 *          while REALTIME_WAITING_BYTES_MAX wait is dropped. Whatever is longer than
 *          message_bytes_max is not said. Without memory an event is missing.
 * Source:  docs/client-contract.md.
 * Not here: audio, time, who is speaking, what is said.
 */
#ifndef EARSHOT_REALTIME_H
#define EARSHOT_REALTIME_H

#include "common/base/bytes.h"
#include "common/base/random.h"

#define REALTIME_ID_CAP            40
#define REALTIME_EVENT_BYTES_IN    262144 /* of a client; a longer one is answered with an error */
#define REALTIME_SESSION_BYTES_MAX (192 * 1024)
#define REALTIME_ITEMS_MAX         500
#define REALTIME_ITEMS_BYTES_MAX   (2 * 1024 * 1024) /* of memory */
#define REALTIME_WAITING_BYTES_MAX (1024 * 1024)
#define REALTIME_SPEECH_BYTES_MAX  8192 /* of one response: its words, or its tool's arguments */

struct realtime_config {
    struct bytes_view session_json; /* of SESSION_START; empty: all defaults */
    uint32_t message_bytes_max;     /* that the client takes */
    uint64_t expires_at_s;          /* Unix time */
    bool is_restarted;              /* the call had another agent before, which is gone */
    struct random_source random;    /* of every id */
};

struct realtime;

/* NULL when there is no memory. The first event is session.created. */
struct realtime *realtime_create(const struct realtime_config *config);
void realtime_destroy(struct realtime *r);

/* --- the event channel ------------------------------------------------------------------------ */

/* One event of a client, from the data channel or a side-band. False: dropped, see Fails. */
bool realtime_input(struct realtime *r, struct bytes_view event);
/* SIDEBAND attached: session.created for this one alone. */
void realtime_sideband_attached(struct realtime *r, uint32_t sideband);

struct realtime_event {
    struct bytes_view text; /* borrowed until the next realtime_poll_event */
    uint32_t sideband;      /* 0: for the client and every side-band */
};

MUST_USE bool realtime_poll_event(struct realtime *r, struct realtime_event *out);

/* --- the user --------------------------------------------------------------------------------- */

/* Audio came in, by RTP or by an APPEND_AUDIO; before what turn detection finds in it. */
void realtime_audio_in(struct realtime *r, uint64_t duration_us);
/* Where a turn begins (less prefix_padding_ms) and ends, on the clock of realtime_audio_in. */
void realtime_speech_started(struct realtime *r, uint64_t audio_start_ms);
void realtime_speech_stopped(struct realtime *r, uint64_t audio_end_ms);
/* The answer to TRANSCRIBE; text is UTF-8. */
void realtime_transcript(struct realtime *r, const char *item_id, const char *text);

/* --- the agent -------------------------------------------------------------------------------- */

/* A response that nobody asked for: a greeting. It is ordered by RESPOND as any other. Nothing
 * happens while a response is active. */
void realtime_respond(struct realtime *r);

/* `response` is the number of RESPOND. A number that is not the active response's changes nothing.
 * After its last word (say_end, call_tool or fail) a response is over. */

/* Speech begins. Its audio goes out as `utterance`, a number above all before. What still plays is
 * flushed first. Not for a response that is text only. */
void realtime_speak(struct realtime *r, uint32_t response, uint32_t utterance);
/* More words, of speech or of text alone: UTF-8. What goes beyond REALTIME_SPEECH_BYTES_MAX is not
 * said. */
void realtime_say(struct realtime *r, uint32_t response, const char *words);
/* All audio was generated. */
void realtime_say_end(struct realtime *r, uint32_t response);
/* arguments is JSON text. */
void realtime_call_tool(struct realtime *r, uint32_t response, const char *name,
                        const char *arguments);
void realtime_fail(struct realtime *r, uint32_t response, const char *code, const char *message);

/* --- the playback ----------------------------------------------------------------------------- */

enum realtime_playback_state {
    REALTIME_PLAYBACK_STARTED,
    REALTIME_PLAYBACK_PROGRESS,
    REALTIME_PLAYBACK_DONE,   /* played to its end, or starved */
    REALTIME_PLAYBACK_FLUSHED /* done, reason `flushed` */
};

/* PLAYBACK frames, in order; repeated ones change nothing. */
void realtime_playback(struct realtime *r, enum realtime_playback_state state, uint32_t utterance,
                       uint64_t heard_us);

struct realtime_flushed {
    uint32_t flush;     /* every utterance up to this one is dead */
    uint32_t utterance; /* the one that was playing; 0: none */
    uint64_t heard_us;  /* of it */
};

void realtime_flushed(struct realtime *r, const struct realtime_flushed *flushed);
/* Another connection to the transceiver: what was ordered there and not confirmed is ordered
 * again. */
void realtime_resumed(struct realtime *r);

/* --- orders ----------------------------------------------------------------------------------- */

enum realtime_order_type {
    REALTIME_RESPOND, /* answer; ends with the response's last word, or with CANCEL */
    REALTIME_CANCEL,  /* say no more in this response; what was spoken may play on */
    REALTIME_FLUSH,   /* every utterance up to this one is dead: FLUSH, and its audio stops */
    REALTIME_TURN_DETECTION, /* from now on so; the first order of a call */
    REALTIME_FORGET_AUDIO,   /* the turn that is being heard begins anew */
    REALTIME_APPEND_AUDIO,   /* samples of the client, to be heard as if they came by RTP */
    REALTIME_TRANSCRIBE      /* say what was heard in this item */
};

/* The newest that a response answers. */
enum realtime_prompt {
    REALTIME_PROMPT_NONE, /* nothing new was said: a greeting, or a client that asks for more */
    REALTIME_PROMPT_SPOKEN,
    REALTIME_PROMPT_TYPED,
    REALTIME_PROMPT_TOOL_OUTPUT
};

struct realtime_respond_order {
    uint32_t response;
    enum realtime_prompt prompt;
    uint32_t spoken_turn;     /* turns that the user has spoken in this call */
    const char *item_id;      /* of the prompt; "" for none */
    const char *text;         /* typed, or the tool's output; "" for none */
    const char *instructions; /* of the response, else of the session; may be "" */
    const char *tool;         /* the first function that may be called; NULL: none */
    bool is_text_only;
};

struct realtime_turn_detection {
    bool is_on;
    double threshold; /* 0..1 */
    uint32_t prefix_padding_ms;
    uint32_t silence_duration_ms;
};

struct realtime_order {
    enum realtime_order_type type;
    union {
        struct realtime_respond_order respond;
        uint32_t response;  /* CANCEL */
        uint32_t utterance; /* FLUSH */
        struct realtime_turn_detection turn_detection;
        struct bytes_view pcm16_24000; /* APPEND_AUDIO: whole samples, little-endian, 24000 Hz */
        struct {
            const char *item_id;
            uint64_t audio_ms; /* that the item holds */
        } transcribe;
    };
};

/* What an order points at is borrowed until the next realtime_poll_order. */
MUST_USE bool realtime_poll_order(struct realtime *r, struct realtime_order *out);

/* --- the session ------------------------------------------------------------------------------ */

/* Of the session; may be "". Borrowed until the next call on the machine. */
const char *realtime_instructions(const struct realtime *r);
/* The session declares a function of this name. */
bool realtime_has_tool(const struct realtime *r, const char *name);

#endif
