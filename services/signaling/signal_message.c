/* signal_message.c - see signal_message.h */
#include "services/signaling/signal_message.h"

#include "common/base/json_bounds.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* RFC 8839 s.5.4. */
#define UFRAG_CHARS_MIN 4
#define PWD_CHARS_MIN   22
#define ICE_CHARS_MAX   256

static struct bytes_view text_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_string(value)
               ? bytes_view_of(json_string_value(value), json_string_length(value))
               : (struct bytes_view){0};
}

static bool is_text(struct bytes_view v, const char *text)
{
    return bytes_equal(v, bytes_view_of_text(text));
}

static enum signal_message_kind kind_of(const json_t *object)
{
    const struct bytes_view type = text_of(object, "type");
    return is_text(type, "offer")     ? SIGNAL_OFFER
           : is_text(type, "restart") ? SIGNAL_RESTART
           : is_text(type, "hangup")  ? SIGNAL_HANGUP
                                      : SIGNAL_UNKNOWN;
}

enum signal_message_kind signal_message_read(struct bytes_view text, struct signal_message *out)
{
    *out = (struct signal_message){0};
    if (!json_bounds_hold(text, SIGNAL_MESSAGE_DEPTH_MAX, SIGNAL_MESSAGE_MEMBERS_MAX)) {
        return SIGNAL_NO_MESSAGE;
    }
    json_t *object = json_loadb((const char *)text.data, text.len, 0, NULL);
    out->tree = object;
    if (!json_is_object(object)) {
        return SIGNAL_NO_MESSAGE;
    }
    out->sdp = text_of(object, "sdp");
    out->key = text_of(object, "key");
    out->ufrag = text_of(object, "ufrag");
    out->pwd = text_of(object, "pwd");
    const json_t *session = json_object_get(object, "session");
    if (session != NULL && !json_is_null(session)) {
        out->session_text = json_dumps(session, JSON_TEXT_FLAGS | JSON_ENCODE_ANY);
        out->session = out->session_text != NULL ? bytes_view_of_text(out->session_text)
                                                 : (struct bytes_view){0};
    }
    return kind_of(object);
}

void signal_message_discard(struct signal_message *m)
{
    if (m->key.len > 0) { /* the tree is ours alone: its texts may be written */
        explicit_bzero((void *)(uintptr_t)m->key.data, m->key.len);
    }
    json_decref(m->tree);
    free(m->session_text);
    *m = (struct signal_message){0};
}

static bool is_ice_text(struct bytes_view v, size_t chars_min)
{
    for (size_t i = 0; i < v.len; i++) {
        const uint8_t c = v.data[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '+' && c != '/') {
            return false;
        }
    }
    return v.len >= chars_min && v.len <= ICE_CHARS_MAX;
}

size_t signal_message_fragment(const struct signal_message *m, char text[SIGNAL_FRAGMENT_BYTES_MAX])
{
    if (!is_ice_text(m->ufrag, UFRAG_CHARS_MIN) || !is_ice_text(m->pwd, PWD_CHARS_MIN)) {
        return 0;
    }
    const int len = snprintf(
        text, SIGNAL_FRAGMENT_BYTES_MAX, "a=ice-ufrag:%.*s\r\na=ice-pwd:%.*s\r\n",
        (int)m->ufrag.len, (const char *)m->ufrag.data, (int)m->pwd.len, (const char *)m->pwd.data);
    return (size_t)len;
}

char *signal_message_write(const char *type, const char *name, struct bytes_view value,
                           const char *call_id)
{
    json_t *message =
        json_pack("{s:s, s:s%}", "type", type, name, (const char *)value.data, value.len);
    if (message != NULL && call_id != NULL) {
        (void)json_object_set_new(message, "call_id", json_string(call_id));
    }
    char *text = message != NULL ? json_dumps(message, JSON_TEXT_FLAGS) : NULL;
    json_decref(message);
    return text;
}
