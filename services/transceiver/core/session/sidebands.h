/*
 * sidebands.h - the applications that listen to a call's events beside its client
 *
 * Takes:   attach (which also renews) and detach, by ids that signaling makes; every whole event of
 *          the backend, and what the transceiver itself says; word that a backend is (back) there.
 * Gives:   messages in the shard's sideband_outbox, numbered without gaps; what the backend must be
 *          told (SIDEBAND frames).
 * Rule:    a new one hears nothing before the event that the backend has for it alone, its
 *          `session.created`; but when that has not come SIDEBANDS_WAIT_US after the backend was
 *          told, it hears the others. A backend that is back is told again of those that wait.
 * Bounds:  SIDEBANDS_MAX; one that is not renewed within its lease, SIDEBANDS_LEASE_US at most, is
 *          gone. A full outbox leaves a gap in the numbers, which is counted.
 * Source:  docs/backend-protocol.md, SIDEBAND; docs/wire-formats.md, section 5.
 */
#ifndef EARSHOT_SIDEBANDS_H
#define EARSHOT_SIDEBANDS_H

#include "common/backend_link/backend_message.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/sideband_outbox.h"

#define SIDEBANDS_LEASE_US (15 * US_PER_S)
#define SIDEBANDS_WAIT_US  (2 * US_PER_S)

enum sidebands_state {
    SIDEBANDS_NONE,   /* the place is free */
    SIDEBANDS_UNTOLD, /* the backend has not heard of it */
    SIDEBANDS_TOLD,   /* and has yet to greet it */
    SIDEBANDS_OPEN,
    SIDEBANDS_GONE /* the backend has not heard of that */
};

enum sidebands_result {
    SIDEBANDS_ATTACHED, /* it is new */
    SIDEBANDS_RENEWED,
    SIDEBANDS_FULL
};

struct sideband {
    enum sidebands_state state;
    uint32_t id;
    uint64_t lease_until_us;
    uint64_t wait_until_us; /* TOLD */
};

struct sidebands {
    struct sideband_outbox *outbox; /* borrowed */
    const char *call_id;            /* borrowed */
    struct sideband sideband[SIDEBANDS_MAX];
    uint64_t sequence; /* of the last message */
    uint64_t lost;     /* messages for which the outbox had no room */
    bool is_over;
};

void sidebands_init(struct sidebands *s, const char *call_id, struct sideband_outbox *outbox);

/* id: not 0. A lease longer than SIDEBANDS_LEASE_US is cut. */
enum sidebands_result sidebands_attach(struct sidebands *s, uint32_t id, uint64_t lease_us,
                                       uint64_t now_us);
void sidebands_detach(struct sidebands *s, uint32_t id);
bool sidebands_has(const struct sidebands *s, uint32_t id);
size_t sidebands_count(const struct sidebands *s);

/* A backend that begins, or goes on after it was away. */
void sidebands_backend_back(struct sidebands *s);
/* What a backend that listens is to be told next. */
MUST_USE bool sidebands_poll_change(struct sidebands *s, struct backend_sideband *out,
                                    uint64_t now_us);

/* An event for all, the client too. */
void sidebands_tell_all(struct sidebands *s, struct bytes_view event);
/* One that the backend has for this side-band alone. */
void sidebands_tell_one(struct sidebands *s, uint32_t id, struct bytes_view event);
/* The last word. */
void sidebands_end(struct sidebands *s, const char *reason);

void sidebands_tick(struct sidebands *s, uint64_t now_us);
uint64_t sidebands_next_timeout(const struct sidebands *s);

#endif
