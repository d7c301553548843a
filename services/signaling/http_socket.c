/* http_socket.c - see http_socket.h */
#include "services/signaling/http_socket.h"

#include <assert.h>
#include <libwebsockets.h>
#include <stdlib.h>

#define MESSAGE_BYTES_FIRST 1024

struct http_frame {
    struct http_frame *next;
    size_t len;
    uint8_t bytes[]; /* LWS_PRE of room, then the text */
};

/* What a frame costs in memory, which is what the bound is for. */
static size_t frame_bytes(size_t len)
{
    return sizeof(struct http_frame) + LWS_PRE + len;
}

/* --- life ------------------------------------------------------------------------------------- */

struct http_socket *http_socket_create(void)
{
    return calloc(1, sizeof(struct http_socket));
}

void http_socket_begin(struct http_socket *k, const struct http_judgement *judgement)
{
    assert(judgement->message_bytes_max > 0);
    assert(judgement->message_bytes_max <= HTTP_MESSAGE_BYTES_MAX);
    k->tag = judgement->tag;
    k->message_bytes_max = judgement->message_bytes_max;
}

static void drop_queue(struct http_socket *k)
{
    while (k->first != NULL) {
        struct http_frame *frame = k->first;
        k->first = frame->next;
        free(frame);
    }
    k->last = NULL;
    k->queued_bytes = 0;
}

static void drop_message(struct http_socket *k)
{
    if (k->message != NULL) {
        explicit_bzero(k->message, k->message_len); /* it may have brought a key */
    }
    free(k->message);
    k->message = NULL;
    k->message_len = 0;
    k->message_cap = 0;
    k->has_message = false;
    k->is_lent = false;
}

void http_socket_destroy(struct http_socket *k)
{
    if (k != NULL) {
        drop_queue(k);
        drop_message(k);
        free(k);
    }
}

/* --- in --------------------------------------------------------------------------------------- */

static bool make_room(struct http_socket *k, size_t len)
{
    if (len <= k->message_cap) {
        return true;
    }
    size_t cap = k->message_cap > 0 ? k->message_cap : MESSAGE_BYTES_FIRST;
    while (cap < len) {
        cap *= 2;
    }
    uint8_t *grown = realloc(k->message, cap);
    if (grown != NULL) {
        k->message = grown;
        k->message_cap = cap;
    }
    return grown != NULL;
}

static int end_with(struct http_socket *k, struct lws *wsi, enum http_close_code code)
{
    http_socket_close(k, code);
    lws_close_reason(wsi, (enum lws_close_status)code, NULL, 0);
    return -1;
}

int http_socket_on_piece(struct http_socket *k, struct lws *wsi, struct bytes_view piece)
{
    if (k->close_code != 0) {
        return 0; /* the client has not seen yet that it is over */
    }
    if (lws_frame_is_binary(wsi)) {
        return end_with(k, wsi, HTTP_CLOSE_NOT_TEXT);
    }
    if (piece.len > k->message_bytes_max - k->message_len) {
        return end_with(k, wsi, HTTP_CLOSE_TOO_LARGE);
    }
    /* libwebsockets reads no further while it is told to wait for us. */
    if (k->has_message || !make_room(k, k->message_len + piece.len + 1)) {
        return end_with(k, wsi, HTTP_CLOSE_TRY_LATER);
    }
    if (piece.len > 0) {
        memcpy(k->message + k->message_len, piece.data, piece.len);
        k->message_len += piece.len;
    }
    k->has_message = lws_is_final_fragment(wsi) != 0;
    return 0;
}

bool http_socket_is_reading(const struct http_socket *k)
{
    return k->close_code != 0 || (!k->has_message && !k->is_held);
}

static bool can_take(const struct http_socket *k)
{
    return k->has_message && !k->is_lent && k->close_code == 0;
}

bool http_socket_has_event(const struct http_socket *k)
{
    return k->has_open_event || can_take(k);
}

bool http_socket_take(struct http_socket *k, struct bytes_view *text)
{
    if (!can_take(k)) {
        return false;
    }
    k->is_lent = true;
    *text = bytes_view_of(k->message, k->message_len);
    return true;
}

void http_socket_release(struct http_socket *k)
{
    drop_message(k);
}

/* --- out -------------------------------------------------------------------------------------- */

bool http_socket_send(struct http_socket *k, struct bytes_view text)
{
    if (k->close_code != 0) {
        return false;
    }
    const size_t room = HTTP_SOCKET_QUEUE_BYTES_MAX - k->queued_bytes;
    struct http_frame *frame =
        text.len <= room && frame_bytes(text.len) <= room ? malloc(frame_bytes(text.len)) : NULL;
    if (frame == NULL) {
        drop_queue(k);
        http_socket_close(k, HTTP_CLOSE_TRY_LATER);
        return false;
    }
    frame->next = NULL;
    frame->len = text.len;
    if (text.len > 0) {
        memcpy(frame->bytes + LWS_PRE, text.data, text.len);
    }
    if (k->last != NULL) {
        k->last->next = frame;
    } else {
        k->first = frame;
    }
    k->last = frame;
    k->queued_bytes += frame_bytes(text.len);
    return true;
}

void http_socket_close(struct http_socket *k, enum http_close_code code)
{
    if (k->close_code == 0) {
        k->close_code = code;
    }
}

/* libwebsockets asks when the kernel has room, and keeps what of one frame it had none for. */
int http_socket_on_writeable(struct http_socket *k, struct lws *wsi)
{
    if (lws_get_close_length(wsi) > 0) {
        /* A Close was said, by us or for a fault that libwebsockets saw: no more data frames. */
        drop_queue(k);
        http_socket_close(k, HTTP_CLOSE_POLICY);
        return 0;
    }
    struct http_frame *frame = k->first;
    if (frame == NULL) {
        return k->close_code != 0 ? end_with(k, wsi, k->close_code) : 0;
    }
    k->first = frame->next;
    k->last = k->first != NULL ? k->last : NULL;
    k->queued_bytes -= frame_bytes(frame->len);
    const int written = lws_write(wsi, frame->bytes + LWS_PRE, frame->len, LWS_WRITE_TEXT);
    const bool is_good = written >= (int)frame->len;
    free(frame);
    if (k->first != NULL || k->close_code != 0) {
        lws_callback_on_writable(wsi);
    }
    return is_good ? 0 : -1;
}
