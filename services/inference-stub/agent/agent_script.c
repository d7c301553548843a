/* agent_script.c - see agent_script.h */
#include "services/inference-stub/agent/agent_script.h"

#include "common/base/time_us.h"
#include "common/runtime/yaml_reader.h"
#include "services/inference-stub/agent/agent_words.h"
#include "services/inference-stub/agent/stub_line.h"

#include <stdio.h>

static const struct {
    const char *key;
    const char *fallback;
} phrases[AGENT_PHRASES] = {
    [AGENT_PHRASE_GREETING] = {"greeting", ""},
    [AGENT_PHRASE_SPOKEN] = {"phrases.spoken",
                             "You spoke for {duration} seconds, at {level} decibels. "
                             "That was turn number {turn}. Tell me more, or interrupt me."},
    [AGENT_PHRASE_TYPED] = {"phrases.typed", "You wrote: {text}. I can tell the time, and count."},
    [AGENT_PHRASE_DIALLED] = {"phrases.dialled", "You pressed {text}."},
    [AGENT_PHRASE_TOOL_OUTPUT] = {"phrases.tool_output", "The tool says: {text}."},
    [AGENT_PHRASE_MORE] = {"phrases.more", "There is nothing new to say. It is {time}."},
    [AGENT_PHRASE_TIME] = {"phrases.time", "It is {time}, universal time."},
    [AGENT_PHRASE_FILLER] = {"phrases.filler", "I speak for as long as my script says. "
                                               "You may interrupt me at any word. "
                                               "My words are made faster than they are heard."},
    [AGENT_PHRASE_TRANSCRIPT] = {"phrases.transcript",
                                 "{duration} seconds of speech, {level} dBov"},
};

static void read_phrase(struct yaml_reader *r, enum agent_phrase which, struct agent_script *script)
{
    char name[AGENT_PLACEHOLDER_CAP];
    char *phrase = script->phrase[which];
    yaml_reader_text(r, phrases[which].key, phrases[which].fallback, phrase, AGENT_PHRASE_CAP);
    if (agent_words_find_unknown(phrase, name)) {
        yaml_reader_fail(r, phrases[which].key,
                         "{%s} stands for nothing: choose " AGENT_PLACEHOLDERS, name);
    } else if (phrase[0] == '\0' && which != AGENT_PHRASE_GREETING) {
        yaml_reader_fail(r, phrases[which].key, "is empty: write a phrase, or leave the key out");
    }
}

static void read_tool(struct yaml_reader *r, size_t index, struct agent_tool_rule *rule)
{
    static const char *const cause[] = {"spoken", "typed", "dialled", NULL};
    char path[64];
    (void)snprintf(path, sizeof(path), "tools[%zu].name", index);
    yaml_reader_text(r, path, NULL, rule->tool, sizeof(rule->tool));
    (void)snprintf(path, sizeof(path), "tools[%zu].on", index);
    rule->cause = (enum agent_cause)yaml_reader_choice(r, path, cause, AGENT_CAUSE_SPOKEN);
    (void)snprintf(path, sizeof(path), "tools[%zu].word", index);
    yaml_reader_text(r, path, "", rule->word, sizeof(rule->word));
    if (rule->word[0] != '\0' && rule->cause == AGENT_CAUSE_SPOKEN) {
        yaml_reader_fail(r, path, "nobody reads what is spoken: give a turn, or on: typed");
    }
    (void)snprintf(path, sizeof(path), "tools[%zu].turn", index);
    rule->turn = (uint32_t)yaml_reader_u64(r, path, 1, 1000, 0);
    if (rule->turn != 0 && rule->cause != AGENT_CAUSE_SPOKEN) {
        yaml_reader_fail(r, path, "only spoken turns are counted: give a word, or on: spoken");
    }
    (void)snprintf(path, sizeof(path), "tools[%zu].arguments", index);
    yaml_reader_text(r, path, "{}", rule->arguments, sizeof(rule->arguments));
    if (!stub_line_is_object(rule->arguments)) {
        yaml_reader_fail(r, path, "is no JSON object: write it as '{\"key\":\"value\"}'");
    }
}

static void read_tools(struct yaml_reader *r, struct agent_script *script)
{
    script->tool_count = yaml_reader_count(r, "tools");
    if (script->tool_count > AGENT_TOOLS_MAX) {
        yaml_reader_fail(r, "tools", "has %zu rules: leave at most %d", script->tool_count,
                         AGENT_TOOLS_MAX);
        script->tool_count = AGENT_TOOLS_MAX;
    }
    for (size_t i = 0; i < script->tool_count; i++) {
        read_tool(r, i, &script->tool[i]);
    }
}

bool agent_script_load(const char *path, struct agent_script *out, struct fault *fault)
{
    struct yaml_reader *r = path[0] == '\0'
                                ? yaml_reader_parse(bytes_view_of_text(""), "script", fault)
                                : yaml_reader_load(path, fault);
    if (r == NULL) {
        return false;
    }
    *out = (struct agent_script){0};
    for (size_t i = 0; i < AGENT_PHRASES; i++) {
        read_phrase(r, (enum agent_phrase)i, out);
    }
    out->count_max = (uint32_t)yaml_reader_u64(r, "count_max", 1, 100, 30);
    out->digits_pause_us =
        yaml_reader_duration_us(r, "digits_pause", 100 * US_PER_MS, 10 * US_PER_S, US_PER_S);
    read_tools(r, out);
    const bool is_good = yaml_reader_finish(r, fault);
    yaml_reader_destroy(r);
    return is_good;
}
