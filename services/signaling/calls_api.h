/*
 * calls_api.h - calls made by an offer over HTTP
 *
 * Takes:   offers of those whom access_gate.h let in; outcomes of the control plane; the ends of
 *          exchanges.
 * Gives:   one answer to each request: at once, or when a transceiver has spoken.
 * Rule:    no session is left behind. A transceiver that may have made one for a client who is
 *          gone, who did not get the answer, or whom another transceiver serves by now, is told
 *          to end it.
 * Owns:    its requests under way (two for each connection at most), and the key ring.
 * Source:  docs/client-contract.md.
 * Not here: what is done with a call that is there (call_operations.h), who may (access_gate.h).
 */
#ifndef EARSHOT_CALLS_API_H
#define EARSHOT_CALLS_API_H

#include "common/routing/key_ring.h"
#include "services/signaling/access/auth.h"
#include "services/signaling/access/secret_calls.h"
#include "services/signaling/call_patch.h"
#include "services/signaling/control_plane.h"
#include "services/signaling/offer_refusal.h"
#include "services/signaling/offer_request.h"
#include "services/signaling/signaling_config.h"

enum calls_hangup { CALLS_ENDED, CALLS_NOT_FOUND, CALLS_NO_ANSWER, CALLS_HANGUP_COUNT };

/* Written by the loop's thread, read by any. */
struct calls_counts {
    metric_value offers_total[OFFER_OUTCOME_COUNT];
    metric_value hangups_total[CALLS_HANGUP_COUNT];
    metric_value patches_total[CALL_PATCH_OUTCOME_COUNT];
    metric_value orphans_total;        /* sessions that we ended for want of a client */
    struct metric_histogram placement; /* from the whole offer to a transceiver's answer */
    metric_value key_ids;              /* of the ring: bit i = key i */
    metric_value key_id_active;
};

struct calls_api;

/* Borrows server, plane, live and config. ring becomes ours, also when there is no memory (NULL).
 */
struct calls_api *calls_api_create(struct http_server *server, struct control_plane *plane,
                                   struct secret_calls *live, struct key_ring *ring,
                                   const struct signaling_config *config);
void calls_api_destroy(struct calls_api *a);
const struct calls_counts *calls_api_counts(const struct calls_api *a);

/* Ids made from now on are of the new ring; it becomes ours. */
void calls_api_set_ring(struct calls_api *a, struct key_ring *ring);
/* Offers are refused from now on; what is under way goes on. */
void calls_api_drain(struct calls_api *a);
/* Nobody waits for an answer. */
bool calls_api_is_idle(const struct calls_api *a);

/* Whoever asks is known by a number: an exchange of http_server, or another one, whose answers go
 * to the teller. It gives false for a number that is not his; what it is shown is borrowed. */
typedef bool (*calls_teller)(void *context, uint64_t asker, const struct http_response *answer);
void calls_api_set_teller(struct calls_api *a, calls_teller teller, void *context);

/* Who brings an offer. All views live until calls_api_end for this asker. */
struct calls_visitor {
    uint64_t asker;
    const struct auth_identity *who; /* this one not: it is copied */
    struct bytes_view agent;         /* User-Agent */
    struct bytes_view language;      /* Accept-Language */
};
/* offer becomes ours, but for its sdp. The asker is told, and then ends with calls_api_end. */
void calls_api_place(struct calls_api *a, const struct calls_visitor *visitor,
                     struct offer_request *offer, uint64_t now_us);

void calls_api_offer(struct calls_api *a, uint64_t exchange, const struct http_request *request,
                     const struct auth_identity *who, uint64_t now_us);
/* Of any exchange or other asker: one that is not ours is ignored. */
void calls_api_end(struct calls_api *a, uint64_t exchange, bool is_delivered, uint64_t now_us);
/* Of a watch of CALL_WATCH_SECRET. */
void calls_api_news(struct calls_api *a, const struct call_news *news);
void calls_api_outcome(struct calls_api *a, const struct session_outcome *outcome, uint64_t now_us);

#endif
