/* udp_port.c - see udp_port.h */
#include "services/transceiver/port/udp_port.h"

#include "common/runtime/log.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct udp_port {
    int fd;
    struct net_addr address;
    struct udp_port_counters counters;
    struct udp_receiver *receiver;
    struct udp_sender *sender;
    struct udp_arrivals taken; /* from the kernel at once */
    size_t given;              /* of those */
    uint32_t kernel_dropped_seen;
};

/* A relay's batch arrives at once: a small socket buffer loses part of it. */
static void ask_for_buffers(int fd, int forced_option, int option, const char *name, size_t wanted)
{
    const int wanted_bytes = (int)wanted;
    int granted = 0;
    socklen_t len = sizeof(granted);
    /* FORCE passes the limit of the sysctl where the process may. */
    if (setsockopt(fd, SOL_SOCKET, forced_option, &wanted_bytes, sizeof(wanted_bytes)) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, option, &wanted_bytes, sizeof(wanted_bytes));
    }
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
    ask_for_buffers(p->fd, SO_RCVBUFFORCE, SO_RCVBUF, "receive", buffer_bytes);
    ask_for_buffers(p->fd, SO_SNDBUFFORCE, SO_SNDBUF, "send", buffer_bytes);
    (void)udp_receiver_accept_trains(p->fd, true); /* without, each datagram comes alone */
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
    if (!bind_socket(p, listen, buffer_bytes, fault)) {
        udp_port_close(p);
        return NULL;
    }
    p->receiver = udp_receiver_create(UDP_RECEIVER_TRAINS);
    p->sender = udp_sender_create(p->fd, true);
    if (p->receiver == NULL || p->sender == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "udp port: out of memory");
        udp_port_close(p);
        return NULL;
    }
    return p;
}

void udp_port_close(struct udp_port *p)
{
    if (p == NULL) {
        return;
    }
    udp_receiver_destroy(p->receiver);
    udp_sender_destroy(p->sender);
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
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

const struct udp_sender_counters *udp_port_trains(const struct udp_port *p)
{
    return udp_sender_counters(p->sender);
}

static void take(struct udp_port *p)
{
    p->taken = udp_receiver_take(p->receiver, p->fd);
    p->given = 0;
    metric_add(&p->counters.received_datagrams, p->taken.count);
    metric_add(&p->counters.received_bytes, p->taken.bytes);
    metric_add(&p->counters.left_out, p->taken.left_out);
    if (p->taken.dropped_total != 0) { /* since the socket was opened */
        metric_add(&p->counters.kernel_dropped, p->taken.dropped_total - p->kernel_dropped_seen);
        p->kernel_dropped_seen = p->taken.dropped_total;
    }
}

bool udp_port_has_received(const struct udp_port *p)
{
    return p->given < p->taken.count;
}

size_t udp_port_receive(struct udp_port *p, const struct udp_arrival **out)
{
    if (!udp_port_has_received(p)) {
        take(p);
    }
    const size_t left = p->taken.count - p->given;
    const size_t count = left < UDP_PORT_BATCH ? left : UDP_PORT_BATCH;
    *out = p->taken.datagram + p->given;
    p->given += count;
    return count;
}

void udp_port_send(struct udp_port *p, struct udp_packet *packet, size_t count)
{
    uint64_t sent = 0;
    uint64_t bytes = 0;
    udp_sender_flush(p->sender, packet, count);
    for (size_t i = 0; i < count; i++) {
        sent += packet[i].is_sent;
        bytes += packet[i].is_sent ? packet[i].bytes.len : 0;
    }
    metric_add(&p->counters.sent_datagrams, sent);
    metric_add(&p->counters.sent_bytes, bytes);
    metric_add(&p->counters.send_failed, count - sent);
}
