/*
 * sim_fleet.h - clients, each behind a link of its own, and a cluster, moved by one loop
 *
 * Only a client's link loses packets. Everything follows from one seed.
 */
#ifndef EARSHOT_SIM_FLEET_H
#define EARSHOT_SIM_FLEET_H

#include "services/transceiver/core/datagram_kind.h"
#include "tests/support/sim_client.h"
#include "tests/support/sim_cluster.h"
#include "tests/support/sim_link.h"
#include "tests/support/sim_uplink_rules.h"
#include "tests/support/sim_wire_rules.h"

#define SIM_FLEET_CLIENTS_MAX 10
#define SIM_FLEET_FRAMES_MAX  8192
#define SIM_FLEET_START_US    (10 * US_PER_S)

struct sim_fleet_config {
    uint64_t seed;
    struct sim_link_config link;       /* client to relay; the seed is filled in */
    struct sim_cluster_config cluster; /* seed, count and observer are filled in */
    struct sim_client_config client;   /* address, seed and tone are filled in */
    size_t client_count;               /* calls that begin together; 0 = 1 */
    struct sim_uplink_rules *uplink;   /* of the only call; borrowed; NULL: not watched */
    struct sim_wire_rules *wire;       /* likewise */
};

/* The test's: sets the clock that OpenSSL reads (tests/virtual_time.h). */
void sim_fleet_set_time(uint64_t now_us);

struct sim_fleet;

/* With calls whose offers were answered. */
struct sim_fleet *sim_fleet_create(const struct sim_fleet_config *config);
void sim_fleet_destroy(struct sim_fleet *f);

uint64_t sim_fleet_now(const struct sim_fleet *f);
void sim_fleet_run(struct sim_fleet *f, uint64_t until_us);

/* The first client, and its call: NULL when that is gone. */
struct sim_client *sim_fleet_client(struct sim_fleet *f);
struct session *sim_fleet_session(struct sim_fleet *f);
/* Any of them. Client n speaks a tone of SIM_CLIENT_TONE_HZ + 50 * n. */
struct sim_client *sim_fleet_client_at(struct sim_fleet *f, size_t number);
struct session *sim_fleet_session_at(struct sim_fleet *f, size_t number);

const struct shard_counters *sim_fleet_counters(const struct sim_fleet *f);
/* How many datagrams came to this end in the transceiver. */
uint64_t sim_fleet_verdicts(const struct sim_fleet *f, enum client_leg_result result);
/* Datagrams that the relay sent to somebody who is no client. */
uint64_t sim_fleet_strays(const struct sim_fleet *f);

/* A frame between transceiver and voice agent. */
struct sim_frame {
    uint64_t at_us;
    bool is_from_backend;
    uint8_t type;
    uint32_t session;
    uint32_t utterance;
    size_t payload_bytes;
    char payload[128]; /* its beginning, with a NUL */
};

/* The first SIM_FLEET_FRAMES_MAX of all but AUDIO_IN, in the order in which they passed. */
const struct sim_frame *sim_fleet_frames(const struct sim_fleet *f, size_t *out_count);

/* The first client's way holds what is sent until then. */
void sim_fleet_hold_link(struct sim_fleet *f, uint64_t until_us);
/* The transceiver does nothing until then. */
void sim_fleet_stall(struct sim_fleet *f, uint64_t until_us);
/* The client's way is cut, or mended. */
void sim_fleet_set_loss(struct sim_fleet *f, unsigned loss_per_mille);
/* The relay dies and comes back with nothing in memory, not even an announcement. */
void sim_fleet_restart_relay(struct sim_fleet *f);
/* The backend dies. Another that knows no call, or the agent with its memory, is there after
 * away_us; TIME_NEVER = never. */
void sim_fleet_lose_backend(struct sim_fleet *f, uint64_t away_us);
/* Hang up as signaling would. */
void sim_fleet_hang_up(struct sim_fleet *f);
/* The first client restarts its ICE by way of signaling; it may never hear the answer. */
enum control_refusal sim_fleet_restart_ice(struct sim_fleet *f, bool hears_answer);
/* A datagram of a stranger at the relay's public port. */
void sim_fleet_inject(struct sim_fleet *f, const struct net_addr *from, struct bytes_view datagram);
/* What the first client sent last of this kind, as an eavesdropper has it; empty = nothing. */
struct bytes_view sim_fleet_overheard(const struct sim_fleet *f, enum datagram_kind kind);

#endif
