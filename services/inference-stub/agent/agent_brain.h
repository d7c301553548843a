/*
 * agent_brain.h - what the agent answers: a pure function
 *
 * Takes:   what is to be answered, the script, and a `#stub` line of the instructions, which
 *          replaces the script.
 * Gives:   words to say, or a call of a tool that the session declares.
 * Rule:    a tool's rule comes first; typed words may ask for the time or for counting; everything
 *          else has its phrase.
 */
#ifndef EARSHOT_AGENT_BRAIN_H
#define EARSHOT_AGENT_BRAIN_H

#include "services/inference-stub/agent/agent_script.h"
#include "services/inference-stub/agent/agent_words.h"
#include "services/inference-stub/agent/stub_line.h"

#define AGENT_TEXT_CAP 2048

struct agent_question {
    enum agent_cause cause;
    struct agent_facts facts;
    const char *instructions;
    const char *first_tool; /* that may be called; NULL: none */
    /* May a rule's tool be called? By its place in the script; the last is the `#stub` line's. */
    bool may_call[AGENT_TOOLS_MAX + 1];
};

struct agent_answer {
    const char *tool;      /* NULL: text is said */
    const char *arguments; /* JSON */
    uint32_t speak_ms;     /* text is said over and over, so long; 0: once */
    char text[AGENT_TEXT_CAP];
    struct stub_line line; /* tool and arguments may point into it, or into the script */
};

void agent_brain_answer(const struct agent_script *script, const struct agent_question *question,
                        struct agent_answer *out);

#endif
