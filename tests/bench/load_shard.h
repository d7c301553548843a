/*
 * load_shard.h - the transceiver of the load: a shard's socket that checks every shim and echoes
 *
 * How it is spoken to, and answers, is how it is told to: without shims (for a loop that copies),
 * one datagram at a time, or in trains. What it echoes keeps its padding.
 * Checks:  tag, session, client address and length of each datagram against what it says itself.
 */
#ifndef EARSHOT_BENCH_LOAD_SHARD_H
#define EARSHOT_BENCH_LOAD_SHARD_H

#include "common/routing/key_ring.h"
#include "tests/bench/load_figures.h"
#include "tests/bench/load_packet.h"
#include "tests/bench/load_socket.h"

enum load_manner { LOAD_WITHOUT_SHIMS, LOAD_SINGLY, LOAD_IN_TRAINS };

struct load_shard;

/* The ring and the order are borrowed until close. */
struct load_shard *load_shard_open(const struct net_addr *media, struct key_ring *ring,
                                   const struct load_order *order);
void load_shard_close(struct load_shard *s);
int load_shard_fd(const struct load_shard *s);

/* relay: where packets of its own accord go. */
void load_shard_begin(struct load_shard *s, enum load_manner manner, const struct net_addr *relay);
/* Takes what is there, one batch at most; how many datagrams. Binding requests are answered, all
 * else is sent back if it is to be. */
size_t load_shard_take(struct load_shard *s, bool is_echo, struct load_figures *figures);
/* Sends the packets from `sequence` on; how many the kernel took. */
size_t load_shard_send(struct load_shard *s, uint64_t sequence, size_t count);

#endif
