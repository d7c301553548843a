/*
 * backend_connection.h - one socket to a backend, and the stream on it
 *
 * Takes:   an address, readiness of the socket, time.
 * Gives:   a stream once connected; why it broke.
 * Owns:    the socket and the stream. A broken connection has no socket; its stream stays until
 *          close, so that its sessions can be told and nobody meets memory that is gone.
 * Bounds:  2 s to connect; one read and one write of BACKEND_STREAM_PIECES_MAX pieces a turn.
 * Order:   nothing is read while frames of the last read wait to be polled.
 */
#ifndef EARSHOT_BACKEND_CONNECTION_H
#define EARSHOT_BACKEND_CONNECTION_H

#include "common/base/net_addr.h"
#include "services/transceiver/port/backend_stream.h"

#include <poll.h>

#define BACKEND_CONNECTION_REASON_CAP 160

enum backend_connection_state {
    BACKEND_CONNECTION_CLOSED,
    BACKEND_CONNECTION_DIALLING,
    BACKEND_CONNECTION_OPEN,
    BACKEND_CONNECTION_BROKEN
};

struct backend_connection {
    enum backend_connection_state state;
    int fd;                        /* -1: none */
    struct backend_stream *stream; /* OPEN, and BROKEN when it was open */
    uint64_t connect_until_us;
    bool has_unread;                            /* frames may still be polled */
    bool is_blocked;                            /* the socket takes no more for now */
    bool was_greeted;                           /* for the owner */
    bool is_mourned;                            /* likewise: that it broke is logged and counted */
    size_t lost_cursor;                         /* likewise: sessions that were told */
    char reason[BACKEND_CONNECTION_REASON_CAP]; /* BROKEN */
};

void backend_connection_init(struct backend_connection *c);
/* address NULL: the UNIX socket. BROKEN afterwards when it can not even be tried. */
void backend_connection_dial(struct backend_connection *c, const char *unix_path,
                             const struct net_addr *address, uint64_t now_us);
/* BROKEN afterwards, at once. */
void backend_connection_break(struct backend_connection *c, const char *reason);
/* CLOSED afterwards; the stream is gone. */
void backend_connection_close(struct backend_connection *c);

void backend_connection_want(const struct backend_connection *c, struct pollfd *out);
/* config and counters: for the stream that begins here. */
void backend_connection_service(struct backend_connection *c, short revents,
                                const struct backend_stream_config *config,
                                struct backend_stream_counters *counters, uint64_t now_us);
MUST_USE bool backend_connection_poll_frame(struct backend_connection *c, struct backend_frame *out,
                                            uint64_t now_us);
/* Writes what the socket takes. */
void backend_connection_flush(struct backend_connection *c, uint64_t now_us);
void backend_connection_tick(struct backend_connection *c, uint64_t now_us);
uint64_t backend_connection_next_timeout(const struct backend_connection *c);

#endif
