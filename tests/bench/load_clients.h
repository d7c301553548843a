/*
 * load_clients.h - many clients on one socket, each with an address and a session of its own
 *
 * Client i sends from 127.16.0.1 + i, port LOAD_CLIENT_PORT; its routing token is real.
 * Checks:  a reply must reach the address of the client that it names, and be as long as it says.
 */
#ifndef EARSHOT_BENCH_LOAD_CLIENTS_H
#define EARSHOT_BENCH_LOAD_CLIENTS_H

#include "common/routing/key_ring.h"
#include "tests/bench/load_figures.h"
#include "tests/bench/load_packet.h"
#include "tests/bench/load_socket.h"

struct load_clients;

/* The ring and the order are borrowed until close. */
struct load_clients *load_clients_open(struct key_ring *ring, const struct load_order *order);
void load_clients_close(struct load_clients *c);
int load_clients_fd(const struct load_clients *c);

/* Nobody is connected; the next replies come from there. */
void load_clients_begin(struct load_clients *c, const struct net_addr *relay);
/* Binding requests of those of `count` clients from `first` on that have no answer yet. */
void load_clients_request(struct load_clients *c, uint32_t first, uint32_t count);
uint32_t load_clients_connected(const struct load_clients *c);

/* Sends the packets from `sequence` on; how many the kernel took. */
size_t load_clients_send(struct load_clients *c, uint64_t sequence, size_t count);
/* Takes what is there, one batch at most, and checks it; how many. has_addresses: a reply is to
 * reach the client that it names. */
size_t load_clients_take(struct load_clients *c, bool has_addresses, struct load_figures *figures);

#endif
