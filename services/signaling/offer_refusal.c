/* offer_refusal.c - see offer_refusal.h */
#include "services/signaling/offer_refusal.h"

#define NO_ROOM "No server has room for a call. Try again soon."
#define FAULT   "The call could not be set up."

const char *offer_outcome_name(enum offer_outcome outcome)
{
    static const char *const name[OFFER_OUTCOME_COUNT] = {
        [OFFER_ANSWERED] = "answered",
        [OFFER_BAD_REQUEST] = "bad_request",
        [OFFER_INVALID] = "invalid_offer",
        [OFFER_TOO_LARGE] = "too_large",
        [OFFER_NO_COMMON_CODEC] = "no_common_codec",
        [OFFER_SERVER_OVERLOADED] = "server_overloaded",
        [OFFER_NO_TRANSCEIVER] = "no_transceiver",
        [OFFER_NO_ANSWER] = "no_answer",
        [OFFER_BACKEND_UNAVAILABLE] = "backend_unavailable",
        [OFFER_INTERNAL] = "internal",
        [OFFER_CLIENT_GONE] = "client_gone",
    };
    return name[outcome];
}

const struct offer_refusal *offer_refusal_of(enum control_refusal refusal)
{
    static const struct offer_refusal row[CONTROL_REFUSAL_COUNT] = {
        [CONTROL_REFUSAL_NONE] = {"internal", 500, "internal", FAULT, OFFER_INTERNAL},
        [CONTROL_BAD_OFFER] = {"bad_offer", 400, "invalid_offer", NULL, OFFER_INVALID},
        [CONTROL_TOO_LARGE] = {"too_large", 413, "too_large", NULL, OFFER_TOO_LARGE},
        [CONTROL_NO_COMMON_CODEC] = {"no_common_codec", 400, "no_common_codec", NULL,
                                     OFFER_NO_COMMON_CODEC},
        [CONTROL_FULL] = {"full", 503, "server_overloaded", NO_ROOM, OFFER_SERVER_OVERLOADED},
        [CONTROL_DRAINING] = {"draining", 503, "server_overloaded", NO_ROOM,
                              OFFER_SERVER_OVERLOADED},
        [CONTROL_BACKEND_UNAVAILABLE] = {"backend_unavailable", 503, "backend_unavailable",
                                         "The voice agent can not be reached. Try again soon.",
                                         OFFER_BACKEND_UNAVAILABLE},
        [CONTROL_INTERNAL] = {"internal", 500, "internal", FAULT, OFFER_INTERNAL},
        [CONTROL_NOT_FOUND] = {"not_found", 500, "internal", FAULT, OFFER_INTERNAL},
        [CONTROL_NOT_IMPLEMENTED] = {"not_implemented", 500, "internal", FAULT, OFFER_INTERNAL},
        /* These two are answers to an update, not to an offer. */
        [CONTROL_OTHER_GENERATION] = {"other_generation", 500, "internal", FAULT, OFFER_INTERNAL},
        [CONTROL_RESTARTS_USED_UP] = {"restarts_used_up", 500, "internal", FAULT, OFFER_INTERNAL},
    };
    return &row[refusal];
}

const struct offer_refusal *offer_refusal_no_transceiver(void)
{
    static const struct offer_refusal none = {"no_transceiver", 503, "server_overloaded",
                                              "No transceiver is known. Try again soon.",
                                              OFFER_NO_TRANSCEIVER};
    return &none;
}

const struct offer_refusal *offer_refusal_no_answer(void)
{
    static const struct offer_refusal late = {"no_answer", 503, "server_overloaded",
                                              "No transceiver answers. Try again soon.",
                                              OFFER_NO_ANSWER};
    return &late;
}

bool offer_refusal_is_local(const struct offer_refusal *refusal)
{
    return refusal->status == 503;
}

struct http_response offer_refusal_response(const struct offer_refusal *refusal,
                                            struct bytes_view said, uint32_t retry_after_ms)
{
    const char *own = refusal->message != NULL ? refusal->message : "The offer was refused.";
    const bool is_theirs = refusal->message == NULL && said.len > 0;
    struct http_response r = http_response_error(refusal->status, refusal->code,
                                                 is_theirs ? said : bytes_view_of_text(own));
    if (r.status == 503) {
        r.retry_after_s = retry_after_ms > 0 ? 1 + (retry_after_ms - 1) / 1000 : 1;
    }
    return r;
}
