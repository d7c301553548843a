/*
 * realtime_world.h - a call of the Realtime API with an agent that does as it is told, under the
 *                    rules of realtime_rules.h
 *
 * A conversation is written as steps: what happens, and the events that it has for answer.
 * An event is written as its type; then, behind a colon: the code of an `error`, the status of
 * `response.done` and of an item that is not completed, the position of a truncation.
 */
#ifndef EARSHOT_REALTIME_WORLD_H
#define EARSHOT_REALTIME_WORLD_H

#include "services/inference-stub/realtime/realtime.h"
#include "tests/support/realtime_rules.h"

#define WORLD_MESSAGE_BYTES  262144
#define WORLD_SUMMARY_CAP    8192
#define WORLD_LAST_EVENT_CAP (WORLD_MESSAGE_BYTES + 1)

struct realtime_world {
    struct realtime *realtime;
    struct realtime_rules rules;
    struct random_generator random;
    uint64_t clock_ms; /* of the audio that came in */
    uint32_t utterance;
    uint32_t flush; /* ordered and not confirmed; 0: none */
    uint32_t response;
    struct realtime_turn_detection turn_detection;
    struct realtime_order respond; /* the last one; its texts are copies */
    char prompt_text[256];
    char instructions[256];
    char tool[64];
    char transcribe[64]; /* item of the last order */
    uint64_t transcribe_ms;
    size_t appended_bytes;
    uint32_t sideband;              /* of the last event */
    char events[WORLD_SUMMARY_CAP]; /* since the last step */
    json_t *last;                   /* the newest event of the last drain */
};

struct realtime_world_config {
    const char *session;        /* NULL: {} */
    uint32_t message_bytes_max; /* 0: WORLD_MESSAGE_BYTES */
    bool is_restarted;
    uint64_t seed;
};

void realtime_world_open(struct realtime_world *w, const struct realtime_world_config *config);
void realtime_world_close(struct realtime_world *w);

/* --- what may happen: each is a step, with its text ------------------------------------------- */

typedef void realtime_step(struct realtime_world *w, const char *text);

realtime_step client;        /* an event of the client */
realtime_step audio;         /* so many ms come in */
realtime_step speech_begins; /* now */
realtime_step speech_ends;
realtime_step transcribes; /* the item of the last order, with these words */
realtime_step greets;
realtime_step speaks; /* opens the next utterance */
realtime_step says;
realtime_step says_end;
realtime_step calls_tool; /* get_weather, with these arguments */
realtime_step fails;
realtime_step playback_starts;  /* of the newest utterance */
realtime_step playback_goes_on; /* so many ms were heard */
realtime_step playback_ends;    /* after so many ms */
realtime_step flush_is_done;    /* the last one ordered; so many ms were heard */
realtime_step flush_found_nothing;
realtime_step resumes;

struct realtime_line {
    realtime_step *step;
    const char *text;
    const char *events; /* with spaces between them; NULL: not looked at */
};

/* False: what is different is in out. */
bool realtime_world_play(struct realtime_world *w, const struct realtime_line *lines, size_t count,
                         char *out, size_t out_cap);

/* A text, number or literal in the newest event, at a path of names and indices. Borrowed until
 * the next call; "" for what is not there. */
const char *realtime_world_field(struct realtime_world *w, const char *path);
/* Takes orders and events that wait; the events are in w->events. */
void realtime_world_drain(struct realtime_world *w);

#endif
