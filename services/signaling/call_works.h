/*
 * call_works.h - requests of clients that wait for a transceiver
 *
 * Gives:   a ticket for each, which tells its outcome from those of earlier uses of its place.
 * Bounds:  `count_max` at a time; begin gives NULL beyond.
 */
#ifndef EARSHOT_CALL_WORKS_H
#define EARSHOT_CALL_WORKS_H

#include "services/signaling/call_id.h"
#include "services/signaling/http_server.h"
#include "services/signaling/offer_refusal.h"
#include "services/signaling/offer_request.h"
#include "services/signaling/placement.h"

/* What nobody waits for any more has no ticket. */
#define CALL_WORKS_NO_TICKET 0

enum call_work_kind {
    CALL_WORK_NONE,
    CALL_WORK_OFFER,
    CALL_WORK_ANSWERED, /* an offer whose answer is on its way to the client */
    CALL_WORK_HANGUP,
    CALL_WORK_PATCH,
    CALL_WORK_LOOK,
    CALL_WORK_QUESTION /* our own: does the call still live? */
};

/* One request under way. */
struct call_work {
    enum call_work_kind kind;
    uint32_t generation; /* of its place */
    uint64_t exchange;   /* 0: the client is gone */
    uint8_t tenant[CONTROL_TENANT_BYTES];
    struct offer_request offer;     /* OFFER; its sdp lives as long as the exchange */
    struct bytes_view client_agent; /* and so do these two */
    struct bytes_view client_language;
    uint64_t started_us;
    struct placement_tried tried;
    const struct offer_refusal *refusal; /* the last one; NULL: nobody was asked yet */
    uint32_t retry_after_ms;             /* as it said */
    uint32_t instance_id;
    struct call_id_sealed id;
    size_t secret_place; /* of an offer, in secret_calls.h */
};

struct call_works {
    struct call_work *work;
    size_t count_max;
    size_t count;
};

/* False without memory. */
MUST_USE bool call_works_init(struct call_works *works, size_t count_max);
void call_works_deinit(struct call_works *works);
bool call_works_is_empty(const struct call_works *works);

struct call_work *call_works_begin(struct call_works *works, enum call_work_kind kind,
                                   uint64_t exchange, uint64_t now_us);
/* The same for a call that is there: call_id has CALL_ID_CHARS. */
struct call_work *call_works_begin_for(struct call_works *works, enum call_work_kind kind,
                                       uint64_t exchange, struct bytes_view call_id,
                                       uint32_t instance_id, uint64_t now_us);
void call_works_finish(struct call_works *works, struct call_work *w);

uint64_t call_works_ticket(const struct call_works *works, const struct call_work *w);
/* Of a ticket that was given and whose work is not finished. */
struct call_work *call_works_at_ticket(struct call_works *works, uint64_t ticket);
/* NULL when there is none. */
struct call_work *call_works_of_exchange(struct call_works *works, uint64_t exchange);

#endif
