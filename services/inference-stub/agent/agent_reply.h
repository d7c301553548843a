/*
 * agent_reply.h - one answer being said: sentences to the desk, sounds to the voice, words to the
 * event channel
 *
 * Takes:   a text, and time.
 * Gives:   the words of a sentence as soon as its sound is made, one after another and faster than
 *          they are heard; the last one within REPLY_WORDS_US, whether or not its sound is made by
 *          then. Sounds wait for credit, words do not.
 * Owns:    the text and its orders at the desk: REPLY_ORDERS at a time, so that one long answer
 *          does not hold up the first sentence of another call.
 * Fails:   a sentence that can not be spoken is left out. What is not made within REPLY_PATIENCE_US
 *          ends the speech.
 */
#ifndef EARSHOT_AGENT_REPLY_H
#define EARSHOT_AGENT_REPLY_H

#include "services/inference-stub/agent/agent_brain.h"
#include "services/inference-stub/agent/agent_voice.h"
#include "services/inference-stub/realtime/realtime.h"
#include "services/inference-stub/sound/speech_desk.h"

#define REPLY_ORDERS         2
#define REPLY_SENTENCE_BYTES 120
#define REPLY_WORD_US        (100 * US_PER_MS)
#define REPLY_WORDS_US       (2400 * US_PER_MS)
#define REPLY_PATIENCE_US    (15 * US_PER_S)

/* What the replies of a call share. */
struct agent_reply_rooms {
    struct realtime *realtime;
    struct agent_voice *voice;
    struct speech_desk *desk;
    uint32_t rate_hz;
};

struct reply_order {
    uint32_t order; /* at the desk */
    size_t words;   /* of its sentence */
};

struct agent_reply {
    bool has_words; /* words are still to come */
    bool has_sound; /* likewise sounds */
    uint32_t response;
    uint64_t begun_us;
    uint64_t samples_max; /* the text is said over and over until then; 0: once */
    size_t text_words;
    size_t words_ready; /* whose sound is made */
    size_t words_said;
    const char *next_sentence;
    const char *next_word;
    size_t order_count; /* oldest first */
    struct reply_order order[REPLY_ORDERS];
    char text[AGENT_TEXT_CAP];
};

/* Begins to say text; one that was being said is over. speak_ms: as in agent_answer. */
void agent_reply_begin(struct agent_reply *reply, const struct agent_reply_rooms *rooms,
                       uint32_t response, const char *text, uint32_t speak_ms, uint64_t now_us);
/* The same for a response that is text only. */
void agent_reply_write(struct agent_reply *reply, const struct agent_reply_rooms *rooms,
                       uint32_t response, const char *text, uint64_t now_us);
/* Call when a sound may have been made, and each 100 ms. */
void agent_reply_advance(struct agent_reply *reply, const struct agent_reply_rooms *rooms,
                         uint64_t now_us);
/* No more sounds: the utterance is dead. Its words go on. */
void agent_reply_mute(struct agent_reply *reply, const struct agent_reply_rooms *rooms);
/* No more words and no more sounds; what the voice has been given is said. */
void agent_reply_stop(struct agent_reply *reply, const struct agent_reply_rooms *rooms);

#endif
