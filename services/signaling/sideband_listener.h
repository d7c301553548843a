/*
 * sideband_listener.h - one side-band, from its attachment to its last word
 *
 * A machine without sockets: the feed carries its requests and brings what comes.
 * Takes:   events of its call, outcomes of its requests, what its application says, time.
 * Gives:   requests (attach, renew, detach, inject), at most one that attaches and one that injects
 *          under way; news, in order.
 * Rule:    what came before the first reply waits for it: only what is younger than that counts.
 *          From then on each event has the next number. One that is missing, or that a renewal
 *          knows of and that does not come within a second, is a gap: the last word.
 * Owns:    copies of events that wait, in both directions: sideband_queue.h.
 * Fails:   no memory counts as a gap, or as a full queue.
 */
#ifndef EARSHOT_SIDEBAND_LISTENER_H
#define EARSHOT_SIDEBAND_LISTENER_H

#include "common/base/random.h"
#include "common/control/control_event.h"
#include "services/signaling/session_client.h"
#include "services/signaling/sideband_queue.h"

#define SIDEBAND_LEASE_MS  15000
#define SIDEBAND_RENEW_US  (5 * US_PER_S)
#define SIDEBAND_ATTACH_US (10 * US_PER_S) /* to be attached, or the transceiver counts as lost */
#define SIDEBAND_LINGER_US (2 * US_PER_S)  /* to say the rest after close */
#define SIDEBAND_LATE_US   US_PER_S        /* for an event that a renewal knows of */

enum sideband_news_kind {
    SIDEBAND_OPENED,     /* the call is there and listens to us */
    SIDEBAND_EVENT,      /* text: one event of the server */
    SIDEBAND_GAP,        /* an event was lost: close with 1013 */
    SIDEBAND_FULL,       /* the call has as many as it may have: 1013 */
    SIDEBAND_NOT_FOUND,  /* no such call, or another tenant's: 1008 */
    SIDEBAND_CALL_ENDED, /* text: the reason, perhaps empty: 1000 */
    SIDEBAND_LOST        /* the route of its transceiver is given up: 1011 */
};

enum sideband_listener_state {
    SIDEBAND_LISTENER_WAITING, /* to be attached */
    SIDEBAND_LISTENER_OPEN,
    SIDEBAND_LISTENER_OVER
};

struct sideband_listener {
    enum sideband_listener_state state;
    struct control_call call;
    uint32_t id;
    struct random_source random; /* of request ids */
    uint64_t sequence;           /* of the last event that counted */
    struct sideband_queue inbox;
    struct sideband_queue outbox;
    bool has_lent; /* the first of the inbox */
    bool is_attach_under_way;
    bool is_inject_under_way;
    bool may_be_attached; /* it was asked for: it is to be detached */
    bool is_opened_told;
    bool is_closing; /* says the rest, then that it leaves */
    bool has_last;
    bool is_last_told;
    enum sideband_news_kind last; /* the last word, behind what is in the inbox */
    uint64_t attach_us;           /* the next attach or renewal */
    uint64_t inject_us;           /* not before */
    uint64_t deadline_us;         /* to be attached; when closing, to be gone */
    uint64_t late_us;             /* TIME_NEVER: no event is overdue */
    uint64_t late_sequence;
    enum sideband_news_kind late_means;
};

void sideband_listener_init(struct sideband_listener *l, const struct control_call *call,
                            uint32_t id, struct random_source random, uint64_t now_us);
void sideband_listener_deinit(struct sideband_listener *l);

/* False: too long, or too much waits. */
MUST_USE bool sideband_listener_send(struct sideband_listener *l, struct bytes_view event);
void sideband_listener_close(struct sideband_listener *l, uint64_t now_us);
/* The route of its transceiver is given up. */
void sideband_listener_lose(struct sideband_listener *l);

/* The next request, if there is one to make; what it borrows lives until its outcome, or close. */
MUST_USE bool sideband_listener_poll_request(struct sideband_listener *l,
                                             struct control_request *out, uint64_t now_us);
/* Of a request of that kind. */
void sideband_listener_take_outcome(struct sideband_listener *l, enum control_request_kind kind,
                                    const struct session_outcome *outcome, uint64_t now_us);
/* An event of its call, also one for another side-band. */
void sideband_listener_hear(struct sideband_listener *l, const struct control_sideband_event *e);

/* text: until the next call of this machine. */
MUST_USE bool sideband_listener_poll_news(struct sideband_listener *l,
                                          enum sideband_news_kind *kind, struct bytes_view *text);
/* Nothing more comes of it, and it wants nothing. */
bool sideband_listener_is_over(const struct sideband_listener *l);

void sideband_listener_tick(struct sideband_listener *l, uint64_t now_us);
uint64_t sideband_listener_next_timeout(const struct sideband_listener *l);

#endif
