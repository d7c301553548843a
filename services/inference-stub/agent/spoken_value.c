/* spoken_value.c - see spoken_value.h */
#include "services/inference-stub/agent/spoken_value.h"

#include "common/base/bytes.h"
#include "common/base/json_bounds.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX   8
#define MEMBERS_MAX 256

static void put(struct byte_writer *w, const char *text)
{
    byte_writer_bytes(w, bytes_view_of(text, strlen(text)));
}

/* "time_zone" is two words. */
static void put_key(struct byte_writer *w, const char *key)
{
    for (; *key != '\0'; key++) {
        byte_writer_u8(w, (uint8_t)(*key == '_' ? ' ' : *key));
    }
    put(w, " ");
}

static void put_value(struct byte_writer *w, json_t *value);

static void put_object(struct byte_writer *w, json_t *object)
{
    const char *separator = "";
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        put(w, separator);
        put_key(w, key);
        put_value(w, value);
        separator = ", ";
    }
}

static void put_array(struct byte_writer *w, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        put(w, i == 0 ? "" : ", ");
        put_value(w, json_array_get(array, i));
    }
}

/* As deep as DEPTH_MAX. */
static void put_value(struct byte_writer *w, json_t *value)
{
    char number[32];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        put_object(w, value);
        return;
    case JSON_ARRAY:
        put_array(w, value);
        return;
    case JSON_STRING:
        put(w, json_string_value(value));
        return;
    case JSON_INTEGER:
        (void)snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
        put(w, number);
        return;
    case JSON_REAL:
        (void)snprintf(number, sizeof(number), "%g", json_real_value(value));
        put(w, number);
        return;
    case JSON_TRUE:
        put(w, "yes");
        return;
    case JSON_FALSE:
        put(w, "no");
        return;
    case JSON_NULL:
        put(w, "nothing");
        return;
    }
}

bool spoken_value_write(const char *text, char *out, size_t cap)
{
    const struct bytes_view json = bytes_view_of(text, strlen(text));
    if (!json_bounds_hold(json, DEPTH_MAX, MEMBERS_MAX)) {
        return false;
    }
    json_t *value = json_loadb(text, json.len, JSON_DECODE_ANY, NULL);
    if (value == NULL) {
        return false;
    }
    struct byte_writer w;
    byte_writer_init(&w, out, cap);
    put_value(&w, value);
    json_decref(value);
    const bool has_words = w.len > 0;
    byte_writer_u8(&w, '\0');
    return has_words && !w.failed;
}
