/*
 * backend_json.h - one JSON object of a payload: typed getters, and text out
 *
 * Takes:   a payload of bounded length and depth; unknown keys are ignored, missing ones get the
 *          fallback; text that is too long is cut.
 * Fails:   a key of a wrong type makes the whole payload wrong: backend_json_close says so, once.
 * Not here: what the keys mean (backend_payload.c, backend_report.c, backend_message.c).
 */
#ifndef EARSHOT_BACKEND_JSON_H
#define EARSHOT_BACKEND_JSON_H

#include "common/base/bytes.h"

#include <jansson.h>

#define BACKEND_JSON_DEPTH_MAX 8

struct backend_json {
    json_t *object; /* NULL: there is none */
    bool failed;
};

struct backend_json backend_json_open(struct bytes_view payload, size_t bytes_max,
                                      size_t depth_max);
/* False when anything was wrong; what was read is not to be used then. */
MUST_USE bool backend_json_close(struct backend_json *o);

/* Always ends in a NUL. */
void backend_json_text(struct backend_json *o, const char *key, const char *fallback, char *text,
                       size_t cap);
uint64_t backend_json_u64(struct backend_json *o, const char *key, uint64_t max, uint64_t fallback);
uint32_t backend_json_u32(struct backend_json *o, const char *key, uint32_t fallback);
/* Any number, within min..max. */
double backend_json_number(struct backend_json *o, const char *key, double min, double max);
bool backend_json_bool(struct backend_json *o, const char *key, bool fallback);

/* Takes the reference to json; NULL (out of memory) gives 0, as text that does not fit. */
size_t backend_json_dump(json_t *json, char *text, size_t cap);

#endif
