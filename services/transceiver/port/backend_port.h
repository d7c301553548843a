/*
 * backend_port.h - a shard's way to the inference backend: dialled, and dialled again
 *
 * Takes:   the addresses to dial, one after the other; frames of sessions.
 * Gives:   frames of sessions; word of each session that lost its connection.
 * Owns:    two connections: the one that takes new sessions, and one that said GOAWAY and still has
 *          some: a second one that says so breaks the first. One that breaks is dialled again after
 *          100 ms, 200 ms ... 2 s, each at random between half and whole; while calls wait for it
 *          at most 500 ms apart. They are taken to the address greeted last first: two dials, then
 *          the others have a turn.
 * Bounds:  BACKEND_PORT_ADDRESSES_MAX addresses, more are left out.
 * Not here: sockets (backend_connection.h), what the bytes mean (backend_stream.h).
 */
#ifndef EARSHOT_BACKEND_PORT_H
#define EARSHOT_BACKEND_PORT_H

#include "common/base/random.h"
#include "services/transceiver/port/backend_connection.h"

#define BACKEND_PORT_ADDRESSES_MAX 16
#define BACKEND_PORT_UNIX_PATH_MAX 107 /* sun_path less its NUL */
#define BACKEND_PORT_CONNECTIONS   2

struct backend_port_config {
    const char *unix_path; /* NULL: TCP, see backend_port_set_addresses */
    struct backend_stream_config stream;
    struct random_source random; /* spreads the redials */
};

struct backend_port_counters {
    metric_value is_up;
    metric_value connects;
    metric_value losses;
    metric_value go_aways;
    struct backend_stream_counters stream;
};

struct backend_port;

struct backend_port *backend_port_create(const struct backend_port_config *config);
void backend_port_destroy(struct backend_port *p);
const struct backend_port_counters *backend_port_counters(const struct backend_port *p);

/* Where to dial from now on, count >= 1; a running connection goes on. */
void backend_port_set_addresses(struct backend_port *p, const struct net_addr *address,
                                size_t count);
/* Connected, greeted, not going away and not full: new sessions are welcome. */
bool backend_port_is_up(const struct backend_port *p);
/* How many new sessions that connection takes, and whether it knows SESSION_RESUME. */
size_t backend_port_room(const struct backend_port *p);
bool backend_port_can_resume(const struct backend_port *p);

/* For poll: an fd is -1 where there is no socket. */
void backend_port_want(const struct backend_port *p, struct pollfd fds[BACKEND_PORT_CONNECTIONS]);
void backend_port_service(struct backend_port *p, const struct pollfd fds[BACKEND_PORT_CONNECTIONS],
                          uint64_t now_us);
void backend_port_tick(struct backend_port *p, uint64_t now_us);
uint64_t backend_port_next_timeout(const struct backend_port *p);

/* A frame for the session named in it; its payload is borrowed until the next service. The caller
 * may leave the rest for its next turn: backend_port_has_frames. */
MUST_USE bool backend_port_poll_frame(struct backend_port *p, struct backend_frame *out,
                                      uint64_t now_us);
bool backend_port_has_frames(const struct backend_port *p);
/* The payload of the frame polled last was wrong: its connection breaks. */
void backend_port_refuse(struct backend_port *p, const struct backend_frame *frame,
                         uint64_t now_us);

/* The sessions of connections that broke, each once; they have none from then on. */
MUST_USE bool backend_port_poll_lost(struct backend_port *p, uint32_t *session_id);

/* False, and dropped: there is no connection, or the session has not begun on it, or can not. */
bool backend_port_send(struct backend_port *p, const struct backend_frame *frame, uint64_t now_us);
/* How many OUTBOX_UNIT_BYTES of EVENT and CHANNEL_DATA will not be dropped, whoever's they are. */
size_t backend_port_message_room(const struct backend_port *p);
/* This transceiver goes away. */
void backend_port_go_away(struct backend_port *p, uint64_t deadline_us, uint64_t now_us);
/* Writes what the sockets take. Once per loop turn. */
void backend_port_flush(struct backend_port *p, uint64_t now_us);

#endif
