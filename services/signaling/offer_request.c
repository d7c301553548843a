/* offer_request.c - see offer_request.h */
#include "services/signaling/offer_request.h"

#include "services/signaling/http_field.h"
#include "services/signaling/offer/multipart_form.h"
#include "services/signaling/offer/session_json.h"

#include <stdlib.h>

/* A client that names no size takes this much (RFC 8841 s.6.1). */
#define MESSAGE_BYTES_DEFAULT 65536
/* The session is told back in an event with more around it. */
#define EVENT_BYTES 8192

static bool refuse(struct http_response *refusal, unsigned status, const char *code,
                   const char *message)
{
    *refusal = http_response_error(status, code, bytes_view_of_text(message));
    return false;
}

/* --- the size of a session -------------------------------------------------------------------- */

static bool starts_with(struct bytes_view line, const char *prefix)
{
    const size_t len = strlen(prefix);
    return line.len >= len && memcmp(line.data, prefix, len) == 0;
}

/* A line of the offer, without its end. */
static struct bytes_view take_line(struct bytes_view *sdp)
{
    const uint8_t *lf = memchr(sdp->data, '\n', sdp->len);
    const size_t len = lf != NULL ? (size_t)(lf - sdp->data) : sdp->len;
    const size_t used = lf != NULL ? len + 1 : len;
    const bool has_cr = len > 0 && sdp->data[len - 1] == '\r';
    const struct bytes_view line = bytes_view_of(sdp->data, has_cr ? len - 1 : len);
    *sdp = bytes_view_of(sdp->data + used, sdp->len - used);
    return line;
}

size_t offer_request_session_bytes_max(struct bytes_view sdp)
{
    static const char size[] = "a=max-message-size:";
    bool has_channels = false;
    uint64_t message_bytes = MESSAGE_BYTES_DEFAULT;
    while (sdp.len > 0) {
        const struct bytes_view line = take_line(&sdp);
        uint64_t value = 0;
        has_channels = has_channels || starts_with(line, "m=application ");
        if (starts_with(line, size) &&
            http_field_content_length(
                bytes_view_of(line.data + sizeof(size) - 1, line.len - (sizeof(size) - 1)),
                &value)) {
            message_bytes = value > 0 ? value : UINT64_MAX; /* RFC 8841 s.6: 0 is any size */
        }
    }
    if (!has_channels || message_bytes >= SESSION_JSON_BYTES_MAX + EVENT_BYTES) {
        return SESSION_JSON_BYTES_MAX;
    }
    return message_bytes > EVENT_BYTES ? (size_t)message_bytes - EVENT_BYTES : 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool merge_sessions(struct bytes_view secret_session, struct bytes_view session,
                           struct offer_request *out, struct http_response *refusal)
{
    switch (session_json_merge(secret_session, session, &out->session)) {
    case SESSION_JSON_GOOD:
        break;
    case SESSION_JSON_INVALID:
        return refuse(refusal, 400, "invalid_json", "The session is not a JSON object.");
    case SESSION_JSON_WRONG_TYPE:
        return refuse(refusal, 400, "invalid_value", "The session's type is not \"realtime\".");
    case SESSION_JSON_TOO_LARGE:
        return refuse(refusal, 413, "too_large", "The session is longer than 196608 bytes.");
    case SESSION_JSON_NO_MEMORY:
        return refuse(refusal, 503, "server_overloaded", "The server is out of memory.");
    }
    if (out->session != NULL && strlen(out->session) > offer_request_session_bytes_max(out->sdp)) {
        offer_request_discard(out);
        return refuse(refusal, 413, "too_large",
                      "The session is longer than the client's max-message-size allows.");
    }
    return true;
}

bool offer_request_make(struct bytes_view sdp, struct bytes_view session,
                        struct bytes_view secret_session, struct offer_request *out,
                        struct http_response *refusal)
{
    *out = (struct offer_request){.sdp = sdp};
    if (sdp.len == 0) {
        return refuse(refusal, 400, "invalid_offer", "The offer is empty.");
    }
    if (sdp.len > OFFER_REQUEST_SDP_BYTES_MAX) {
        return refuse(refusal, 413, "too_large", "The offer is longer than 65536 bytes.");
    }
    return merge_sessions(secret_session, session, out, refusal);
}

void offer_request_discard(struct offer_request *offer)
{
    free(offer->session);
    offer->session = NULL;
}

/* ?dcid=N: the stream that is the event channel from the start. */
static bool read_event_stream(struct bytes_view query, struct offer_request *out)
{
    struct bytes_view text;
    uint64_t value = 0;
    if (!http_field_query(query, "dcid", &text)) {
        return true;
    }
    out->has_event_stream =
        http_field_content_length(text, &value) && value <= OFFER_REQUEST_STREAM_MAX;
    out->event_stream = out->has_event_stream ? (uint16_t)value : 0;
    return out->has_event_stream;
}

static bool read_body(const struct http_request *request, struct bytes_view *sdp,
                      struct bytes_view *session, struct http_response *refusal)
{
    struct multipart_form form;
    const bool is_form = http_field_is_media_type(request->content_type, "multipart/form-data");
    if (!is_form && !http_field_is_media_type(request->content_type, "application/sdp")) {
        return refuse(refusal, 415, "unsupported_media_type",
                      "Send the offer as application/sdp, or as part sdp of multipart/form-data.");
    }
    if (!request->has_length) {
        return refuse(refusal, 411, "length_required", "Send Content-Length.");
    }
    if (!is_form) {
        *sdp = request->body;
        return true;
    }
    if (!multipart_form_read(request->content_type, request->body, &form)) {
        return refuse(refusal, 400, "invalid_value", "The body is not a form: see RFC 7578.");
    }
    if (!multipart_form_find(&form, "sdp", sdp)) {
        return refuse(refusal, 400, "invalid_offer", "The form has no part sdp.");
    }
    (void)multipart_form_find(&form, "session", session);
    return true;
}

bool offer_request_read(const struct http_request *request, struct bytes_view secret_session,
                        struct offer_request *out, struct http_response *refusal)
{
    struct bytes_view sdp = {0};
    struct bytes_view session = {0};
    struct offer_request stream = {0};
    *out = (struct offer_request){0};
    if (!read_body(request, &sdp, &session, refusal)) {
        return false;
    }
    if (!read_event_stream(request->query, &stream)) {
        return refuse(refusal, 400, "invalid_value", "dcid is not a number of 0 to 1023.");
    }
    if (!offer_request_make(sdp, session, secret_session, out, refusal)) {
        return false;
    }
    out->has_event_stream = stream.has_event_stream;
    out->event_stream = stream.event_stream;
    return true;
}
