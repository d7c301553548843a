/*
 * agent_script.h - what the agent says, and when it calls a tool: a YAML file
 *
 * Keys, placeholders and defaults: config/local/agent.yaml.
 * Fails:   as yaml_reader.h does, with the file, the line and what would be right.
 */
#ifndef EARSHOT_AGENT_SCRIPT_H
#define EARSHOT_AGENT_SCRIPT_H

#include "common/base/status.h"

#include <stdint.h>

#define AGENT_PHRASE_CAP    512
#define AGENT_TOOLS_MAX     16
#define AGENT_TOOL_CAP      65
#define AGENT_WORD_CAP      65
#define AGENT_ARGUMENTS_CAP 1024

/* What an answer is an answer to. */
enum agent_cause {
    AGENT_CAUSE_SPOKEN,
    AGENT_CAUSE_TYPED,
    AGENT_CAUSE_DIALLED,
    AGENT_CAUSE_TOOL_OUTPUT,
    AGENT_CAUSE_GREETING,
    AGENT_CAUSE_NOTHING /* somebody wants to hear more */
};

enum agent_phrase {
    AGENT_PHRASE_GREETING, /* may be empty: it does not greet */
    AGENT_PHRASE_SPOKEN,
    AGENT_PHRASE_TYPED,
    AGENT_PHRASE_DIALLED,
    AGENT_PHRASE_TOOL_OUTPUT,
    AGENT_PHRASE_MORE,
    AGENT_PHRASE_TIME,
    AGENT_PHRASE_FILLER,
    AGENT_PHRASE_TRANSCRIPT,
    AGENT_PHRASES
};

/* A tool is called instead of an answer. */
struct agent_tool_rule {
    char tool[AGENT_TOOL_CAP];           /* "*": the first that the session declares */
    enum agent_cause cause;              /* one of the first three */
    char word[AGENT_WORD_CAP];           /* that is typed or dialled; "": any */
    uint32_t turn;                       /* the spoken one; 0: any */
    char arguments[AGENT_ARGUMENTS_CAP]; /* a JSON object */
};

struct agent_script {
    char phrase[AGENT_PHRASES][AGENT_PHRASE_CAP];
    uint32_t count_max;
    uint64_t digits_pause_us;
    size_t tool_count;
    struct agent_tool_rule tool[AGENT_TOOLS_MAX];
};

/* path "": every key has its default. */
MUST_USE bool agent_script_load(const char *path, struct agent_script *out, struct fault *fault);

#endif
