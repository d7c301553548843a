/*
 * relay_process.h - an earshot-relay for benchmarks: started, told of a transceiver, asked
 *
 * Takes:   a folder that exists, for its keys, configuration and log.
 * Gives:   a process with one worker on one CPU that forwards between any number of clients and one
 *          transceiver: limits that a stranger meets are lifted.
 * Owns:    nothing: the process is ended by relay_process_stop, and by the kernel when the thread
 *          that started it ends, if it may not outlive it.
 * Fails:   with a fault that holds the last line of the relay's log.
 */
#ifndef EARSHOT_BENCH_RELAY_PROCESS_H
#define EARSHOT_BENCH_RELAY_PROCESS_H

#include "common/base/net_addr.h"
#include "common/routing/key_ring.h"

#include <sys/types.h>

#define RELAY_PROCESS_CLUSTER  1
#define RELAY_PROCESS_INSTANCE UINT32_C(0x5eed0001)
#define RELAY_PROCESS_KEY_ID   7
#define RELAY_PROCESS_PATH_CAP 256

/* The one key of its ring, made active. */
extern const uint8_t relay_process_secret[KEY_RING_SECRET_BYTES];

struct relay_process_config {
    char folder[RELAY_PROCESS_PATH_CAP];
    char listen[NET_ADDR_TEXT_CAP];   /* "ip:port" of clients */
    char internal[NET_ADDR_TEXT_CAP]; /* of transceivers, the first port */
    char media[NET_ADDR_TEXT_CAP];    /* of the transceiver */
    uint16_t admin_port;              /* announcements go to the next one */
    size_t flows;
    int cpu;           /* -1: any */
    int fifo_priority; /* 0: none */
    bool may_outlive_us;
    bool has_no_trains; /* datagrams travel singly toward the transceiver */
    bool is_polling;    /* never sleeps */
    unsigned gather_us;
};

/* The pid, or -1. Announce before it has to forward. */
pid_t relay_process_start(const struct relay_process_config *c, struct fault *fault);
/* Returns when the relay knows the transceiver. Opens an NNG socket for that long. */
MUST_USE bool relay_process_announce(const struct relay_process_config *c, pid_t pid,
                                     struct fault *fault);
/* Sends SIGTERM twice, and SIGKILL to what is left after two seconds. */
void relay_process_stop(pid_t pid);

/* The text of /metrics, cut at cap; false when nobody answers. */
MUST_USE bool relay_process_metrics(const struct relay_process_config *c, char *text, size_t cap);
/* The sum of all samples whose name and labels begin so; 0 when there are none. */
uint64_t relay_process_sum(const char *metrics, const char *prefix);

#endif
