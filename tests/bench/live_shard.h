/*
 * live_shard.h - calls of a real shard on loopback: its thread, its sockets, its clock
 *
 * One thread is all clients, their relay and the voice agent. Clients speak fixed packets and are
 * deaf; what leaves for them is stamped by the kernel. RTP's header is in the clear: marker, number
 * and timestamp say which packet of which utterance it is.
 * Gives:   latencies in microseconds, appended to samples while it runs.
 * Not here: what the voice agent says (live_agent.h), what figures are compared with
 *          (session_bench.c).
 */
#ifndef EARSHOT_LIVE_SHARD_H
#define EARSHOT_LIVE_SHARD_H

#include "common/udp/udp_sender.h"
#include "tests/bench/live_agent.h"
#include "tests/bench/samples.h"

#define LIVE_SHARD_CALLS_MAX LIVE_AGENT_CALLS_MAX

struct live_figures {
    struct samples residence;    /* datagram sent by a client -> AUDIO_IN read by the agent */
    struct samples departure;    /* off the call's own grid, its median removed */
    struct samples first_packet; /* AUDIO_OUT written -> first packet of the utterance */
    struct samples flush;        /* FLUSH written -> last packet of the old utterance */
    struct samples event_up;     /* event said by a client -> EVENT read by the agent */
    struct samples event_down;   /* EVENT written -> event at the client */
    uint64_t frames_in;          /* to agents, and packets to clients */
    uint64_t packets_out;
    double cpu_s; /* of the shard, for this much of speaking calls */
    double call_s;
};

struct live_shard;

/* With all calls connected and accepted. Opus at complexity 5, under load down to
 * complexity_min. has_data: each with an event channel that is open. */
struct live_shard *live_shard_create(size_t call_count, unsigned complexity_min, bool has_data);
void live_shard_destroy(struct live_shard *l);
/* Of the shard's socket. */
const struct udp_sender_counters *live_shard_trains(const struct live_shard *l);

/* All agents speak without a pause: residence, departure, frames, packets. */
void live_shard_stream(struct live_shard *l, uint64_t us, struct live_figures *out);
/* Two thirds of them speak without a pause; of the others each second one says short sentences, and
 * each second one is interrupted: first_packet, flush. */
void live_shard_talk(struct live_shard *l, uint64_t us, struct live_figures *out);
/* Agents are silent. The first client says so many events of LIVE_AGENT_EVENT_BYTES a second, and
 * each is answered by one: event_up, event_down, cpu_s. */
void live_shard_events(struct live_shard *l, unsigned per_second, uint64_t us,
                       struct live_figures *out);

#endif
