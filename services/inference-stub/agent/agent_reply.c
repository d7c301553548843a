/* agent_reply.c - see agent_reply.h */
#include "services/inference-stub/agent/agent_reply.h"

#include <stdio.h>

/* --- begin and end ---------------------------------------------------------------------------- */

static void begin(struct agent_reply *reply, uint32_t response, const char *text, uint64_t now_us)
{
    *reply = (struct agent_reply){.has_words = true, .response = response, .begun_us = now_us};
    (void)snprintf(reply->text, sizeof(reply->text), "%s", text);
    reply->text_words = agent_words_count(reply->text);
    reply->next_sentence = reply->text;
    reply->next_word = reply->text;
}

void agent_reply_begin(struct agent_reply *reply, const struct agent_reply_rooms *rooms,
                       uint32_t response, const char *text, uint32_t speak_ms, uint64_t now_us)
{
    agent_reply_stop(reply, rooms);
    begin(reply, response, text, now_us);
    reply->has_sound = true;
    reply->samples_max = pcm_samples_of_ms(rooms->rate_hz, speak_ms);
    const uint32_t utterance = agent_voice_open(rooms->voice);
    realtime_speak(rooms->realtime, response, utterance);
    agent_reply_advance(reply, rooms, now_us);
}

void agent_reply_write(struct agent_reply *reply, const struct agent_reply_rooms *rooms,
                       uint32_t response, const char *text, uint64_t now_us)
{
    agent_reply_stop(reply, rooms);
    begin(reply, response, text, now_us);
    reply->words_ready = reply->text_words;
}

static void end_sound(struct agent_reply *reply, const struct agent_reply_rooms *rooms)
{
    for (size_t i = 0; i < reply->order_count; i++) {
        speech_desk_cancel(rooms->desk, reply->order[i].order);
    }
    if (reply->has_sound) {
        agent_voice_close(rooms->voice);
    }
    reply->order_count = 0;
    reply->has_sound = false;
}

void agent_reply_mute(struct agent_reply *reply, const struct agent_reply_rooms *rooms)
{
    end_sound(reply, rooms);
    if (reply->samples_max == 0) {
        reply->words_ready = reply->text_words;
    }
}

void agent_reply_stop(struct agent_reply *reply, const struct agent_reply_rooms *rooms)
{
    end_sound(reply, rooms);
    reply->has_words = false;
}

/* --- sounds ----------------------------------------------------------------------------------- */

static bool is_long_enough(const struct agent_reply *reply, const struct agent_voice *voice)
{
    return reply->samples_max > 0 && agent_voice_added_samples(voice) >= reply->samples_max;
}

/* The length of the next sentence; 0 when there is none. */
static size_t next_sentence(struct agent_reply *reply)
{
    if (*reply->next_sentence == '\0' && reply->samples_max > 0) {
        reply->next_sentence = reply->text;
    }
    return agent_words_sentence(reply->next_sentence, REPLY_SENTENCE_BYTES);
}

static void order_sentences(struct agent_reply *reply, const struct agent_reply_rooms *rooms)
{
    while (reply->order_count < REPLY_ORDERS) {
        const size_t len = next_sentence(reply);
        if (len == 0) {
            return;
        }
        char sentence[REPLY_SENTENCE_BYTES + 1];
        char words[REPLY_SENTENCE_BYTES + 1];
        (void)snprintf(words, sizeof(words), "%.*s", (int)len, reply->next_sentence);
        agent_words_readable(reply->next_sentence, len, sentence, sizeof(sentence));
        const uint32_t order = speech_desk_order(rooms->desk, sentence, rooms->rate_hz);
        if (order == 0) {
            return; /* the desk is full: at the next advance */
        }
        reply->next_sentence += len;
        reply->order[reply->order_count++] = (struct reply_order){order, agent_words_count(words)};
    }
}

/* Takes the oldest order's sound if it is made. */
static bool fetch_sound(struct agent_reply *reply, const struct agent_reply_rooms *rooms)
{
    struct sound *sound = NULL;
    if (reply->order_count == 0) {
        return false;
    }
    const struct reply_order oldest = reply->order[0];
    const enum speech_progress progress = speech_desk_fetch(rooms->desk, oldest.order, &sound);
    if (progress == SPEECH_WAITING) {
        return false;
    }
    if (progress == SPEECH_READY) {
        const uint64_t added = agent_voice_added_samples(rooms->voice);
        const uint64_t room = reply->samples_max > 0 ? reply->samples_max - added : UINT64_MAX;
        agent_voice_add(rooms->voice, sound, room);
    }
    reply->words_ready += oldest.words;
    reply->order_count--;
    for (size_t i = 0; i < reply->order_count; i++) {
        reply->order[i] = reply->order[i + 1];
    }
    return true;
}

static void advance_sound(struct agent_reply *reply, const struct agent_reply_rooms *rooms,
                          uint64_t now_us)
{
    order_sentences(reply, rooms);
    while (fetch_sound(reply, rooms)) {
        if (is_long_enough(reply, rooms->voice)) {
            end_sound(reply, rooms);
            return;
        }
        order_sentences(reply, rooms);
    }
    const bool is_all_said = reply->order_count == 0 && next_sentence(reply) == 0;
    if (is_all_said || now_us >= reply->begun_us + REPLY_PATIENCE_US) {
        end_sound(reply, rooms);
    }
}

/* --- words ------------------------------------------------------------------------------------ */

/* How many may have been said by now: all of them within REPLY_WORDS_US. */
static size_t words_due(const struct agent_reply *reply, uint64_t now_us)
{
    const size_t known = reply->samples_max > 0 ? reply->words_ready : reply->text_words;
    const uint64_t elapsed_us = time_since(reply->begun_us, now_us);
    const uint64_t spread_us = time_earlier(known * REPLY_WORD_US, REPLY_WORDS_US);
    if (elapsed_us >= spread_us) {
        return known;
    }
    return 1 + (size_t)(known * elapsed_us / spread_us);
}

static void say_word(struct agent_reply *reply, struct realtime *realtime)
{
    char word[AGENT_TEXT_CAP];
    if (*reply->next_word == '\0') {
        reply->next_word = reply->text;
    }
    const size_t len = agent_words_word(reply->next_word);
    (void)snprintf(word, sizeof(word), "%.*s", (int)len, reply->next_word);
    realtime_say(realtime, reply->response, word);
    reply->next_word += len;
    reply->words_said++;
}

static void advance_words(struct agent_reply *reply, struct realtime *realtime, uint64_t now_us)
{
    const bool is_late = now_us >= reply->begun_us + REPLY_WORDS_US;
    const bool is_repeated = reply->samples_max > 0;
    const size_t due = words_due(reply, now_us);
    const size_t ready = is_late && !is_repeated ? reply->text_words : reply->words_ready;
    while (reply->words_said < due && reply->words_said < ready) {
        say_word(reply, realtime);
    }
    const bool is_whole = is_repeated ? !reply->has_sound || is_late : true;
    if (is_whole && reply->words_said >= (is_repeated ? ready : reply->text_words)) {
        reply->has_words = false;
        realtime_say_end(realtime, reply->response);
    }
}

void agent_reply_advance(struct agent_reply *reply, const struct agent_reply_rooms *rooms,
                         uint64_t now_us)
{
    if (reply->has_sound) {
        advance_sound(reply, rooms, now_us);
    }
    if (reply->has_words) {
        advance_words(reply, rooms->realtime, now_us);
    }
}
