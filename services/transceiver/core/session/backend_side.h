/*
 * backend_side.h - the backend of a call: what was agreed with it, and both directions of voice
 *
 * Takes:   frames of the backend, word of its connection, time.
 * Gives:   what it means for the call. The voice is attached to a backend that accepts, and
 *          detached from one that is away: then what is queued is spoken, and the client's kept.
 *          NET_STATS each second while a backend listens, and word of side-bands.
 * Owns:    the leg and the list of side-bands; the two directions of voice are borrowed.
 * Not here: when a call ends, and why (session.c).
 */
#ifndef EARSHOT_BACKEND_SIDE_H
#define EARSHOT_BACKEND_SIDE_H

#include "services/transceiver/core/session/backend_leg.h"
#include "services/transceiver/core/session/net_stats.h"
#include "services/transceiver/core/session/sidebands.h"
#include "services/transceiver/core/session/voice_downlink.h"

enum backend_side_event {
    BACKEND_SIDE_NOTHING,
    BACKEND_SIDE_ACCEPTED,  /* for the first time */
    BACKEND_SIDE_RESUMED,   /* it goes on where it was */
    BACKEND_SIDE_RESTARTED, /* by one that knows nothing of the call so far */
    BACKEND_SIDE_FAILED,    /* there is none, and there will be none: backend_side_was_attached */
    BACKEND_SIDE_ENDED,
    BACKEND_SIDE_ENDED_DRAINED, /* when everything was spoken */
    BACKEND_SIDE_MESSAGE,       /* see backend_leg.message */
    BACKEND_SIDE_NONSENSE       /* the connection can not go on; the call can */
};

enum backend_side_injected {
    BACKEND_SIDE_INJECTED,
    BACKEND_SIDE_NO_SIDEBAND, /* of that id */
    BACKEND_SIDE_AWAY         /* nobody listens now: once more, later */
};

struct backend_side {
    struct backend_leg leg;
    struct net_stats net_stats;
    struct sidebands sidebands;
    struct voice_uplink *uplink;     /* borrowed */
    struct voice_downlink *downlink; /* likewise */
    bool was_attached;
    uint64_t audio_out_before_us; /* what backends sent that were lost for good */
};

/* SESSION_START is in the outbox afterwards. False: see backend_leg_init. */
MUST_USE bool backend_side_init(struct backend_side *b, const struct backend_leg_config *config,
                                struct voice_uplink *uplink, struct voice_downlink *downlink,
                                struct sideband_outbox *outbox, uint64_t now_us);
/* Also after an init that failed, and of zeros. */
void backend_side_deinit(struct backend_side *b);

enum backend_side_event backend_side_input(struct backend_side *b,
                                           const struct backend_frame *frame, uint64_t now_us);
/* Media can flow. */
void backend_side_connected(struct backend_side *b, bool is_tcp, uint64_t now_us);
/* All utterances are done, then our last word. */
void backend_side_end(struct backend_side *b, const char *reason, bool is_backend_lost,
                      uint64_t now_us);

/* Its connection is gone. True when the call waits for another, and had a backend until now. */
bool backend_side_lost(struct backend_side *b, uint64_t now_us);
bool backend_side_is_away(const struct backend_side *b);
void backend_side_found(struct backend_side *b, bool can_resume, uint64_t now_us);
/* After RESUMED and RESTARTED: how long there was none. */
uint64_t backend_side_away_us(const struct backend_side *b, uint64_t now_us);
/* The call had a backend, now or before. */
bool backend_side_was_attached(const struct backend_side *b);

/* Side-bands: see sidebands.h. */
enum sidebands_result backend_side_attach_sideband(struct backend_side *b, uint32_t id,
                                                   uint64_t lease_us, uint64_t now_us);
void backend_side_detach_sideband(struct backend_side *b, uint32_t id, uint64_t now_us);
/* What it says goes to the backend as if the client had said it. */
enum backend_side_injected backend_side_inject(struct backend_side *b, uint32_t id,
                                               struct bytes_view event, uint64_t now_us);

/* Statistics, and FAILED when a backend is overdue. */
enum backend_side_event backend_side_tick(struct backend_side *b, uint64_t now_us);
uint64_t backend_side_next_timeout(const struct backend_side *b);

#endif
