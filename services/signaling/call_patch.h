/*
 * call_patch.h - PATCH of a call (RFC 9725 s.4.3): what it asks for, and how it is answered
 *
 * Pure. With If-Match: * it restarts ICE; with our ETag, the number of the ICE generation, it
 * brings candidates, which nobody needs.
 * Not here: the fragment itself, which only the transceiver reads (sdp_fragment.h).
 */
#ifndef EARSHOT_CALL_PATCH_H
#define EARSHOT_CALL_PATCH_H

#include "services/signaling/http_server.h"
#include "services/signaling/session_client.h"

#define CALL_PATCH_TYPE "application/trickle-ice-sdpfrag"

enum call_patch_outcome {
    CALL_PATCH_RESTARTED,
    CALL_PATCH_CANDIDATES,
    CALL_PATCH_BAD_REQUEST,
    CALL_PATCH_OTHER_GENERATION, /* an ETag that is not the current one */
    CALL_PATCH_REFUSED,          /* no more restarts */
    CALL_PATCH_NOT_FOUND,
    CALL_PATCH_NO_ANSWER,
    CALL_PATCH_OUTCOME_COUNT
};

/* "restarted": the label of the counter. */
const char *call_patch_outcome_name(enum call_patch_outcome outcome);

/* Fills what the transceiver is asked, but for the call; its fragment borrows from the request.
 * False: *refusal is the answer, and *out_outcome why. */
MUST_USE bool call_patch_read(const struct http_request *request,
                              struct control_update_session *out, struct http_response *refusal,
                              enum call_patch_outcome *out_outcome);

/* The answer to an outcome. Its body borrows from the outcome. */
struct http_response call_patch_response(const struct session_outcome *outcome,
                                         enum call_patch_outcome *out_outcome);
/* Of a hang-up too. No such call: the same for every reason. */
struct http_response call_patch_not_found(void);
struct http_response call_patch_no_answer(void);

#endif
