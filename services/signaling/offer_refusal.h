/*
 * offer_refusal.h - what became of an offer, in the words of clients, logs and metrics
 *
 * Gives:   the one row of each reason for which an offer gets no answer.
 * Source:  docs/client-contract.md, "Errors". Pure: two tables.
 */
#ifndef EARSHOT_OFFER_REFUSAL_H
#define EARSHOT_OFFER_REFUSAL_H

#include "common/control/control_message.h"
#include "services/signaling/http_response.h"

enum offer_outcome {
    OFFER_ANSWERED,
    OFFER_BAD_REQUEST, /* no SDP in it, or of no length */
    OFFER_INVALID,
    OFFER_TOO_LARGE,
    OFFER_NO_COMMON_CODEC,
    OFFER_SERVER_OVERLOADED,
    OFFER_NO_TRANSCEIVER,
    OFFER_NO_ANSWER,
    OFFER_BACKEND_UNAVAILABLE,
    OFFER_INTERNAL,
    OFFER_CLIENT_GONE,
    OFFER_OUTCOME_COUNT
};

/* "server_overloaded": the words of metrics. */
const char *offer_outcome_name(enum offer_outcome outcome);

struct offer_refusal {
    const char *reason; /* of the log */
    unsigned status;
    const char *code;
    const char *message; /* NULL: the transceiver's own words are for the client */
    enum offer_outcome outcome;
};

/* Of a transceiver that was asked. */
const struct offer_refusal *offer_refusal_of(enum control_refusal refusal);
/* None is live: nobody could be asked. */
const struct offer_refusal *offer_refusal_no_transceiver(void);
/* Those that were asked said nothing in time. */
const struct offer_refusal *offer_refusal_no_answer(void);
/* Another transceiver may take what this one did not. */
bool offer_refusal_is_local(const struct offer_refusal *refusal);

/* The answer. said: the transceiver's words or none. retry_after_ms: of a 503; 0 = a second. */
struct http_response offer_refusal_response(const struct offer_refusal *refusal,
                                            struct bytes_view said, uint32_t retry_after_ms);

#endif
