/*
 * outbox.h - what a shard's sessions want sent: datagrams to clients, frames to backends
 *
 * One outbox serves all sessions of a shard: a session fills it, event_loop empties it after each
 * change. So no session holds packet buffers, and the core needs no socket.
 * Owns:    fixed memory made at create. Each datagram has headroom for the shim and tailroom for
 *          SRTP trailers.
 * Fails:   full: the newest is dropped and counted (a lost datagram is normal on a network; the
 *          loop empties the outbox often enough that it means a bug or a stalled socket).
 *          Frames full: likewise dropped and counted.
 * Room:    messages of clients are not to be lost: who has one asks first. The owner says how much
 *          of them the backend takes; what is added since counts against that, each frame in whole
 *          units.
 */
#ifndef EARSHOT_OUTBOX_H
#define EARSHOT_OUTBOX_H

#include "common/backend_link/backend_frame.h"
#include "common/base/net_addr.h"

#define OUTBOX_HEADROOM_BYTES 80 /* two shims: Global Relay */
#define OUTBOX_DATAGRAM_BYTES 1500
#define OUTBOX_TAILROOM_BYTES 32
#define OUTBOX_UNIT_BYTES     (BACKEND_FRAME_HEADER_BYTES + 960) /* of room for messages */

/* Where a client is, and through which relay address it is reached. */
struct net_path {
    struct net_addr client;
    struct net_addr relay; /* source of the uplink shim; unspecified = a bare client (tests) */
    bool is_tcp;           /* the client's transport at the relay */
};

static inline bool net_path_equal(const struct net_path *a, const struct net_path *b)
{
    return net_addr_equal(&a->client, &b->client) && net_addr_equal(&a->relay, &b->relay) &&
           a->is_tcp == b->is_tcp;
}

struct outbox_datagram {
    struct net_path path;
    uint32_t session_id;
    bool is_announcement; /* a shim without a datagram */
    size_t len;
    uint8_t *data; /* OUTBOX_HEADROOM_BYTES before it are free */
};

struct outbox;

struct outbox *outbox_create(size_t datagram_cap, size_t frame_bytes_cap);
void outbox_destroy(struct outbox *o);

/* OUTBOX_DATAGRAM_BYTES of room and the tailroom behind them, or NULL when full (counted). Valid
 * until the next reserve. */
uint8_t *outbox_reserve(struct outbox *o);
void outbox_commit(struct outbox *o, size_t len, uint32_t session_id, const struct net_path *path);
void outbox_announce(struct outbox *o, uint32_t session_id, const struct net_path *path);
/* Copies the payload. frame->sequence is given later, when the frame is written. */
void outbox_add_frame(struct outbox *o, uint32_t session_id, const struct backend_frame *frame);

/* For a message of so many bytes in chunks (EVENT, CHANNEL_DATA). */
bool outbox_has_message_room(const struct outbox *o, size_t bytes);
/* How many units of messages the backend takes from now on; any until it is said. */
void outbox_set_message_room(struct outbox *o, size_t units);

/* Emptying: oldest first. Borrowed until cleared. */
size_t outbox_datagram_count(const struct outbox *o);
struct outbox_datagram *outbox_datagram_at(struct outbox *o, size_t index);
/* False after the last. `cursor` starts at 0. The frame's payload is borrowed until clear. */
bool outbox_next_frame(const struct outbox *o, size_t *cursor, uint32_t *session_id,
                       struct backend_frame *out);
/* How much the frames that wait take of the memory for them. */
size_t outbox_frame_bytes(const struct outbox *o);
void outbox_clear_frames(struct outbox *o);
void outbox_clear(struct outbox *o); /* both */
uint64_t outbox_dropped(const struct outbox *o);

#endif
