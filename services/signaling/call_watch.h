/*
 * call_watch.h - who wants to know what becomes of a call, and of its transceiver
 *
 * Takes:   calls to watch; what transceivers say of calls; the fleet, for its leases.
 * Gives:   for each watched call its news: UNREACHABLE and REACHABLE in turn, then at most one
 *          ENDED, which is the last: the watch is gone then.
 * Bounds:  CALL_WATCH_MAX calls; add gives 0 beyond.
 * Lost:    an event of a transceiver may be lost. So each call is asked for again each
 *          CALL_WATCH_ASK_US: call_watch_next_question, and note_ended when it is gone.
 * Loop:    call_watch_next until false, after each turn of the control plane.
 */
#ifndef EARSHOT_CALL_WATCH_H
#define EARSHOT_CALL_WATCH_H

#include "services/signaling/fleet.h"

#define CALL_WATCH_MAX    8192
#define CALL_WATCH_ASK_US (30 * US_PER_S)
/* The reason of ENDED when the route of the transceiver is given up. */
#define CALL_WATCH_LOST "transceiver_lost"
/* And when nobody knows the call any more, nor why. */
#define CALL_WATCH_GONE "unknown"

/* To whom an owner means something. */
enum call_watch_listener { CALL_WATCH_SIGNAL, CALL_WATCH_SECRET };

enum call_news_kind {
    CALL_NEWS_UNREACHABLE, /* the lease of its transceiver ran out: the call may live on */
    CALL_NEWS_REACHABLE,
    CALL_NEWS_ENDED
};

struct call_news {
    uint64_t handle;
    enum call_watch_listener listener; /* as given to add, with the next */
    uint64_t owner;
    enum call_news_kind kind;
    char reason[CONTROL_TEXT_CHARS_MAX + 1]; /* of ENDED */
};

struct call_watch;

struct call_watch *call_watch_create(void);
void call_watch_destroy(struct call_watch *w);

/* A handle, never 0. */
uint64_t call_watch_add(struct call_watch *w, const struct control_call *call, uint32_t instance_id,
                        enum call_watch_listener listener, uint64_t owner, uint64_t now_us);
/* No news any more. A handle that is gone: nothing. */
void call_watch_remove(struct call_watch *w, uint64_t handle);

/* A transceiver says that the call is over. */
void call_watch_note_ended(struct call_watch *w, const char *call_id, struct bytes_view reason);
MUST_USE bool call_watch_next(struct call_watch *w, const struct fleet *fleet,
                              struct call_news *out, uint64_t now_us);

/* A call of which nothing was heard for long: is it still there? */
struct call_question {
    struct control_call call;
    uint32_t instance_id;
};
MUST_USE bool call_watch_next_question(struct call_watch *w, struct call_question *out,
                                       uint64_t now_us);

#endif
