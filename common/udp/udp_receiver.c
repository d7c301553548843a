/* udp_receiver.c - see udp_receiver.h */
#include "common/udp/udp_receiver.h"

#include "common/base/time_us.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define TRAIN_BYTES 65536
/* From room to room. Not 2,048 or 65,536, of which all would meet in a few sets of the cache. */
#define SLOT_PITCH  (UDP_HEADROOM + UDP_SLOT_BYTES + 64)
#define TRAIN_PITCH (TRAIN_BYTES + UDP_TRAIN_SPARE_BYTES)

/* UDP_GRO gives the length of a train's datagrams; SO_RXQ_OVFL and SO_TIMESTAMPNS are wanted once
 * a call. */
struct control_room {
    _Alignas(struct cmsghdr)
        uint8_t bytes[CMSG_SPACE(sizeof(uint32_t)) + CMSG_SPACE(sizeof(struct timespec)) +
                      CMSG_SPACE(sizeof(int))];
};

struct udp_receiver {
    enum udp_receiver_kind kind;
    size_t room_count; /* slots or trains */
    size_t room_bytes; /* for data in each */
    uint8_t *memory;
    struct mmsghdr header[UDP_SLOTS];
    struct iovec vector[UDP_SLOTS];
    struct sockaddr_storage from[UDP_SLOTS];
    struct control_room control[UDP_TRAINS];
    struct udp_arrival arrival[UDP_ARRIVALS_MAX];
};

static_assert(UDP_TRAINS <= UDP_SLOTS, "the headers do for both kinds");

struct udp_receiver *udp_receiver_create(enum udp_receiver_kind kind)
{
    const bool is_trains = kind == UDP_RECEIVER_TRAINS;
    const size_t before = is_trains ? 0 : UDP_HEADROOM;
    struct udp_receiver *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    r->kind = kind;
    r->room_count = is_trains ? UDP_TRAINS : UDP_SLOTS;
    r->room_bytes = is_trains ? TRAIN_BYTES : UDP_SLOT_BYTES;
    const size_t pitch = is_trains ? TRAIN_PITCH : SLOT_PITCH;
    r->memory = calloc(r->room_count, pitch);
    if (r->memory == NULL) {
        udp_receiver_destroy(r);
        return NULL;
    }
    for (size_t i = 0; i < r->room_count; i++) {
        r->vector[i] = (struct iovec){r->memory + i * pitch + before, r->room_bytes};
        r->header[i].msg_hdr =
            (struct msghdr){.msg_name = &r->from[i], .msg_iov = &r->vector[i], .msg_iovlen = 1};
    }
    return r;
}

void udp_receiver_destroy(struct udp_receiver *r)
{
    if (r == NULL) {
        return;
    }
    free(r->memory);
    free(r);
}

bool udp_receiver_accept_trains(int fd, bool accepts)
{
    const int on = accepts;
    return setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) == 0;
}

/* What the kernel says about a message; the length of the datagrams in it, 0 when it is one. */
static size_t read_control(struct udp_arrivals *arrivals, struct msghdr *header)
{
    size_t datagram_bytes = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            int bytes = 0;
            memcpy(&bytes, CMSG_DATA(c), sizeof(bytes));
            datagram_bytes = bytes > 0 ? (size_t)bytes : 0;
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            memcpy(&arrivals->dropped_total, CMSG_DATA(c), sizeof(arrivals->dropped_total));
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS &&
                   arrivals->first_unix_us == 0) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(c), sizeof(at));
            arrivals->first_unix_us = (uint64_t)at.tv_sec * US_PER_S + (uint64_t)at.tv_nsec / 1000;
        }
    }
    return datagram_bytes;
}

/* Takes a message apart. The last datagram of a train may be shorter than the others. */
static void take_apart(struct udp_receiver *r, struct udp_arrivals *arrivals, size_t message,
                       size_t datagram_bytes)
{
    uint8_t *data = r->vector[message].iov_base;
    const size_t bytes = r->header[message].msg_len;
    const size_t pitch = datagram_bytes == 0 ? bytes : datagram_bytes;
    struct net_addr from;
    if (!net_addr_from_sockaddr(&r->from[message], &from)) {
        return;
    }
    size_t taken = 0;
    for (size_t i = 0; i < UDP_TRAIN_DATAGRAMS && (i == 0 || taken < bytes); i++) {
        const size_t len = pitch < bytes - taken ? pitch : bytes - taken;
        r->arrival[arrivals->count++] =
            (struct udp_arrival){.data = data + taken, .len = len, .from = from};
        taken += len;
    }
    arrivals->bytes += taken;
    if (taken < bytes) {
        arrivals->left_out += (bytes - taken + pitch - 1) / pitch;
    }
}

struct udp_arrivals udp_receiver_take(struct udp_receiver *r, int fd)
{
    struct udp_arrivals arrivals = {.datagram = r->arrival};
    const size_t control_count = r->kind == UDP_RECEIVER_TRAINS ? UDP_TRAINS : 1;
    for (size_t i = 0; i < r->room_count; i++) {
        r->header[i].msg_hdr.msg_namelen = sizeof(r->from[i]);
    }
    for (size_t i = 0; i < control_count; i++) {
        r->header[i].msg_hdr.msg_control = &r->control[i];
        r->header[i].msg_hdr.msg_controllen = sizeof(r->control[i]);
    }
    const int count = recvmmsg(fd, r->header, (unsigned)r->room_count, MSG_DONTWAIT, NULL);
    arrivals.is_full = count == (int)r->room_count;
    for (int i = 0; i < count; i++) {
        struct msghdr *header = &r->header[i].msg_hdr;
        const size_t datagram_bytes =
            (size_t)i < control_count ? read_control(&arrivals, header) : 0;
        take_apart(r, &arrivals, (size_t)i, datagram_bytes);
    }
    return arrivals;
}
