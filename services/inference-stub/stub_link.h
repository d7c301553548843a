/*
 * stub_link.h - one connection of a transceiver: a byte stream in, a byte stream out
 *
 * Takes:   bytes in any split. HELLO comes first and within 2 s; every frame is numbered.
 * Gives:   bytes to write. Frames are made when there is room for them, so what waits is a few
 *          flags and never a queue: FLUSH, ERROR, PING and PONG first, then SESSION_*, then audio,
 *          then EVENT; within a class in turn over the sessions.
 * Owns:    its sessions (link_calls.h), 64 KB of input, LINK_OUTPUT_BYTES of output.
 * Fails:   a stranger, a peer that breaks the protocol, falls silent or stops reading is sent one
 *          ERROR if it can be, and the link is over; stub_link_reason says why.
 * Not here: sockets (stub_port.h), what is said (dialogue.h).
 */
#ifndef EARSHOT_STUB_LINK_H
#define EARSHOT_STUB_LINK_H

#include "services/inference-stub/stub_session.h"

#define LINK_OUTPUT_BYTES 65536

struct stub_link;

/* instance: a word that tells this process from others. NULL when there is no memory. */
struct stub_link *stub_link_create(const struct stub_behaviour *behaviour, const char *instance,
                                   uint64_t now_us);
void stub_link_destroy(struct stub_link *l);
/* The connection is gone: its calls wait on the shelf for the transceiver. Then destroy. */
void stub_link_shelve(struct stub_link *l, uint64_t now_us);

/* Read into reserve's room, then commit: frames are handled at once. */
struct bytes_span stub_link_reserve(struct stub_link *l);
void stub_link_commit(struct stub_link *l, size_t len, uint64_t now_us);
/* The other end has closed its side, or the socket failed. */
void stub_link_peer_closed(struct stub_link *l);

/* What is to be written now, borrowed until the next call; tell how much of it was. */
struct bytes_view stub_link_output(struct stub_link *l, uint64_t now_us);
void stub_link_sent(struct stub_link *l, size_t len, uint64_t now_us);

void stub_link_tick(struct stub_link *l, uint64_t now_us);
/* What the sessions have waited for may be there. */
void stub_link_wake(struct stub_link *l, uint64_t now_us);
uint64_t stub_link_next_timeout(const struct stub_link *l);

/* GOAWAY: sessions go on, at most so long; ending them is up to the caller. */
void stub_link_go_away(struct stub_link *l, uint64_t within_us);

size_t stub_link_session_count(const struct stub_link *l);
/* The last byte was written: shut down our side of the socket. */
bool stub_link_is_finished(const struct stub_link *l);
/* Close the socket and destroy the link. */
bool stub_link_is_over(const struct stub_link *l);
enum stub_close_reason stub_link_reason(const struct stub_link *l);

#endif
