/*
 * sim_cluster.h - the inside of a cluster in virtual time: a relay, a transceiver, a voice agent
 *
 * The real forwarder, the real calls of a shard and the real backend stream; the agent is the real
 * stub, or one that does what a script says (sim_backend.h). No socket: inside, nothing is lost and
 * nothing takes time.
 * Tells:   what passes, at the moment it passes, to sim_cluster_observer.
 * Checks:  a machine that was due and is due again at the same instant makes no progress: journal.
 */
#ifndef EARSHOT_SIM_CLUSTER_H
#define EARSHOT_SIM_CLUSTER_H

#include "services/inference-stub/dialogue.h"
#include "services/transceiver/port/shard_calls.h"
#include "tests/support/sim_backend.h"

struct sim_cluster_observer {
    void *context;
    /* A datagram that leaves the relay. */
    void (*to_client)(void *context, const struct net_addr *client, struct bytes_view datagram);
    /* A frame that leaves a session, or that it takes. */
    void (*frame)(void *context, const struct backend_frame *frame, bool is_from_backend);
    /* The connection to the backend is gone. */
    void (*backend_lost)(void *context, uint64_t now_us);
    /* A datagram of a client, before and after the session took it. RTP is in the clear then. */
    void (*arrived)(void *context, uint32_t session_id, struct bytes_view datagram,
                    enum client_leg_result result);
};

struct sim_cluster_config {
    uint64_t seed;
    size_t call_count_max;
    uint64_t duration_max_us; /* of a call; 0 = 1 h */
    enum dialogue_mode mode;
    uint32_t tone_hz;
    bool rejects;              /* the stub, every call */
    bool accepts_never;        /* its ACCEPT gets lost */
    bool keeps_calls;          /* the stub: it can resume when its connection breaks */
    struct sim_backend *agent; /* borrowed; NULL: the stub */
    unsigned complexity;       /* of Opus to the client, with bitrate_bps */
    uint32_t bitrate_bps;      /* 0: as a transceiver has it by itself */
    bool idle_sparse;          /* silence each 400 ms */
    struct sim_journal *journal;
    const size_t *allocations; /* of the process so far; NULL: not counted */
    struct sim_cluster_observer observer;
};

struct sim_cluster;

struct sim_cluster *sim_cluster_create(const struct sim_cluster_config *config, uint64_t now_us);
void sim_cluster_destroy(struct sim_cluster *c);

/* The answer is borrowed until the next call. */
uint32_t sim_cluster_place_call(struct sim_cluster *c, const char *call_id, const char *offer,
                                struct bytes_view *answer, uint64_t now_us);
/* Hangs up as signaling would. */
void sim_cluster_end_call(struct sim_cluster *c, const char *call_id, uint64_t now_us);

/* Restarts its ICE as signaling would; our fragment is borrowed until the next call. */
enum control_refusal sim_cluster_restart_ice(struct sim_cluster *c, const char *call_id,
                                             const char *fragment, struct bytes_view *out,
                                             uint64_t now_us);

/* A datagram at the relay's public port. */
void sim_cluster_input(struct sim_cluster *c, const struct net_addr *from,
                       struct bytes_view datagram, uint64_t now_us);
void sim_cluster_tick(struct sim_cluster *c, uint64_t now_us);
uint64_t sim_cluster_next_timeout(const struct sim_cluster *c);

/* The relay dies and comes back with nothing in memory, not even an announcement. */
void sim_cluster_restart_relay(struct sim_cluster *c);
/* The connection to the backend breaks; there is another from back_us on. */
void sim_cluster_lose_backend(struct sim_cluster *c, uint64_t back_us, uint64_t now_us);
/* Until then the transceiver does nothing: what comes waits in its socket. */
void sim_cluster_stall(struct sim_cluster *c, uint64_t until_us);

/* NULL when it is gone. */
struct session *sim_cluster_session(const struct sim_cluster *c, uint32_t session_id);
const struct shard_counters *sim_cluster_counters(const struct sim_cluster *c);

#endif
