/*
 * offer_request.h - what a request for a call brings: its offer, its session, its event stream
 *
 * Pure. Takes a raw offer (application/sdp) or a form with the parts sdp and session
 * (multipart/form-data); lays the session over that of the client secret.
 * Fails:   read returns false and the answer, in the words of docs/client-contract.md.
 */
#ifndef EARSHOT_OFFER_REQUEST_H
#define EARSHOT_OFFER_REQUEST_H

#include "services/signaling/http_server.h"

#define OFFER_REQUEST_SDP_BYTES_MAX 65536
#define OFFER_REQUEST_STREAM_MAX    1023 /* of the event channel: as many streams are announced */

struct offer_request {
    struct bytes_view sdp; /* borrows from the request */
    char *session;         /* a JSON object or NULL; freed by discard */
    bool has_event_stream; /* ?dcid=N */
    uint16_t event_stream;
};

MUST_USE bool offer_request_read(const struct http_request *request,
                                 struct bytes_view secret_session, struct offer_request *out,
                                 struct http_response *refusal);
/* The same for an offer that came otherwise: sdp and session as they were sent. */
MUST_USE bool offer_request_make(struct bytes_view sdp, struct bytes_view session,
                                 struct bytes_view secret_session, struct offer_request *out,
                                 struct http_response *refusal);

void offer_request_discard(struct offer_request *offer);

/* The longest session whose echo fits the client's a=max-message-size. */
size_t offer_request_session_bytes_max(struct bytes_view sdp);

#endif
