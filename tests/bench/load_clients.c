/* load_clients.c - see load_clients.h */
#include "tests/bench/load_clients.h"

#include "common/routing/routing_token.h"
#include "common/stun/stun_integrity.h"
#include "tests/bench/load_clock.h"
#include "tests/bench/relay_process.h"

#include <arpa/inet.h>
#include <stdlib.h>

#define REQUEST_BYTES_MAX 128
#define PRIORITY          UINT32_C(0x6e7f1eff)
#define CLIENT_NAME       ":peer"
#define FIRST_BYTE_STUN   3 /* RFC 7983: 0..3 */

struct load_clients {
    struct load_socket *socket;
    struct key_ring *ring;
    const struct load_order *order;
    struct sockaddr_in relay;
    uint32_t connected;
    bool *is_connected;
    struct load_datagram sending[LOAD_BATCH];
    uint8_t packet[LOAD_BATCH][LOAD_PACKET_BYTES_MAX];
};

static_assert(LOAD_PACKET_BYTES_MAX >= REQUEST_BYTES_MAX, "a request has room where packets have");

struct load_clients *load_clients_open(struct key_ring *ring, const struct load_order *order)
{
    struct load_clients *c = calloc(1, sizeof(*c));
    assert(c != NULL);
    c->socket = load_socket_open(htonl(INADDR_ANY), LOAD_CLIENT_PORT, LOAD_BUFFER_BYTES);
    c->ring = ring;
    c->order = order;
    c->is_connected = calloc(LOAD_CLIENTS_MAX, sizeof(*c->is_connected));
    assert(c->is_connected != NULL);
    return c;
}

void load_clients_close(struct load_clients *c)
{
    if (c != NULL) {
        load_socket_close(c->socket);
        free(c->is_connected);
        free(c);
    }
}

int load_clients_fd(const struct load_clients *c)
{
    return load_socket_fd(c->socket);
}

void load_clients_begin(struct load_clients *c, const struct net_addr *relay)
{
    struct sockaddr_storage storage;
    (void)net_addr_to_sockaddr(relay, &storage);
    memcpy(&c->relay, &storage, sizeof(c->relay));
    memset(c->is_connected, 0, LOAD_CLIENTS_MAX * sizeof(*c->is_connected));
    c->connected = 0;
}

static size_t write_request(struct load_clients *c, uint32_t client, uint8_t *out)
{
    const struct routing_token token = {.cluster_id = RELAY_PROCESS_CLUSTER,
                                        .instance_id = RELAY_PROCESS_INSTANCE,
                                        .session_id = SESSION_ID_FIRST(0) + client};
    char username[ROUTING_TOKEN_CHARS + sizeof(CLIENT_NAME)];
    uint8_t transaction_id[STUN_TRANSACTION_ID_BYTES] = {0};
    memcpy(transaction_id, &client, sizeof(client));
    routing_token_seal(c->ring, &token, username);
    memcpy(username + ROUTING_TOKEN_CHARS, CLIENT_NAME, sizeof(CLIENT_NAME));
    struct byte_writer w;
    byte_writer_init(&w, out, REQUEST_BYTES_MAX);
    stun_message_begin(&w, STUN_BINDING_REQUEST, transaction_id);
    stun_message_add(&w, STUN_USERNAME, bytes_view_of_text(username));
    stun_message_add_u32(&w, STUN_PRIORITY, PRIORITY);
    stun_fingerprint_append(&w);
    assert(!w.failed);
    return w.len;
}

static void address(struct load_clients *c, size_t at, uint32_t client, size_t len)
{
    c->sending[at] = (struct load_datagram){.data = c->packet[at],
                                            .len = len,
                                            .segment_bytes = len,
                                            .peer = c->relay,
                                            .local_ip = load_client_ip(client)};
}

void load_clients_request(struct load_clients *c, uint32_t first, uint32_t count)
{
    size_t used = 0;
    assert(count <= LOAD_BATCH);
    for (uint32_t i = first; i < first + count && i < c->order->clients; i++) {
        if (!c->is_connected[i]) {
            address(c, used, i, write_request(c, i, c->packet[used]));
            used++;
        }
    }
    (void)load_socket_send(c->socket, c->sending, used);
}

uint32_t load_clients_connected(const struct load_clients *c)
{
    return c->connected;
}

size_t load_clients_send(struct load_clients *c, uint64_t sequence, size_t count)
{
    const uint64_t now_ns = load_clock_ns();
    for (size_t i = 0; i < count; i++) {
        const struct load_mark mark = load_order_mark(c->order, sequence + i, now_ns);
        load_packet_write(&mark, sequence + i, c->packet[i]);
        address(c, i, mark.client, mark.len);
    }
    return load_socket_send(c->socket, c->sending, count);
}

static void take_answer(struct load_clients *c, uint32_t client)
{
    if (client < c->order->clients && !c->is_connected[client]) {
        c->is_connected[client] = true;
        c->connected++;
    }
}

size_t load_clients_take(struct load_clients *c, bool has_addresses, struct load_figures *figures)
{
    struct load_datagram *datagram = NULL;
    const size_t got = load_socket_take(c->socket, &datagram);
    const uint64_t now_ns = load_clock_ns();
    for (size_t i = 0; i < got; i++) {
        const struct load_datagram *d = &datagram[i];
        const uint32_t client = ntohl(d->local_ip) - ntohl(load_client_ip(0));
        struct load_mark mark;
        if (d->len > 0 && d->data[0] <= FIRST_BYTE_STUN) {
            take_answer(c, client);
        } else if (!load_packet_read(bytes_view_of(d->data, d->len), &mark) ||
                   (has_addresses && mark.client != client)) {
            figures->wrong++;
        } else {
            figures->down_received++;
            load_latency_add(&figures->latency, now_ns - mark.sent_ns);
        }
    }
    return got;
}
