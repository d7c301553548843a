/*
 * sim_fleet.h - a client, a relay, a transceiver and a voice agent in virtual time, no socket
 *
 * The real forwarder, the real calls of a shard, the real backend stream and the real stub, moved
 * by one loop. Only the client's link loses packets; the inside of a cluster is one machine here.
 * Everything follows from one seed.
 */
#ifndef EARSHOT_SIM_FLEET_H
#define EARSHOT_SIM_FLEET_H

#include "services/inference-stub/dialogue.h"
#include "services/transceiver/port/shard_calls.h"
#include "tests/support/sim_client.h"

struct sim_fleet_config {
    uint64_t seed;
    uint64_t delay_us; /* one way, client to relay */
    uint64_t jitter_us;
    unsigned loss_per_mille;
    unsigned repeat_per_mille;
    enum dialogue_mode mode;
    uint32_t tone_hz;
    struct sim_client_config client; /* address and seed are filled in */
};

/* The test's: sets the clock that OpenSSL reads (tests/virtual_time.h). */
void sim_fleet_set_time(uint64_t now_us);

struct sim_fleet;

/* With a call whose offer was answered. */
struct sim_fleet *sim_fleet_create(const struct sim_fleet_config *config);
void sim_fleet_destroy(struct sim_fleet *f);

uint64_t sim_fleet_now(const struct sim_fleet *f);
void sim_fleet_run(struct sim_fleet *f, uint64_t until_us);

struct sim_client *sim_fleet_client(struct sim_fleet *f);
/* The call, NULL when it is gone. */
struct session *sim_fleet_session(struct sim_fleet *f);
const struct shard_counters *sim_fleet_counters(const struct sim_fleet *f);
/* The client's way is cut, or mended. */
void sim_fleet_set_loss(struct sim_fleet *f, unsigned loss_per_mille);
/* The relay dies and comes back with nothing in memory, not even an announcement. */
void sim_fleet_restart_relay(struct sim_fleet *f);
/* The connection to the backend breaks. */
void sim_fleet_lose_backend(struct sim_fleet *f);
/* Hang up as signaling would. */
void sim_fleet_hang_up(struct sim_fleet *f);
/* A datagram of a stranger at the relay's public port. */
void sim_fleet_inject(struct sim_fleet *f, const struct net_addr *from, struct bytes_view datagram);

#endif
