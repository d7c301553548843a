/* backend_json.c - see backend_json.h */
#include "common/backend_link/backend_json.h"

#include "common/base/json_bounds.h"

/* A parsed payload stays small whatever it holds. */
#define MEMBERS_MAX 4096

/* Of numbers that are not whole. */
#define DIGITS 6

struct backend_json backend_json_open(struct bytes_view payload, size_t bytes_max, size_t depth_max)
{
    struct backend_json o = {0};
    if (payload.len <= bytes_max && json_bounds_hold(payload, depth_max, MEMBERS_MAX)) {
        o.object =
            json_loadb((const char *)payload.data, payload.len, JSON_REJECT_DUPLICATES, NULL);
    }
    o.failed = !json_is_object(o.object);
    return o;
}

bool backend_json_close(struct backend_json *o)
{
    json_decref(o->object);
    o->object = NULL;
    return !o->failed;
}

void backend_json_text(struct backend_json *o, const char *key, const char *fallback, char *text,
                       size_t cap)
{
    const json_t *value = json_object_get(o->object, key);
    if (value != NULL && !json_is_string(value)) {
        o->failed = true;
        value = NULL;
    }
    const char *from = value == NULL ? fallback : json_string_value(value);
    const size_t len = strnlen(from, cap - 1);
    memcpy(text, from, len);
    text[len] = '\0';
}

uint64_t backend_json_u64(struct backend_json *o, const char *key, uint64_t max, uint64_t fallback)
{
    const json_t *value = json_object_get(o->object, key);
    if (value == NULL) {
        return fallback;
    }
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number > max) {
        o->failed = true;
        return fallback;
    }
    return (uint64_t)number;
}

uint32_t backend_json_u32(struct backend_json *o, const char *key, uint32_t fallback)
{
    return (uint32_t)backend_json_u64(o, key, UINT32_MAX, fallback);
}

double backend_json_number(struct backend_json *o, const char *key, double min, double max)
{
    const json_t *value = json_object_get(o->object, key);
    if (value == NULL) {
        return 0;
    }
    const double number = json_number_value(value);
    if (!json_is_number(value) || number < min || number > max) {
        o->failed = true;
        return 0;
    }
    return number;
}

bool backend_json_bool(struct backend_json *o, const char *key, bool fallback)
{
    const json_t *value = json_object_get(o->object, key);
    if (value != NULL && !json_is_boolean(value)) {
        o->failed = true;
    }
    return value == NULL ? fallback : json_is_true(value);
}

size_t backend_json_dump(json_t *json, char *text, size_t cap)
{
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(DIGITS);
    const size_t len = json == NULL ? 0 : json_dumpb(json, text, cap, flags);
    json_decref(json);
    return len <= cap ? len : 0;
}
