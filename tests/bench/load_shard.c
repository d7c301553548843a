/* load_shard.c - see load_shard.h */
#include "tests/bench/load_shard.h"

#include "common/routing/relay_shim.h"
#include "common/routing/routing_token.h"
#include "tests/bench/load_clock.h"
#include "tests/bench/relay_process.h"

#include <arpa/inet.h>
#include <stdlib.h>

#define SEGMENT_BYTES_MAX (RELAY_SHIM_BYTES + LOAD_PACKET_BYTES_MAX)
#define SUCCESS_RESPONSE  0x01 /* of a Binding request: the first byte of its type */
#define FIRST_BYTE_STUN   3

struct load_shard {
    struct load_socket *socket;
    struct key_ring *ring;
    const struct load_order *order;
    enum load_manner manner;
    struct sockaddr_in relay;
    struct load_datagram sending[LOAD_BATCH];
    uint8_t packet[LOAD_BATCH * SEGMENT_BYTES_MAX];
};

struct load_shard *load_shard_open(const struct net_addr *media, struct key_ring *ring,
                                   const struct load_order *order)
{
    struct load_shard *s = calloc(1, sizeof(*s));
    struct in_addr ip;
    assert(s != NULL && net_addr_is_ipv4(media));
    memcpy(&ip, media->ip + 12, sizeof(ip));
    s->socket = load_socket_open(ip.s_addr, media->port, LOAD_BUFFER_BYTES);
    s->ring = ring;
    s->order = order;
    return s;
}

void load_shard_close(struct load_shard *s)
{
    if (s != NULL) {
        load_socket_close(s->socket);
        free(s);
    }
}

int load_shard_fd(const struct load_shard *s)
{
    return load_socket_fd(s->socket);
}

void load_shard_begin(struct load_shard *s, enum load_manner manner, const struct net_addr *relay)
{
    struct sockaddr_storage storage;
    (void)net_addr_to_sockaddr(relay, &storage);
    memcpy(&s->relay, &storage, sizeof(s->relay));
    s->manner = manner;
    load_socket_accept_trains(s->socket, manner == LOAD_IN_TRAINS);
}

/* --- back to the clients ---------------------------------------------------------------------- */

static void sign(struct load_shard *s, uint32_t client, size_t datagram_bytes, uint8_t *out)
{
    const struct relay_shim shim = {.flags = RELAY_SHIM_DOWNLINK,
                                    .datagram_bytes = (uint16_t)datagram_bytes,
                                    .instance_id = RELAY_PROCESS_INSTANCE,
                                    .session_id = SESSION_ID_FIRST(0) + client,
                                    .client = load_client_address(client)};
    relay_shim_write(s->ring, &shim, out);
}

/* An uplink becomes a downlink where it lies. False: it is not right. */
static bool turn_round(struct load_shard *s, uint8_t *bytes, size_t len, bool is_echo)
{
    struct relay_shim shim;
    struct load_mark mark = {0};
    if (relay_shim_read(s->ring, bytes_view_of(bytes, len), &shim) != RELAY_SHIM_OK ||
        shim.flags != 0 || shim.instance_id != RELAY_PROCESS_INSTANCE) {
        return false;
    }
    uint8_t *datagram = bytes + RELAY_SHIM_BYTES;
    const bool is_request = shim.datagram_bytes > 0 && datagram[0] <= FIRST_BYTE_STUN;
    if (is_request) {
        datagram[0] = SUCCESS_RESPONSE;
        mark.client = shim.session_id - SESSION_ID_FIRST(0);
    } else if (!load_packet_read(bytes_view_of(datagram, shim.datagram_bytes), &mark)) {
        return false;
    }
    const struct net_addr client = load_client_address(mark.client);
    if (shim.session_id != SESSION_ID_FIRST(0) + mark.client ||
        !net_addr_equal(&shim.client, &client)) {
        return false;
    }
    if (is_request || is_echo) {
        sign(s, mark.client, shim.datagram_bytes, bytes);
    }
    return true;
}

