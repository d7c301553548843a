/* worker_uplink.c - see worker_uplink.h */
#include "services/relay/worker_uplink.h"

#include "common/runtime/clock.h"

/* One batch in so many shows how long a datagram was inside. */
#define RESIDENCE_SAMPLING 16

static_assert(UDP_HEADROOM >= RELAY_SHIM_BYTES, "a shim fits before each datagram");
static_assert(UDP_SLOT_BYTES > FORWARDER_DATAGRAM_BYTES_MAX,
              "a datagram that was cut is longer than any that is forwarded");

bool worker_uplink_open(struct worker_uplink *u, const struct worker_sockets *sockets,
                        struct forwarder *forwarder, struct worker_cache *cache,
                        struct relay_counters *counters)
{
    *u = (struct worker_uplink){
        .forwarder = forwarder,
        .counters = counters,
        .cache = cache,
        .receiver = udp_receiver_create(UDP_RECEIVER_SLOTS),
        .sender =
            udp_sender_create(worker_sockets_first_internal(sockets)->fd, !sockets->has_no_trains)};
    return u->receiver != NULL && u->sender != NULL;
}

void worker_uplink_close(struct worker_uplink *u)
{
    udp_receiver_destroy(u->receiver);
    udp_sender_destroy(u->sender);
    u->receiver = NULL;
    u->sender = NULL;
}

/* The batch's last packet. */
static void note_disputed(struct worker_uplink *u, const struct verdict *v,
                          const struct net_addr *client, uint64_t now_us)
{
    struct uplink_disputed *d = &u->disputed[u->disputed_count];
    d->packet = u->packet_count - 1;
    d->client = *client;
    d->copies = forwarder_to_rivals(u->forwarder, v, client, d->copy, now_us);
    u->disputed_count += d->copies > 0;
}

/* is_held: it has been in the hold queue, once is enough. */
static void take(struct worker_uplink *u, const struct udp_arrival *arrival, uint8_t public_index,
                 bool is_held, uint64_t now_us)
{
    const struct verdict v =
        forwarder_from_client(u->forwarder, bytes_view_of(arrival->data, arrival->len),
                              &arrival->from, public_index, now_us);
    if (v.action == FORWARD_HOLD && !is_held &&
        worker_cache_hold(u->cache, arrival, public_index, now_us)) {
        return;
    }
    if (v.action != FORWARD_TO_TRANSCEIVER) {
        relay_counters_add(u->counters, v.reason);
        return;
    }
    uint8_t *shim = arrival->data - RELAY_SHIM_BYTES;
    const size_t room = is_held ? HOLD_DATAGRAM_BYTES_MAX : UDP_SLOT_BYTES;
    forwarder_write_shim(u->forwarder, &v, &arrival->from, shim);
    u->packet[u->packet_count++] = (struct udp_packet){
        .bytes = {shim, RELAY_SHIM_BYTES + arrival->len, RELAY_SHIM_BYTES + room},
        .to = v.destination,
        .tag = v.reason};
    metric_set(&u->counters->client_heard_us, now_us);
    if (v.is_disputed) {
        note_disputed(u, &v, &arrival->from, now_us);
    }
}

/* Each disputed datagram once more, where it lies, behind the shim of its next rival. A copy is no
 * datagram of a client: it is counted apart. */
static void send_copies(struct worker_uplink *u, size_t number)
{
    struct udp_packet packet[UDP_SLOTS];
    size_t count = 0;
    size_t wanted = 0;
    size_t sent = 0;
    for (size_t i = 0; i < u->disputed_count; i++) {
        const struct uplink_disputed *d = &u->disputed[i];
        if (number >= d->copies) {
            continue;
        }
        wanted++;
        if (d->copy[number].action == FORWARD_TO_TRANSCEIVER) {
            packet[count] = u->packet[d->packet];
            packet[count].to = d->copy[number].destination;
            forwarder_write_shim(u->forwarder, &d->copy[number], &d->client,
                                 packet[count].bytes.data);
            count++;
        }
    }
    udp_sender_flush(u->sender, packet, count);
    for (size_t i = 0; i < count; i++) {
        sent += packet[i].is_sent;
    }
    metric_add(&u->counters->disputed, sent);
    metric_add(&u->counters->disputed_unsent, wanted - sent);
}

void worker_uplink_flush(struct worker_uplink *u)
{
    if (u->packet_count > 0) {
        udp_sender_flush(u->sender, u->packet, u->packet_count);
        relay_counters_add_sent(u->counters, RELAY_UP, u->packet, u->packet_count,
                                RELAY_SHIM_BYTES);
        u->packet_count = 0;
    }
    for (size_t number = 0; number < FORWARDER_RIVALS_MAX && u->disputed_count > 0; number++) {
        send_copies(u, number);
    }
    u->disputed_count = 0;
}

void worker_uplink_take_held(struct worker_uplink *u, const struct held_batch *held,
                             uint64_t now_us)
{
    if (u->packet_count > COUNT_OF(u->packet) - HOLD_PER_CLIENT) {
        worker_uplink_flush(u);
    }
    for (size_t i = 0; i < held->count; i++) {
        const struct held_datagram *datagram = &held->datagram[i];
        const struct udp_arrival arrival = {
            .data = datagram->data, .len = datagram->len, .from = held->client};
        take(u, &arrival, datagram->socket, true, now_us);
    }
}

bool worker_uplink_serve(struct worker_uplink *u, struct worker_socket *s)
{
    const struct udp_arrivals arrivals = udp_receiver_take(u->receiver, s->fd);
    if (arrivals.count == 0) {
        return arrivals.is_full;
    }
    const uint64_t now_us = clock_now_us();
    relay_counters_add_kernel_drops(u->counters, RELAY_UP, arrivals.dropped_total,
                                    &s->dropped_seen);
    for (size_t i = 0; i < arrivals.count; i++) {
        forwarder_prefetch(u->forwarder, &arrivals.datagram[i].from);
    }
    for (size_t i = 0; i < arrivals.count; i++) {
        take(u, &arrivals.datagram[i], s->public_index, false, now_us);
    }
    worker_uplink_flush(u);
    if (u->batch_number++ % RESIDENCE_SAMPLING == 0) {
        relay_counters_note_residence(u->counters, RELAY_UP, arrivals.first_unix_us);
    }
    return arrivals.is_full;
}
