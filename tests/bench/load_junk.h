/*
 * load_junk.h - strangers who send to a relay: so many datagrams a second, none of them any good
 *
 * A quarter each of media without a flow, handshakes without a flow, requests with a forged token,
 * and what is no datagram of WebRTC; LOAD_JUNK_BYTES long, from LOAD_JUNK_SOURCES addresses in
 * blocks of their own. They leave in trains, which cost their sender less.
 */
#ifndef EARSHOT_BENCH_LOAD_JUNK_H
#define EARSHOT_BENCH_LOAD_JUNK_H

#include "common/base/net_addr.h"

#define LOAD_JUNK_BYTES   100
#define LOAD_JUNK_SOURCES 64

struct load_junk;

/* key_id: of the forged tokens, so that they are worth opening. */
struct load_junk *load_junk_open(uint8_t key_id);
void load_junk_close(struct load_junk *j);

/* The relay that hears it, and how often; nothing was sent yet. */
void load_junk_begin(struct load_junk *j, const struct net_addr *relay, uint32_t rate_hz);
/* Sends what is due at this time of a burst, a few trains at most. */
void load_junk_send(struct load_junk *j, uint64_t elapsed_ns);
/* What the kernel took. */
uint64_t load_junk_sent(const struct load_junk *j);

#endif
