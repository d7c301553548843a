/* agent_words.c - see agent_words.h */
#include "services/inference-stub/agent/agent_words.h"

#include "common/base/time_us.h"

#include <stdio.h>
#include <string.h>

enum placeholder { DURATION, LEVEL, TURN, TIME, TEXT, PLACEHOLDERS };

static const char *const placeholder_name[PLACEHOLDERS] = {"duration", "level", "turn", "time",
                                                           "text"};

static enum placeholder find_placeholder(const char *name, size_t len)
{
    size_t i = 0;
    while (i < PLACEHOLDERS &&
           (strlen(placeholder_name[i]) != len || memcmp(placeholder_name[i], name, len) != 0)) {
        i++;
    }
    return (enum placeholder)i;
}

/* The length of a {name} at text, braces and all; 0 when there is none. */
static size_t placeholder_len(const char *text)
{
    if (*text != '{') {
        return 0;
    }
    const size_t len = strcspn(text, "} ");
    return text[len] == '}' ? len + 1 : 0;
}

bool agent_words_find_unknown(const char *phrase, char name[AGENT_PLACEHOLDER_CAP])
{
    for (; *phrase != '\0'; phrase++) {
        const size_t len = placeholder_len(phrase);
        if (len > 0 && find_placeholder(phrase + 1, len - 2) == PLACEHOLDERS) {
            (void)snprintf(name, AGENT_PLACEHOLDER_CAP, "%.*s", (int)(len - 2), phrase + 1);
            return true;
        }
    }
    return false;
}

/* --- filling ---------------------------------------------------------------------------------- */

struct words {
    char *out;
    size_t len;
    size_t cap;
};

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static void append(struct words *w, const char *text, size_t len)
{
    if (len > w->cap - 1 - w->len) {
        len = w->cap - 1 - w->len;
        while (len > 0 && is_inside_character(text[len])) {
            len--;
        }
    }
    memcpy(w->out + w->len, text, len);
    w->len += len;
    w->out[w->len] = '\0';
}

static void append_fact(struct words *w, enum placeholder which, const struct agent_facts *facts)
{
    char text[32] = "";
    const unsigned minutes = (unsigned)(facts->wall_clock_us / US_PER_S / 60 % (24 * 60));
    switch (which) {
    case DURATION:
        (void)snprintf(text, sizeof(text), "%u.%u", facts->speech_ms / 1000,
                       facts->speech_ms / 100 % 10);
        break;
    case LEVEL:
        (void)snprintf(text, sizeof(text), "%d", facts->level_dbov);
        break;
    case TURN:
        (void)snprintf(text, sizeof(text), "%u", facts->turn);
        break;
    case TIME:
        (void)snprintf(text, sizeof(text), "%u:%02u", minutes / 60, minutes % 60);
        break;
    case TEXT:
        append(w, facts->text, strlen(facts->text));
        return;
    case PLACEHOLDERS:
        return;
    }
    append(w, text, strlen(text));
}

void agent_words_fill(const char *phrase, const struct agent_facts *facts, char *out, size_t cap)
{
    struct words w = {out, 0, cap};
    out[0] = '\0';
    while (*phrase != '\0') {
        const size_t len = placeholder_len(phrase);
        if (len > 0) {
            append_fact(&w, find_placeholder(phrase + 1, len - 2), facts);
            phrase += len;
            continue;
        }
        const size_t plain = 1 + strcspn(phrase + 1, "{");
        append(&w, phrase, plain);
        phrase += plain;
    }
}

/* --- taking apart ----------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t spaces(const char *text)
{
    size_t len = 0;
    while (is_space(text[len])) {
        len++;
    }
    return len;
}

size_t agent_words_word(const char *text)
{
    size_t len = spaces(text);
    while (text[len] != '\0' && !is_space(text[len])) {
        len++;
    }
    return len + spaces(text + len);
}

size_t agent_words_count(const char *text)
{
    size_t count = 0;
    for (size_t len = agent_words_word(text); len > 0; len = agent_words_word(text)) {
        count++;
        text += len;
    }
    return count;
}

/* A word that alone is longer than that is cut, between two characters. */
static size_t cut_word(const char *text, size_t bytes_max)
{
    size_t len = bytes_max;
    while (len > 1 && is_inside_character(text[len])) {
        len--;
    }
    return len;
}

size_t agent_words_sentence(const char *text, size_t bytes_max)
{
    size_t len = 0;
    for (;;) {
        const size_t word = agent_words_word(text + len);
        if (word == 0) {
            return len;
        }
        if (len + word > bytes_max) {
            return len > 0 ? len : cut_word(text, bytes_max);
        }
        len += word;
        size_t end = len;
        while (end > 0 && is_space(text[end - 1])) {
            end--;
        }
        if (end > 0 && strchr(".!?", text[end - 1]) != NULL) {
            return len;
        }
    }
}

void agent_words_readable(const char *text, size_t len, char *out, size_t cap)
{
    static const char unread[] = "{}[]<>\"\\|^`~_";
    size_t count = 0;
    for (size_t i = 0; i < len && count + 1 < cap; i++) {
        const bool is_read = text[i] >= ' ' && text[i] <= '~' && strchr(unread, text[i]) == NULL;
        out[count++] = is_read ? text[i] : ' ';
    }
    out[count] = '\0';
}
