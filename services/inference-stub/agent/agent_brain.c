/* agent_brain.c - see agent_brain.h */
#include "services/inference-stub/agent/agent_brain.h"

#include "services/inference-stub/agent/spoken_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const enum agent_phrase phrase_of_cause[] = {
    [AGENT_CAUSE_SPOKEN] = AGENT_PHRASE_SPOKEN,
    [AGENT_CAUSE_TYPED] = AGENT_PHRASE_TYPED,
    [AGENT_CAUSE_DIALLED] = AGENT_PHRASE_DIALLED,
    [AGENT_CAUSE_TOOL_OUTPUT] = AGENT_PHRASE_TOOL_OUTPUT,
    [AGENT_CAUSE_GREETING] = AGENT_PHRASE_GREETING,
    [AGENT_CAUSE_NOTHING] = AGENT_PHRASE_MORE,
};

/* --- tools ------------------------------------------------------------------------------------ */

static bool fits(const struct agent_tool_rule *rule, const struct agent_question *q)
{
    return rule->cause == q->cause && (rule->turn == 0 || rule->turn == q->facts.turn) &&
           (rule->word[0] == '\0' || strcasestr(q->facts.text, rule->word) != NULL);
}

static bool call_by_rule(const struct agent_script *script, const struct agent_question *q,
                         struct agent_answer *out)
{
    for (size_t i = 0; i < script->tool_count; i++) {
        const struct agent_tool_rule *rule = &script->tool[i];
        const bool is_any = strcmp(rule->tool, "*") == 0;
        if (fits(rule, q) && (is_any ? q->first_tool != NULL : q->may_call[i])) {
            out->tool = is_any ? q->first_tool : rule->tool;
            out->arguments = rule->arguments;
            return true;
        }
    }
    return false;
}

/* --- what may be asked for by typing ---------------------------------------------------------- */

static const char *const number_name[] = {
    "zero",     "one",     "two",     "three",     "four",     "five",     "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",   "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
};
#define NUMBER_NAMES (sizeof(number_name) / sizeof(number_name[0]))

/* 0 when the word is no number. */
static uint32_t number_of(const char *word, size_t len)
{
    if (word[0] >= '0' && word[0] <= '9') {
        const unsigned long number = strtoul(word, NULL, 10);
        return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    }
    for (size_t i = 0; i < NUMBER_NAMES; i++) {
        if (strlen(number_name[i]) == len && strncasecmp(number_name[i], word, len) == 0) {
            return (uint32_t)i;
        }
    }
    return 0;
}

static size_t letters(const char *word)
{
    size_t len = 0;
    while ((word[len] | 0x20) >= 'a' && (word[len] | 0x20) <= 'z') {
        len++;
    }
    return len;
}

/* Where the word stands alone, in any case; NULL where it does not. */
static const char *find_word(const char *text, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = text; *at != '\0';) {
        const size_t found = letters(at);
        if (found == len && strncasecmp(at, word, len) == 0) {
            return at;
        }
        at += found > 0 ? found : 1;
    }
    return NULL;
}

/* The number in "count to 7", "count up to seven", "please count: 7"; 0 for none. */
static uint32_t number_to_count_to(const char *text)
{
    const char *at = find_word(text, "count");
    if (at == NULL) {
        return 0;
    }
    uint32_t number = 0;
    at += agent_words_word(at);
    while (number == 0 && *at != '\0') {
        number = number_of(at, letters(at));
        at += agent_words_word(at);
    }
    return number;
}

static void count(uint32_t last, char *out, size_t cap)
{
    size_t len = 0;
    for (uint32_t i = 1; i <= last; i++) {
        char number[16];
        const int bytes = snprintf(number, sizeof(number), "%u%s", i, i < last ? ", " : ".");
        if ((size_t)bytes >= cap - len) {
            return;
        }
        memcpy(out + len, number, (size_t)bytes + 1);
        len += (size_t)bytes;
    }
}

/* --- the answer ------------------------------------------------------------------------------- */

/* A tool gives JSON, which nobody wants to hear. */
static void say(const struct agent_script *script, enum agent_phrase which,
                const struct agent_question *q, struct agent_answer *out)
{
    char spoken[AGENT_TEXT_CAP];
    struct agent_facts facts = q->facts;
    if (q->cause == AGENT_CAUSE_TOOL_OUTPUT &&
        spoken_value_write(facts.text, spoken, sizeof(spoken))) {
        facts.text = spoken;
    }
    agent_words_fill(script->phrase[which], &facts, out->text, sizeof(out->text));
}

static void answer_by_line(const struct agent_script *script, const struct agent_question *q,
                           struct agent_answer *out)
{
    if (q->cause == AGENT_CAUSE_SPOKEN && q->facts.turn == out->line.tool_on_turn &&
        q->may_call[AGENT_TOOLS_MAX]) {
        out->tool = out->line.tool;
        out->arguments = out->line.arguments;
        return;
    }
    out->speak_ms = out->line.speak_ms;
    say(script, AGENT_PHRASE_FILLER, q, out);
}

void agent_brain_answer(const struct agent_script *script, const struct agent_question *question,
                        struct agent_answer *out)
{
    out->tool = NULL;
    out->arguments = NULL;
    out->speak_ms = 0;
    out->text[0] = '\0';
    if (stub_line_read(question->instructions, &out->line)) {
        answer_by_line(script, question, out);
        return;
    }
    if (call_by_rule(script, question, out)) {
        return;
    }
    const bool is_typed = question->cause == AGENT_CAUSE_TYPED;
    const uint32_t number = is_typed ? number_to_count_to(question->facts.text) : 0;
    if (number > 0) {
        count(number < script->count_max ? number : script->count_max, out->text,
              sizeof(out->text));
    } else if (is_typed && find_word(question->facts.text, "time") != NULL) {
        say(script, AGENT_PHRASE_TIME, question, out);
    } else {
        say(script, phrase_of_cause[question->cause], question, out);
    }
}
