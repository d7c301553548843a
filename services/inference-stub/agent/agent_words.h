/*
 * agent_words.h - phrases with placeholders, and the sentences of what came of them
 *
 * Takes:   a phrase in which {duration}, {level}, {turn}, {time} and {text} stand for facts.
 * Gives:   UTF-8 text; what does not fit is left out at a character's border.
 */
#ifndef EARSHOT_AGENT_WORDS_H
#define EARSHOT_AGENT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_PLACEHOLDERS    "duration, level, turn, time, text"
#define AGENT_PLACEHOLDER_CAP 32

struct agent_facts {
    uint32_t speech_ms;     /* {duration}: in seconds, one decimal */
    int level_dbov;         /* {level} */
    uint32_t turn;          /* {turn}: of the spoken ones */
    uint64_t wall_clock_us; /* {time}: UTC, 14:05 */
    const char *text;       /* {text}: typed, dialled, or a tool's output */
};

void agent_words_fill(const char *phrase, const struct agent_facts *facts, char *out, size_t cap);
/* The first {name} that stands for nothing, or false. */
bool agent_words_find_unknown(const char *phrase, char name[AGENT_PLACEHOLDER_CAP]);

/* The length of the first sentence of text: up to its full stop with the space behind it, at most
 * bytes_max (cut at a space where there is one). 0 at the end. */
size_t agent_words_sentence(const char *text, size_t bytes_max);
/* Of the first word with the space behind it. 0 at the end. */
size_t agent_words_word(const char *text);
size_t agent_words_count(const char *text);

/* What of text a voice can read: of ASCII, but not the brackets and quotes of JSON, which it would
 * spell. Anything else is a space. */
void agent_words_readable(const char *text, size_t len, char *out, size_t cap);

#endif
