/*
 * stub_line.h - a script in the instructions of a session: one line, "#stub " and a JSON object
 *
 *   #stub {"tool_on_turn":1,"tool":"get_weather","args":{"city":"Oslo"},"speak_ms":9000}
 *
 * Takes:   instructions of a client: foreign text of any shape.
 * Gives:   what the line says; a key that is missing or of a wrong type has its default.
 */
#ifndef EARSHOT_STUB_LINE_H
#define EARSHOT_STUB_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STUB_TOOL_CAP         65
#define STUB_ARGUMENTS_CAP    4096
#define STUB_SPEAK_MS_MAX     60000
#define STUB_SPEAK_MS_DEFAULT 9000

struct stub_line {
    uint32_t speak_ms;     /* 1..STUB_SPEAK_MS_MAX: how long each answer is */
    uint32_t tool_on_turn; /* the spoken turn that is answered by a call; 0: none */
    char tool[STUB_TOOL_CAP];
    char arguments[STUB_ARGUMENTS_CAP]; /* JSON */
};

/* Is there such a line? The first one counts. */
bool stub_line_exists(const char *instructions);
/* False when there is none. */
bool stub_line_read(const char *instructions, struct stub_line *out);

/* Is this text a JSON object within the bounds of a tool's arguments? */
bool stub_line_is_object(const char *text);

#endif
