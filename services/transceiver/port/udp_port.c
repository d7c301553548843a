/* udp_port.c - see udp_port.h */
#include "services/transceiver/port/udp_port.h"

#include "common/runtime/log.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES (UDP_PORT_DATAGRAM_BYTES + UDP_PORT_SPARE_BYTES)

struct control_message {
    _Alignas(struct cmsghdr) char bytes[CMSG_SPACE(sizeof(uint32_t))];
};

struct udp_port {
    int fd;
    struct net_addr address;
    struct udp_port_counters counters;
    uint32_t kernel_dropped_seen;
    uint8_t *buffers;
    struct mmsghdr message[UDP_PORT_BATCH];
    struct iovec vector[UDP_PORT_BATCH];
    struct sockaddr_storage peer[UDP_PORT_BATCH];
    struct control_message control[UDP_PORT_BATCH];
    struct udp_received received[UDP_PORT_BATCH];
};

/* A relay's batch arrives at once: a small socket buffer loses part of it. */
static void ask_for_buffers(int fd, int option, const char *name, size_t wanted)
{
    const int wanted_bytes = (int)wanted;
    int granted = 0;
    socklen_t len = sizeof(granted);
    (void)setsockopt(fd, SOL_SOCKET, option, &wanted_bytes, sizeof(wanted_bytes));
    (void)getsockopt(fd, SOL_SOCKET, option, &granted, &len);
    /* The kernel reports twice what it grants, for its own bookkeeping. */
    if ((size_t)granted / 2 < wanted) {
        log_warn("udp.buffer_small which=%s granted_bytes=%d wanted_bytes=%zu "
                 "remedy=\"sysctl -w net.core.%s_max=%zu\"",
                 name, granted / 2, wanted, name[0] == 'r' ? "rmem" : "wmem", wanted);
    } else {
        log_info("udp.buffer which=%s granted_bytes=%d", name, granted / 2);
    }
}

static bool bind_socket(struct udp_port *p, const struct net_addr *listen, size_t buffer_bytes,
                        struct fault *fault)
{
    char text[NET_ADDR_TEXT_CAP];
    struct sockaddr_storage address;
    const socklen_t address_len = net_addr_to_sockaddr(listen, &address);
    p->fd = socket(address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (p->fd < 0 || bind(p->fd, (const struct sockaddr *)&address, address_len) != 0) {
        return fault_set(fault, FAULT_SYSTEM, "bind udp %s: %s%s",
                         net_addr_format(listen, text, sizeof(text)), strerror(errno),
                         errno == EADDRINUSE ? " (another transceiver? change media_port)" : "");
    }
    /* Firefox sends DTLS of 1,408 bytes and an overlay network may carry only 1,450 with the shim:
     * let IP cut them. */
    const int cut = IP_PMTUDISC_DONT;
    (void)setsockopt(p->fd, IPPROTO_IP, IP_MTU_DISCOVER, &cut, sizeof(cut));
    const int cut_v6 = IPV6_PMTUDISC_DONT;
    (void)setsockopt(p->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &cut_v6, sizeof(cut_v6));
    (void)setsockopt(p->fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
    ask_for_buffers(p->fd, SO_RCVBUF, "receive", buffer_bytes);
    ask_for_buffers(p->fd, SO_SNDBUF, "send", buffer_bytes);
    struct sockaddr_storage bound = {0};
    socklen_t bound_len = sizeof(bound);
    if (getsockname(p->fd, (struct sockaddr *)&bound, &bound_len) != 0 ||
        !net_addr_from_sockaddr(&bound, &p->address)) {
        return fault_set(fault, FAULT_SYSTEM, "getsockname udp: %s", strerror(errno));
    }
    return true;
}

struct udp_port *udp_port_open(const struct net_addr *listen, size_t buffer_bytes,
                               struct fault *fault)
{
    struct udp_port *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "udp port: out of memory");
        return NULL;
    }
    p->fd = -1;
    p->buffers = malloc((size_t)UDP_PORT_BATCH * BUFFER_BYTES);
    if (p->buffers == NULL || !bind_socket(p, listen, buffer_bytes, fault)) {
        udp_port_close(p);
        return NULL;
    }
    for (size_t i = 0; i < UDP_PORT_BATCH; i++) {
        p->vector[i] = (struct iovec){p->buffers + i * BUFFER_BYTES, UDP_PORT_DATAGRAM_BYTES};
        p->message[i].msg_hdr = (struct msghdr){.msg_name = &p->peer[i],
                                                .msg_iov = &p->vector[i],
                                                .msg_iovlen = 1,
                                                .msg_control = &p->control[i]};
    }
    return p;
}

