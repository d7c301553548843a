/*
 * session_shelf.h - calls whose connection broke, kept until the transceiver comes back for them
 *
 * Takes:   sessions that run and have a resume token.
 * Gives:   the one that a token names; a token is good until the transceiver has heard
 *          that it was taken.
 * Owns:    at most SESSION_SHELF_MAX sessions, each for SESSION_SHELF_US.
 * Full:    the oldest goes.
 */
#ifndef EARSHOT_SESSION_SHELF_H
#define EARSHOT_SESSION_SHELF_H

#include "services/inference-stub/stub_session.h"

#include <sys/queue.h>

#define SESSION_SHELF_MAX 4096
/* A transceiver tries for 5 s, and may have noticed the loss three heartbeats later. */
#define SESSION_SHELF_US (10 * US_PER_S)

struct shelf_place;
STAILQ_HEAD(shelf_list, shelf_place);

struct session_shelf {
    struct shelf_list places; /* oldest first */
    size_t count;
};

void session_shelf_init(struct session_shelf *shelf);
void session_shelf_clear(struct session_shelf *shelf);

/* The session is the shelf's from here on: without memory it is gone. */
void session_shelf_put(struct session_shelf *shelf, struct stub_session *session, uint64_t now_us);
/* The caller's from here on; NULL when nobody has this token. */
struct stub_session *session_shelf_take(struct session_shelf *shelf, const char *token,
                                        uint64_t now_us);
/* Those whose time is over are gone. */
void session_shelf_tick(struct session_shelf *shelf, uint64_t now_us);

#endif
