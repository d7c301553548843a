/*
 * load_socket.h - a UDP socket of the load, read and written many datagrams at a time
 *
 * Owns:    its descriptor and fixed buffers; nothing of the code under test is used.
 * Fails:   asserts: it runs on loopback in a network of its own.
 */
#ifndef EARSHOT_BENCH_LOAD_SOCKET_H
#define EARSHOT_BENCH_LOAD_SOCKET_H

#include "common/base/net_addr.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define LOAD_BATCH         64
#define LOAD_SLOT_BYTES    2048
#define LOAD_TRAINS        8
#define LOAD_TRAIN_BYTES   65536
#define LOAD_CONTROL_BYTES 64
#define LOAD_BUFFER_BYTES  (32 << 20)

/* Received, or to be sent: the same memory may be sent again. */
struct load_datagram {
    uint8_t *data;
    size_t len;
    size_t segment_bytes; /* of a train; else len */
    struct sockaddr_in peer;
    uint32_t local_ip; /* received: it was sent to; to be sent: it is to come from; 0 = any */
};

struct load_socket;

/* buffer_bytes: asked of the kernel, each way. */
struct load_socket *load_socket_open(uint32_t ip, uint16_t port, int buffer_bytes);
void load_socket_close(struct load_socket *s);
int load_socket_fd(const struct load_socket *s);
/* From now on datagrams of a train arrive as one. */
void load_socket_accept_trains(struct load_socket *s, bool accepts);

/* What waits: at most LOAD_BATCH datagrams, or LOAD_TRAINS trains. Borrowed until the next take. */
size_t load_socket_take(struct load_socket *s, struct load_datagram **out);
/* How many the kernel took, from the first on. */
size_t load_socket_send(struct load_socket *s, const struct load_datagram *datagram, size_t count);

#endif
