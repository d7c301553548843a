/*
 * backend_leg.h - one session's agreement with its backend: start, accept, loss, resume, end
 *
 * Takes:   SESSION_* frames and messages of the backend, word of its connection, and time.
 * Gives:   SESSION_*, CONNECTED and ERROR frames in the outbox, and what happened.
 * Order:   START at once; ACCEPT or REJECT within BACKEND_LEG_ACCEPT_US; END of either side is
 *          answered by ENDED. Our END or ENDED is the last word: the owner says everything else of
 *          the session first.
 * Loss:    a connection that breaks leaves the call alone for BACKEND_LEG_AWAY_US. On the next one
 *          the session goes on (RESUME), or starts anew (START, restarted) with a backend that
 *          can not resume or does not know it. Who refuses the RESUME, or the START and says that
 *          another may take it, or does not answer, is tried again in that time. A token is good
 *          for one RESUME.
 * Owns:    a copy of what START says, until deinit. The heap is used for each START.
 * Not here: audio (voice_uplink.h, voice_downlink.h), the connection (port/backend_port.h).
 */
#ifndef EARSHOT_BACKEND_LEG_H
#define EARSHOT_BACKEND_LEG_H

#include "common/base/random.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/outbox.h"
#include "services/transceiver/core/session/backend_messages.h"

#define BACKEND_LEG_ACCEPT_US (2 * US_PER_S)
#define BACKEND_LEG_AWAY_US   (5 * US_PER_S)

enum backend_leg_state {
    BACKEND_LEG_STARTING, /* START is out */
    BACKEND_LEG_ACCEPTED,
    BACKEND_LEG_AWAY,     /* its connection broke */
    BACKEND_LEG_RESUMING, /* RESUME is out */
    BACKEND_LEG_ASKED,    /* it said END: our last word will be ENDED */
    BACKEND_LEG_OVER      /* nothing more is said */
};

enum backend_leg_event {
    BACKEND_LEG_NOTHING,
    BACKEND_LEG_GOT_ACCEPT,      /* the first; see backend_leg.accept */
    BACKEND_LEG_GOT_RESUMED,     /* it goes on where it was */
    BACKEND_LEG_GOT_RESTARTED,   /* it knows nothing of the call so far */
    BACKEND_LEG_STARTED_ANEW,    /* it does not know the call: another START is out */
    BACKEND_LEG_GOT_REJECT,      /* it will not, or accepted what was not offered */
    BACKEND_LEG_GOT_END,         /* it is over for the backend: say the rest, backend_leg_end */
    BACKEND_LEG_GOT_END_DRAINED, /* the same, when the queue has played */
    BACKEND_LEG_GOT_MESSAGE,     /* an EVENT or CHANNEL_DATA: see backend_leg.message */
    BACKEND_LEG_GOT_NONSENSE     /* a payload that is wrong: the connection can not go on */
};

struct backend_leg_config {
    uint32_t session_id;
    const struct backend_start *start; /* read by init only */
    struct random_source random;       /* of tokens */
    struct outbox *outbox;             /* borrowed */
};

struct backend_leg {
    uint32_t session_id;
    struct random_source random;
    struct outbox *outbox;
    struct backend_start *start; /* and its text behind it */
    uint64_t start_us;           /* when the session clock was 0 */
    enum backend_leg_state state;
    uint64_t deadline_us; /* of ACCEPT, or of the next connection; TIME_NEVER: none */
    uint64_t lost_us;     /* when its connection broke; meaningful from AWAY to the next ACCEPT */
    bool was_accepted;
    bool is_connected; /* media can flow */
    bool is_connected_told;
    bool is_connected_tcp;
    uint64_t connected_us;
    char token[BACKEND_TOKEN_CAP];
    char next_token[BACKEND_TOKEN_CAP]; /* in RESUMING: good when it is accepted */
    struct backend_accept accept;
    struct backend_messages messages;
    struct backend_message message; /* after GOT_MESSAGE; see backend_messages.h */
};

/* Sends SESSION_START; false when its text is too long, or without memory. now_us: the session
 * clock's 0. */
MUST_USE bool backend_leg_init(struct backend_leg *leg, const struct backend_leg_config *config,
                               uint64_t now_us);
/* Also after an init that failed. */
void backend_leg_deinit(struct backend_leg *leg);

enum backend_leg_event backend_leg_input(struct backend_leg *leg, const struct backend_frame *frame,
                                         uint64_t now_us);
/* Attached: what is heard and said of the voice concerns this backend. */
bool backend_leg_is_attached(const struct backend_leg *leg);
void backend_leg_connected(struct backend_leg *leg, bool is_tcp, uint64_t now_us);
/* Only while a backend listens. */
void backend_leg_net_stats(struct backend_leg *leg, const struct backend_net_stats *stats,
                           uint64_t now_us);
/* What a backend is to know of a side-band; only while it listens: backend_leg_is_listening. */
void backend_leg_sideband(struct backend_leg *leg, const struct backend_sideband *sideband,
                          uint64_t now_us);
/* A message of the event channel; likewise. */
void backend_leg_event(struct backend_leg *leg, struct bytes_view event, uint64_t now_us);
bool backend_leg_is_listening(const struct backend_leg *leg);
/* A message of another channel; likewise. */
void backend_leg_channel_data(struct backend_leg *leg, const struct backend_channel *channel,
                              struct bytes_view data, uint64_t now_us);
/* Our last word: END, or ENDED when the backend has said END. Once; then nothing. totals: their
 * reason is filled in. */
void backend_leg_end(struct backend_leg *leg, const char *reason,
                     const struct backend_ended *totals, uint64_t now_us);

/* The connection is gone. */
void backend_leg_lost(struct backend_leg *leg, uint64_t now_us);
/* False: what was awaited did not come in time, and there is no time for another try. */
MUST_USE bool backend_leg_tick(struct backend_leg *leg, uint64_t now_us);
/* Another is there, and this session would go on. */
bool backend_leg_is_away(const struct backend_leg *leg);
/* position and audio_in_from_us: for RESUME. True when the call starts anew instead. */
bool backend_leg_reconnect(struct backend_leg *leg, bool can_resume,
                           const struct backend_position *position, uint64_t audio_in_from_us,
                           uint64_t now_us);

/* A frame of the backend was wrong and is dropped. */
void backend_leg_error(struct backend_leg *leg, const char *code, const struct backend_frame *about,
                       uint64_t now_us);

#endif