void udp_port_close(struct udp_port *p)
{
    if (p == NULL) {
        return;
    }
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    free(p->buffers);
    free(p);
}

int udp_port_fd(const struct udp_port *p)
{
    return p->fd;
}

struct net_addr udp_port_address(const struct udp_port *p)
{
    return p->address;
}

const struct udp_port_counters *udp_port_counters(const struct udp_port *p)
{
    return &p->counters;
}

/* The kernel's count is a running total of the socket. */
static void note_kernel_drops(struct udp_port *p, struct msghdr *header)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            uint32_t total = 0;
            memcpy(&total, CMSG_DATA(c), sizeof(total));
            metric_add(&p->counters.kernel_dropped, total - p->kernel_dropped_seen);
            p->kernel_dropped_seen = total;
        }
    }
}

size_t udp_port_receive(struct udp_port *p, const struct udp_received **out)
{
    for (size_t i = 0; i < UDP_PORT_BATCH; i++) {
        p->message[i].msg_hdr.msg_namelen = sizeof(p->peer[i]);
        p->message[i].msg_hdr.msg_controllen = sizeof(p->control[i]);
    }
    const int count = recvmmsg(p->fd, p->message, UDP_PORT_BATCH, 0, NULL);
    size_t kept = 0;
    for (int i = 0; i < count; i++) {
        struct msghdr *header = &p->message[i].msg_hdr;
        struct udp_received *received = &p->received[kept];
        note_kernel_drops(p, header);
        if ((header->msg_flags & MSG_TRUNC) != 0 ||
            !net_addr_from_sockaddr(&p->peer[i], &received->from)) {
            metric_add(&p->counters.received_too_long, 1);
            continue;
        }
        received->datagram = (struct bytes_span){
            .data = p->vector[i].iov_base, .len = p->message[i].msg_len, .cap = BUFFER_BYTES};
        metric_add(&p->counters.received_bytes, p->message[i].msg_len);
        kept++;
    }
    metric_add(&p->counters.received_datagrams, kept);
    *out = p->received;
    return kept;
}

/* How many of the batch the kernel took; a datagram it refuses is skipped and counted. */
static void send_batch(struct udp_port *p, const struct udp_sending *sending, size_t count)
{
    struct mmsghdr message[UDP_PORT_BATCH];
    struct iovec vector[UDP_PORT_BATCH];
    struct sockaddr_storage peer[UDP_PORT_BATCH];
    for (size_t i = 0; i < count; i++) {
        /* sendmmsg takes a writable pointer and does not write. */
        vector[i] =
            (struct iovec){(void *)(uintptr_t)sending[i].datagram.data, sending[i].datagram.len};
        message[i] = (struct mmsghdr){
            .msg_hdr = {.msg_name = &peer[i],
                        .msg_namelen = net_addr_to_sockaddr(&sending[i].to, &peer[i]),
                        .msg_iov = &vector[i],
                        .msg_iovlen = 1}};
    }
    for (size_t done = 0; done < count;) {
        const int sent = sendmmsg(p->fd, message + done, (unsigned)(count - done), 0);
        if (sent > 0) {
            for (size_t i = done; i < done + (size_t)sent; i++) {
                metric_add(&p->counters.sent_bytes, message[i].msg_len);
            }
            metric_add(&p->counters.sent_datagrams, (uint64_t)sent);
            done += (size_t)sent;
        } else if (sent == 0 || errno != EINTR) {
            metric_add(&p->counters.send_failed, 1);
            done++;
        }
    }
}

void udp_port_send(struct udp_port *p, const struct udp_sending *sending, size_t count)
{
    while (count > 0) {
        const size_t batch = count < UDP_PORT_BATCH ? count : UDP_PORT_BATCH;
        send_batch(p, sending, batch);
        sending += batch;
        count -= batch;
    }
}