static bool is_without_shim(const struct load_shard *s, const uint8_t *bytes, size_t len)
{
    struct load_mark mark;
    return s->manner == LOAD_WITHOUT_SHIMS && load_packet_read(bytes_view_of(bytes, len), &mark);
}

/* All datagrams of a train; how many. */
static size_t take_train(struct load_shard *s, const struct load_datagram *d, bool is_echo,
                         struct load_figures *figures)
{
    size_t count = 0;
    for (size_t at = 0; at < d->len; at += d->segment_bytes, count++) {
        const size_t left = d->len - at;
        const size_t len = left < d->segment_bytes ? left : d->segment_bytes;
        if (!is_without_shim(s, d->data + at, len) && !turn_round(s, d->data + at, len, is_echo)) {
            figures->wrong++;
        }
    }
    return count;
}

static bool is_request(const struct load_shard *s, const struct load_datagram *d)
{
    return s->manner != LOAD_WITHOUT_SHIMS && d->len > RELAY_SHIM_BYTES &&
           d->data[RELAY_SHIM_BYTES] <= FIRST_BYTE_STUN;
}

size_t load_shard_take(struct load_shard *s, bool is_echo, struct load_figures *figures)
{
    struct load_datagram *datagram = NULL;
    const size_t got = load_socket_take(s->socket, &datagram);
    size_t count = 0;
    size_t answers = 0;
    for (size_t i = 0; i < got; i++) {
        /* Requests come before packets, never in one train with them. */
        const bool is_answered = is_echo || is_request(s, &datagram[i]);
        count += take_train(s, &datagram[i], is_answered, figures);
        if (is_answered) {
            s->sending[answers] = datagram[i];
            s->sending[answers++].local_ip = 0;
        }
    }
    figures->up_received += count;
    for (size_t sent = 0; sent < answers;) {
        sent += load_socket_send(s->socket, s->sending + sent, answers - sent);
    }
    figures->down_sent += is_echo ? count : 0;
    return count;
}

/* --- of its own accord ------------------------------------------------------------------------ */

/* Packets of one length, as a transceiver pads them; the shims say how long they are. */
static size_t write_packets(struct load_shard *s, uint64_t sequence, size_t count)
{
    const uint64_t now_ns = load_clock_ns();
    const size_t shim_bytes = s->manner == LOAD_WITHOUT_SHIMS ? 0 : RELAY_SHIM_BYTES;
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t len = load_order_mark(s->order, sequence + i, now_ns).len;
        longest = len > longest ? len : longest;
    }
    const size_t step = shim_bytes + longest;
    for (size_t i = 0; i < count; i++) {
        const struct load_mark mark = load_order_mark(s->order, sequence + i, now_ns);
        uint8_t *at = s->packet + i * step;
        load_packet_write(&mark, sequence + i, at + shim_bytes);
        memset(at + shim_bytes + mark.len, 0, longest - mark.len);
        if (shim_bytes > 0) {
            sign(s, mark.client, mark.len, at);
        }
        s->sending[i] = (struct load_datagram){.data = at,
                                               .len = shim_bytes + mark.len,
                                               .segment_bytes = shim_bytes + mark.len,
                                               .peer = s->relay};
    }
    return step;
}

size_t load_shard_send(struct load_shard *s, uint64_t sequence, size_t count)
{
    assert(count >= 1 && count <= LOAD_BATCH);
    const size_t step = write_packets(s, sequence, count);
    if (s->manner != LOAD_IN_TRAINS) {
        return load_socket_send(s->socket, s->sending, count);
    }
    const struct load_datagram train = {
        .data = s->packet, .len = count * step, .segment_bytes = step, .peer = s->relay};
    return load_socket_send(s->socket, &train, 1) * count;
}
