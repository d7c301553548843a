/* udp_sender.c - see udp_sender.h */
#include "common/udp/udp_sender.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Datagrams of one system call. */
#define BATCH UDP_TRAIN_PACKETS_MAX

/* UDP_SEGMENT: the length of a train's datagrams. */
struct segment_control {
    _Alignas(struct cmsghdr) uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
};

/* What one system call is about. A message is a train or a packet. */
struct batch {
    struct udp_packet *packet; /* the caller's */
    size_t message_count;
    struct {
        size_t first; /* its packets are packet[order[first]] ... */
        size_t count;
        const struct udp_train *train; /* of a train */
    } message[BATCH];
    struct udp_trains trains;
    struct mmsghdr header[BATCH];
    struct iovec vector[BATCH]; /* in the trains' order */
    struct sockaddr_storage to[BATCH];
    struct segment_control control[BATCH];
};

struct given_up {
    struct net_addr to;
    enum udp_length_class length_class;
    unsigned trains_left; /* that go singly before one is tried again */
};

struct udp_sender {
    int fd;
    struct udp_sender_counters counters;
    struct given_up given_up[UDP_GIVEN_UP_MAX];
    size_t given_up_count; /* ever; the place of the next is this modulo the room */
    struct batch batch;
};

/* A kernel that knows the option has trains; whether a path takes them, its first train tells. */
static bool kernel_has_trains(int fd)
{
    int segment_bytes = 0;
    socklen_t len = sizeof(segment_bytes);
    return getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment_bytes, &len) == 0;
}

struct udp_sender *udp_sender_create(int fd, bool want_trains)
{
    struct udp_sender *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->fd = fd;
    metric_set(&s->counters.mode,
               want_trains && kernel_has_trains(fd) ? UDP_SEND_TRAINS : UDP_SEND_SINGLY);
    return s;
}

void udp_sender_destroy(struct udp_sender *s)
{
    free(s);
}

const struct udp_sender_counters *udp_sender_counters(const struct udp_sender *s)
{
    return &s->counters;
}

/* --- Destinations without trains ------------------------------------------------------------- */

static struct given_up *find_given_up(struct udp_sender *s, const struct udp_train *train)
{
    const size_t count =
        s->given_up_count < UDP_GIVEN_UP_MAX ? s->given_up_count : UDP_GIVEN_UP_MAX;
    for (size_t i = 0; i < count; i++) {
        if (s->given_up[i].length_class == train->length_class &&
            net_addr_equal(&s->given_up[i].to, &train->to)) {
            return &s->given_up[i];
        }
    }
    return NULL;
}

/* A device or a path changes while the process lives: one train in many finds out. */
static bool may_leave(struct udp_sender *s, const struct udp_train *train)
{
    struct given_up *entry = find_given_up(s, train);
    if (entry == NULL || entry->trains_left == 0) {
        return true;
    }
    entry->trains_left--;
    return false;
}

static void give_up(struct udp_sender *s, const struct udp_train *train)
{
    struct given_up *entry = find_given_up(s, train);
    if (entry == NULL) {
        entry = &s->given_up[s->given_up_count++ % UDP_GIVEN_UP_MAX];
    }
    *entry = (struct given_up){train->to, train->length_class, UDP_GIVEN_UP_TRAINS};
    metric_add(&s->counters.given_up, 1);
}

/* --- Messages --------------------------------------------------------------------------------- */

static void attach_segment(struct msghdr *header, struct segment_control *control, size_t bytes)
{
    const uint16_t segment_bytes = (uint16_t)bytes;
    header->msg_control = control;
    header->msg_controllen = sizeof(*control);
    struct cmsghdr *c = CMSG_FIRSTHDR(header);
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(segment_bytes));
    memcpy(CMSG_DATA(c), &segment_bytes, sizeof(segment_bytes));
}

static struct msghdr *add_message(struct batch *b, const struct net_addr *to, size_t first,
                                  size_t count)
{
    const size_t i = b->message_count++;
    b->message[i].first = first;
    b->message[i].count = count;
    b->message[i].train = NULL;
    b->header[i].msg_hdr = (struct msghdr){.msg_name = &b->to[i],
                                           .msg_namelen = net_addr_to_sockaddr(to, &b->to[i]),
                                           .msg_iov = &b->vector[first],
                                           .msg_iovlen = count};
    return &b->header[i].msg_hdr;
}

/* Its last packet may be shorter than the others. */
static void add_train(struct batch *b, const struct udp_train *train)
{
    const size_t message = b->message_count;
    struct msghdr *header = add_message(b, &train->to, train->first, train->count);
    b->message[message].train = train;
    for (size_t i = train->first; i + 1 < train->first + train->count; i++) {
        struct iovec *vector = &b->vector[i];
        memset((uint8_t *)vector->iov_base + vector->iov_len, 0, train->longest - vector->iov_len);
        vector->iov_len = train->longest;
    }
    attach_segment(header, &b->control[message], train->longest);
}

