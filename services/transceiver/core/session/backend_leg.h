/*
 * backend_leg.h - one session's agreement with its backend: start, accept, end
 *
 * Takes:   SESSION_* frames of the backend, and time.
 * Gives:   SESSION_* and CONNECTED frames in the outbox, and what happened.
 * Order:   START at once; ACCEPT or REJECT within BACKEND_LEG_ACCEPT_US; END of either side is
 *          answered by ENDED. Our END or ENDED is the last word: the owner says everything else of
 *          the session first.
 * Owns:    nothing but itself: init, no destroy.
 * Not here: audio (voice_uplink.h, voice_downlink.h), the connection (backend_port.h).
 */
#ifndef EARSHOT_BACKEND_LEG_H
#define EARSHOT_BACKEND_LEG_H

#include "common/backend_link/backend_payload.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/outbox.h"

#define BACKEND_LEG_ACCEPT_US (2 * US_PER_S)

enum backend_leg_state {
    BACKEND_LEG_STARTING, /* START is out */
    BACKEND_LEG_ACCEPTED,
    BACKEND_LEG_ASKED,   /* it said END: our last word will be ENDED */
    BACKEND_LEG_LEAVING, /* we said END and wait for its ENDED */
    BACKEND_LEG_OVER     /* nothing more is said */
};

enum backend_leg_event {
    BACKEND_LEG_NOTHING,
    BACKEND_LEG_GOT_ACCEPT, /* see backend_leg_accepted */
    BACKEND_LEG_GOT_REJECT,
    BACKEND_LEG_GOT_END,         /* it is over for the backend: say the rest, backend_leg_end */
    BACKEND_LEG_GOT_END_DRAINED, /* the same, when the queue has played */
    BACKEND_LEG_GOT_NONSENSE     /* a payload that is wrong: the session can not go on */
};

struct backend_leg {
    uint32_t session_id;
    uint64_t start_us;
    struct outbox *outbox;
    enum backend_leg_state state;
    uint64_t accept_deadline_us; /* TIME_NEVER when none is waited for */
    struct backend_accept accept;
};

/* Sends SESSION_START; false when its text is too long. start_us: the session clock's 0. */
MUST_USE bool backend_leg_init(struct backend_leg *leg, uint32_t session_id,
                               const struct backend_start *start, struct outbox *outbox,
                               uint64_t start_us);

enum backend_leg_event backend_leg_input(struct backend_leg *leg, const struct backend_frame *frame,
                                         uint64_t now_us);
void backend_leg_connected(struct backend_leg *leg, bool is_tcp, uint64_t now_us);
/* Our last word: END, or ENDED when the backend has said END. Once; then nothing. */
void backend_leg_end(struct backend_leg *leg, const char *reason, uint64_t now_us);
/* The link is gone: nothing more is sent. */
void backend_leg_lost(struct backend_leg *leg);

#endif
