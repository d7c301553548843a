/* call_patch.c - see call_patch.h */
#include "services/signaling/call_patch.h"

#include "services/signaling/http_field.h"

#include <stdio.h>

/* As the routing token counts them. */
#define GENERATION_MAX 255

const char *call_patch_outcome_name(enum call_patch_outcome outcome)
{
    static const char *const name[CALL_PATCH_OUTCOME_COUNT] = {
        [CALL_PATCH_RESTARTED] = "restarted",
        [CALL_PATCH_CANDIDATES] = "candidates",
        [CALL_PATCH_BAD_REQUEST] = "bad_request",
        [CALL_PATCH_OTHER_GENERATION] = "other_generation",
        [CALL_PATCH_REFUSED] = "refused",
        [CALL_PATCH_NOT_FOUND] = "not_found",
        [CALL_PATCH_NO_ANSWER] = "no_answer",
    };
    return name[outcome];
}

static struct http_response error(unsigned status, const char *code, const char *message)
{
    return http_response_error(status, code, bytes_view_of_text(message));
}

static struct http_response other_generation(void)
{
    return error(412, "precondition_failed",
                 "This is not the call's current ETag: ICE was restarted since.");
}

struct http_response call_patch_not_found(void)
{
    return error(404, "call_id_not_found", "There is no call with this id.");
}

struct http_response call_patch_no_answer(void)
{
    struct http_response r =
        error(503, "server_overloaded", "The server of this call does not answer. Try again soon.");
    r.retry_after_s = 1;
    return r;
}

/* What If-Match means: a restart, candidates of a generation, or nothing that can match. */
static bool read_if_match(struct bytes_view field, struct control_update_session *out)
{
    uint64_t generation = 0;
    /* RFC 9725 s.4.3.3 writes "*" between quotes, and so do some clients. */
    out->restarts_ice = bytes_equal(field, bytes_view_of_text("*")) ||
                        bytes_equal(field, bytes_view_of_text("\"*\""));
    if (out->restarts_ice) {
        return true;
    }
    const bool is_quoted =
        field.len > 2 && field.data[0] == '"' && field.data[field.len - 1] == '"';
    if (!is_quoted ||
        !http_field_content_length(bytes_view_of(field.data + 1, field.len - 2), &generation) ||
        generation > GENERATION_MAX) {
        return false;
    }
    out->ice_generation = (uint32_t)generation;
    return true;
}

bool call_patch_read(const struct http_request *request, struct control_update_session *out,
                     struct http_response *refusal, enum call_patch_outcome *out_outcome)
{
    *out = (struct control_update_session){.sdpfrag = request->body};
    *out_outcome = CALL_PATCH_BAD_REQUEST;
    if (!http_field_is_media_type(request->content_type, CALL_PATCH_TYPE)) {
        *refusal = error(415, "unsupported_media_type",
                         "Send the fragment with Content-Type: " CALL_PATCH_TYPE ".");
        refusal->accept_patch = CALL_PATCH_TYPE;
        return false;
    }
    if (!request->has_length) {
        *refusal = error(411, "length_required", "Send Content-Length.");
        return false;
    }
    if (request->body.len > CONTROL_SDPFRAG_BYTES_MAX) {
        *refusal = error(413, "too_large", "The fragment is longer than 16384 bytes.");
        return false;
    }
    if (request->if_match.len == 0) {
        *refusal = error(428, "precondition_required",
                         "Send If-Match: * to restart ICE, or the ETag with candidates.");
        return false;
    }
    if (!read_if_match(request->if_match, out)) {
        *refusal = other_generation();
        *out_outcome = CALL_PATCH_OTHER_GENERATION;
        return false;
    }
    return true;
}

static struct http_response updated(const struct control_reply *reply,
                                    enum call_patch_outcome *out_outcome)
{
    if (reply->sdpfrag.len == 0) {
        *out_outcome = CALL_PATCH_CANDIDATES;
        return (struct http_response){.status = 204};
    }
    struct http_response r = {
        .status = 200, .content_type = CALL_PATCH_TYPE, .body = reply->sdpfrag};
    (void)snprintf(r.etag, sizeof(r.etag), "\"%u\"", reply->ice_generation & GENERATION_MAX);
    *out_outcome = CALL_PATCH_RESTARTED;
    return r;
}

struct http_response call_patch_response(const struct session_outcome *outcome,
                                         enum call_patch_outcome *out_outcome)
{
    const struct control_reply *reply = &outcome->reply;
    *out_outcome = CALL_PATCH_NO_ANSWER;
    if (outcome->kind != SESSION_REPLIED) {
        return call_patch_no_answer();
    }
    switch (reply->refusal) {
    case CONTROL_REFUSAL_NONE:
        return reply->kind == CONTROL_UPDATE_SESSION ? updated(reply, out_outcome)
                                                     : call_patch_no_answer();
    case CONTROL_BAD_OFFER:
        *out_outcome = CALL_PATCH_BAD_REQUEST;
        return http_response_error(400, "invalid_value", reply->message);
    case CONTROL_OTHER_GENERATION:
        *out_outcome = CALL_PATCH_OTHER_GENERATION;
        return other_generation();
    case CONTROL_RESTARTS_USED_UP:
    case CONTROL_NOT_IMPLEMENTED: /* by a transceiver of an earlier version */
        /* RFC 9725 s.4.3: an error, and the ICE session that was there lives on. */
        *out_outcome = CALL_PATCH_REFUSED;
        return http_response_error(422, "restart_refused", reply->message);
    case CONTROL_NOT_FOUND:
        *out_outcome = CALL_PATCH_NOT_FOUND;
        return call_patch_not_found();
    default:
        return call_patch_no_answer();
    }
}