static void add_singles(struct batch *b, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        (void)add_message(b, &b->packet[b->trains.order[i]].to, i, 1);
    }
}

static void set_vectors(struct batch *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct udp_packet *packet = &b->packet[b->trains.order[i]];
        packet->is_sent = false;
        b->vector[i] = (struct iovec){packet->bytes.data, packet->bytes.len};
    }
}

static void write_messages(struct udp_sender *s, struct udp_packet *packet, size_t count)
{
    struct batch *b = &s->batch;
    b->packet = packet;
    b->message_count = 0;
    if (metric_get(&s->counters.mode) == UDP_SEND_SINGLY) {
        udp_trains_form_none(&b->trains, count);
        set_vectors(b, count);
        add_singles(b, 0, count);
        return;
    }
    udp_trains_form(&b->trains, packet, count);
    set_vectors(b, count);
    for (size_t i = 0; i < b->trains.count; i++) {
        const struct udp_train *train = &b->trains.train[i];
        if (train->count > 1 && may_leave(s, train)) {
            add_train(b, train);
        } else {
            add_singles(b, train->first, train->count);
        }
    }
}

/* --- Sending ---------------------------------------------------------------------------------- */

/* How many of these the kernel took; 0 and errno when it refuses the first. */
static size_t send_some(int fd, struct mmsghdr *header, size_t count)
{
    int sent = 0;
    do {
        sent = sendmmsg(fd, header, (unsigned)count, MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent > 0 ? (size_t)sent : 0;
}

static void mark_sent(struct udp_sender *s, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        s->batch.packet[s->batch.trains.order[i]].is_sent = true;
    }
    if (count > 1) {
        metric_add(&s->counters.trains, 1);
        metric_add(&s->counters.train_datagrams, count);
    } else {
        metric_add(&s->counters.singles, 1);
    }
}

/* The first two of a refused train, which are as long as all of it. */
static bool two_are_taken(struct udp_sender *s, const struct msghdr *refused, size_t first)
{
    struct mmsghdr probe = {.msg_hdr = *refused};
    probe.msg_hdr.msg_iovlen = 2;
    if (send_some(s->fd, &probe, 1) == 0) {
        return false;
    }
    mark_sent(s, first, 2);
    return true;
}

/* EIO: the device computes no checksums. The other two: a segment longer than the MTU. */
static bool is_about_trains(int error)
{
    return error == EIO || error == EINVAL || error == EMSGSIZE;
}

static void send_again_singly(struct udp_sender *s, size_t message)
{
    struct batch *b = &s->batch;
    const struct udp_train *train = b->message[message].train;
    size_t done = 0;
    metric_add(&s->counters.refused_trains, 1);
    if (train->count > 2 && two_are_taken(s, &b->header[message].msg_hdr, train->first)) {
        done = 2;
    } else if (is_about_trains(errno)) { /* of two datagrams; a full buffer tells nothing */
        give_up(s, train);
    }
    for (; done < train->count; done++) {
        const size_t at = train->first + done;
        struct mmsghdr single = {.msg_hdr = b->header[message].msg_hdr};
        b->vector[at].iov_len = b->packet[b->trains.order[at]].bytes.len;
        single.msg_hdr.msg_iov = &b->vector[at];
        single.msg_hdr.msg_iovlen = 1;
        single.msg_hdr.msg_control = NULL;
        single.msg_hdr.msg_controllen = 0;
        if (send_some(s->fd, &single, 1) == 1) {
            mark_sent(s, at, 1);
        } else {
            metric_add(&s->counters.refused, 1);
        }
    }
}

static void send_messages(struct udp_sender *s)
{
    struct batch *b = &s->batch;
    size_t next = 0;
    while (next < b->message_count) {
        const size_t sent = send_some(s->fd, b->header + next, b->message_count - next);
        for (size_t i = next; i < next + sent; i++) {
            mark_sent(s, b->message[i].first, b->message[i].count);
        }
        next += sent;
        if (sent > 0) {
            continue; /* if one is left, the next call tells why it was refused */
        }
        if (b->message[next].count > 1 && is_about_trains(errno)) {
            send_again_singly(s, next);
        } else {
            metric_add(&s->counters.refused, b->message[next].count);
        }
        next++;
    }
}

void udp_sender_flush(struct udp_sender *s, struct udp_packet *packet, size_t count)
{
    while (count > 0) {
        const size_t batch = count < BATCH ? count : BATCH;
        write_messages(s, packet, batch);
        send_messages(s);
        packet += batch;
        count -= batch;
    }
}
