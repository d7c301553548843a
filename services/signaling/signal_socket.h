/*
 * signal_socket.h - GET /v1/realtime/signal as a WebSocket: one call made, watched and ended by it
 *
 * Takes:   offer, restart and hangup, one at a time; what becomes of the call and its transceiver.
 * Gives:   answer, restarted, unreachable, reachable, ended, error. An offer is placed, limited and
 *          refused as one over HTTP, by the same code (calls_api.h).
 * Closes:  1000 the call has ended; 1008 after an error that leaves nothing to do: no offer in
 *          time, or one that was refused, or a message that is none of these.
 * Rule:    a closed socket ends no call; one whose client never got its answer does.
 * Bounds:  one for each connection; SIGNAL_FIRST_US until the offer; messages of 320 KB, 32 deep,
 *          4,096 members. While a request is under way its client is not read.
 * Source:  docs/client-contract.md.
 */
#ifndef EARSHOT_SIGNAL_SOCKET_H
#define EARSHOT_SIGNAL_SOCKET_H

#include "services/signaling/access_gate.h"
#include "services/signaling/calls_api.h"

#define SIGNAL_FIRST_US (5 * US_PER_S)

struct signal_socket;

/* All are borrowed; sockets_max: of their server. It is the teller of calls. */
struct signal_socket *signal_socket_create(struct http_server *server, struct control_plane *plane,
                                           struct access_gate *access, struct calls_api *calls,
                                           size_t sockets_max);
void signal_socket_destroy(struct signal_socket *s);

/* out->tag is a slot, until signal_socket_closed. */
void signal_socket_judge(struct signal_socket *s, const struct http_upgrade *upgrade,
                         struct http_judgement *out, uint64_t now_us);
void signal_socket_opened(struct signal_socket *s, size_t slot, uint64_t socket, uint64_t now_us);
void signal_socket_message(struct signal_socket *s, size_t slot, struct bytes_view text,
                           uint64_t now_us);
void signal_socket_closed(struct signal_socket *s, size_t slot, uint64_t now_us);

/* Closes with 1001 all that wait for no answer to an offer. */
void signal_socket_drain(struct signal_socket *s);

/* Of a watch of CALL_WATCH_SIGNAL. */
void signal_socket_news(struct signal_socket *s, const struct call_news *news);
/* Refuses those whose offer is late; at signal_socket_next_timeout too. */
void signal_socket_turn(struct signal_socket *s, uint64_t now_us);
uint64_t signal_socket_next_timeout(const struct signal_socket *s);

#endif
