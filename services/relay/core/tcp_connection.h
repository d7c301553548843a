/*
 * tcp_connection.h - one client's connection: its frames in and out, and when it must end
 *
 * Takes:   what happened to its frames, and the time.
 * Gives:   why it is over, if it is.
 * Owns:    nothing: the ring of its output is the caller's.
 * Rules:   a stranger has TCP_FIRST_FRAME_US to send a whole frame that is forwarded, and
 *          TCP_UNANSWERED_US until a transceiver sends it something. After that it lives as long as
 *          frames pass, either way, and as it takes what is sent to it.
 * Not here: its socket (tcp_clients.h), which place and state it has (tcp_roster.h).
 */
#ifndef EARSHOT_TCP_CONNECTION_H
#define EARSHOT_TCP_CONNECTION_H

#include "common/base/net_addr.h"
#include "common/base/time_us.h"
#include "services/relay/core/rate_buckets.h"
#include "services/relay/core/tcp_output.h"
#include "services/relay/core/tcp_roster.h"

/* One lost segment on a slow path costs 3 s. */
#define TCP_FIRST_FRAME_US (5 * US_PER_S)
#define TCP_UNANSWERED_US  (10 * US_PER_S)
/* The life of a confirmed flow. */
#define TCP_IDLE_US  (60 * US_PER_S)
#define TCP_STUCK_US (10 * US_PER_S)

/* A datagram of the smallest frame costs its shard as much as one of voice: 22 bytes are cheap to
 * send. The rate is that of 9 Mbit/s of data; a stall of some seconds ends in a burst of voice. */
#define TCP_FRAMES_PER_S 1000
#define TCP_FRAMES_BURST 500

enum tcp_end {
    TCP_END_NONE,
    TCP_END_CLIENT,       /* the client closed it, or the network broke it */
    TCP_END_LENGTH,       /* a frame of a length that no datagram has */
    TCP_END_FIRST_LATE,   /* no whole frame within TCP_FIRST_FRAME_US */
    TCP_END_FIRST_FRAME,  /* neither a request with a good token nor a known client */
    TCP_END_UNANSWERED,   /* half-open, and no transceiver sent it anything in TCP_UNANSWERED_US */
    TCP_END_IDLE,         /* no frame passed for TCP_IDLE_US */
    TCP_END_STUCK,        /* it took nothing of its output for TCP_STUCK_US */
    TCP_END_REPLACED,     /* its client has a newer one */
    TCP_END_EVICTED,      /* not confirmed, and all places were taken */
    TCP_END_SESSION_FULL, /* its session has its share of confirmed ones */
    TCP_END_ADDRESS_FULL, /* never began: its address has its share */
    TCP_END_FULL,         /* never began: all places belong to confirmed ones */
    TCP_END_COUNT
};

/* "first_late": the word in metrics. Not for TCP_END_NONE. */
const char *tcp_end_name(enum tcp_end end);

struct tcp_connection {
    struct net_addr client;
    uint64_t opened_us;
    uint64_t passed_us;   /* a frame passed, either way */
    uint64_t progress_us; /* it took some of its output, or had taken all */
    struct rate_bucket frames;
    struct tcp_frame_reader in;
    struct tcp_output out;
};

void tcp_connection_init(struct tcp_connection *c, const struct net_addr *client, uint8_t *ring,
                         uint64_t now_us);
/* A frame was read. False: that was the last one for now, and no further one should be. */
MUST_USE bool tcp_connection_took_frame(struct tcp_connection *c, uint64_t now_us);
/* A frame of the client's was forwarded. */
void tcp_connection_heard(struct tcp_connection *c, uint64_t now_us);
/* A datagram for the client. Returns how many old ones it cost. */
size_t tcp_connection_queue(struct tcp_connection *c, struct bytes_view datagram, uint64_t now_us);
/* The kernel took len bytes of the output. */
struct tcp_output_sent tcp_connection_wrote(struct tcp_connection *c, size_t len, uint64_t now_us);
/* TCP_END_NONE, or why it is over by now. */
enum tcp_end tcp_connection_overdue(const struct tcp_connection *c, enum tcp_place_state state,
                                    uint64_t now_us);

#endif
