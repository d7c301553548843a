/* http_upgrade.c - see http_upgrade.h */
#include "services/signaling/http_upgrade.h"

#include "services/signaling/http_screen.h"

#include <strings.h>

#define KEY_PREFIX "openai-insecure-api-key."
/* RFC 6455 s.4.1: 16 random bytes in base64. */
#define SOCKET_KEY_CHARS 24

/* --- lists ------------------------------------------------------------------------------------ */

/* Cuts the part before the separator off the front of *rest, without blanks around it. */
static struct bytes_view cut(struct bytes_view *rest, char separator)
{
    const uint8_t *end = rest->len > 0 ? memchr(rest->data, separator, rest->len) : NULL;
    const size_t len = end != NULL ? (size_t)(end - rest->data) : rest->len;
    const size_t used = end != NULL ? len + 1 : len;
    struct bytes_view part = bytes_view_of(rest->data, len);
    *rest = bytes_view_of(rest->data + used, rest->len - used);
    while (part.len > 0 && (part.data[0] == ' ' || part.data[0] == '\t')) {
        part = bytes_view_of(part.data + 1, part.len - 1);
    }
    while (part.len > 0 && (part.data[part.len - 1] == ' ' || part.data[part.len - 1] == '\t')) {
        part.len--;
    }
    return part;
}

static bool is_text(struct bytes_view v, const char *text)
{
    return bytes_equal(v, bytes_view_of_text(text));
}

static bool is_word(struct bytes_view v, const char *word)
{
    return v.len == strlen(word) && strncasecmp((const char *)v.data, word, v.len) == 0;
}

static bool has_option(struct bytes_view connection, const char *option)
{
    while (connection.len > 0) {
        if (is_word(cut(&connection, ','), option)) {
            return true;
        }
    }
    return false;
}

bool http_upgrade_offers(struct bytes_view subprotocols, const char *name)
{
    while (subprotocols.len > 0) {
        if (is_text(cut(&subprotocols, ','), name)) {
            return true;
        }
    }
    return false;
}

bool http_upgrade_can_answer(struct bytes_view subprotocols, const char *name)
{
    return name != NULL ? subprotocols.len > 0 && is_text(cut(&subprotocols, ','), name)
                        : subprotocols.len == 0;
}

struct bytes_view http_upgrade_offered_key(struct bytes_view subprotocols)
{
    const size_t prefix_len = strlen(KEY_PREFIX);
    while (subprotocols.len > 0) {
        const struct bytes_view name = cut(&subprotocols, ',');
        if (name.len > prefix_len && memcmp(name.data, KEY_PREFIX, prefix_len) == 0) {
            return bytes_view_of(name.data + prefix_len, name.len - prefix_len);
        }
    }
    return bytes_view_of(NULL, 0);
}

/* --- the head --------------------------------------------------------------------------------- */

struct first_line {
    struct bytes_view method;
    struct bytes_view target;
    struct bytes_view version;
};

/* http_screen found three parts with one blank between them. */
static struct first_line read_first_line(struct bytes_view head)
{
    struct bytes_view rest = cut(&head, '\r');
    struct first_line line;
    line.method = cut(&rest, ' ');
    line.target = cut(&rest, ' ');
    line.version = rest;
    return line;
}

static bool is_socket_key(struct bytes_view key)
{
    for (size_t i = 0; i < key.len; i++) {
        const uint8_t c = key.data[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool is_padding = c == '=' && i >= SOCKET_KEY_CHARS - 2;
        if (!is_letter && !(c >= '0' && c <= '9') && c != '+' && c != '/' && !is_padding) {
            return false;
        }
    }
    return key.len == SOCKET_KEY_CHARS;
}

/* Which of two is meant, two readers may see differently. */
static bool has_twins(struct bytes_view head)
{
    static const char *const once[] = {
        "host",           "authorization",     "origin",
        "content-length", "transfer-encoding", "connection",
        "upgrade",        "sec-websocket-key", "sec-websocket-version"};
    for (size_t i = 0; i < COUNT_OF(once); i++) {
        if (http_screen_count(head, once[i]) > 1) {
            return true;
        }
    }
    return false;
}

/* What is wrong with a head that asks for a WebSocket; NULL: nothing. */
static const char *fault_of(struct bytes_view head, const struct http_upgrade *upgrade)
{
    if (http_screen_field(head, "host").len == 0) {
        return "Send one Host field.";
    }
    if (has_twins(head)) {
        return "A field of the header stands there twice.";
    }
    if (http_screen_field(head, "content-length").len > 0 ||
        http_screen_field(head, "transfer-encoding").len > 0) {
        return "A request for a WebSocket has no body.";
    }
    if (!is_text(http_screen_field(head, "sec-websocket-version"), "13")) {
        return "Send Sec-WebSocket-Version: 13.";
    }
    if (!is_socket_key(http_screen_field(head, "sec-websocket-key"))) {
        return "Sec-WebSocket-Key is not 16 bytes in base64.";
    }
    if (http_screen_field(head, "connection").len > HTTP_UPGRADE_LIST_CHARS_MAX) {
        return "The Connection field is too long.";
    }
    if (upgrade->subprotocols.len > HTTP_UPGRADE_LIST_CHARS_MAX) {
        return "The list of subprotocols is too long: send a client secret in the Authorization "
               "field, or in the first message.";
    }
    return NULL;
}

static enum http_upgrade_kind bad(struct http_response *refusal, const char *message)
{
    *refusal = http_response_error(400, "invalid_value", bytes_view_of_text(message));
    return HTTP_UPGRADE_BAD;
}

enum http_upgrade_kind http_upgrade_read(struct bytes_view head, struct http_upgrade *out,
                                         struct http_response *refusal)
{
    const struct bytes_view wanted = http_screen_field(head, "upgrade");
    const bool is_asked = has_option(http_screen_field(head, "connection"), "upgrade");
    *out = (struct http_upgrade){0};
    if (wanted.len == 0 || is_word(wanted, "h2c")) {
        return HTTP_UPGRADE_NONE;
    }
    if (!is_word(wanted, "websocket")) {
        /* libwebsockets would answer it, and can not be made to ignore it. */
        return bad(refusal,
                   "There is no such protocol to upgrade to: leave out the field Upgrade.");
    }
    struct first_line line = read_first_line(head);
    if (!is_asked || !is_text(line.method, "GET") || !is_text(line.version, "HTTP/1.1")) {
        return HTTP_UPGRADE_NONE;
    }
    out->path = cut(&line.target, '?');
    out->query = line.target;
    out->authorization = http_screen_field(head, "authorization");
    out->origin = http_screen_field(head, "origin");
    out->subprotocols = http_screen_field(head, "sec-websocket-protocol");
    const char *fault = fault_of(head, out);
    return fault == NULL ? HTTP_UPGRADE_SOCKET : bad(refusal, fault);
}
