/*
 * session_fields.h - the fields that session.update and response.create may set: their types and
 *                    ranges, and what they mean
 *
 * Takes:   a JSON object: an update, an effective session, or the `response` of response.create.
 * Gives:   readers that are borrowed from the object, with nothing for what it does not say.
 */
#ifndef EARSHOT_SESSION_FIELDS_H
#define EARSHOT_SESSION_FIELDS_H

#include "services/inference-stub/realtime/client_event.h"

/* Unknown fields are right, and null is where a default may come back. prefix is put before the
 * name of the field that is wrong: "session." or "response.". */
MUST_USE bool session_fields_check(const json_t *fields, const char *prefix,
                                   struct client_error *error);

/* The value at a path of names with dots between them; NULL: none. */
json_t *session_fields_at(const json_t *fields, const char *path);

/* Whether output_modalities asks for text without audio. */
bool session_fields_are_text_only(const json_t *fields);
/* The name of the function that may be called: the one that tool_choice names, else the first of
 * tools; NULL: none. */
json_t *session_fields_tool(const json_t *tools, const json_t *tool_choice);
bool session_fields_have_tool(const json_t *fields, const char *name);

#endif
