/* worker_downlink.c - see worker_downlink.h */
#include "services/relay/worker_downlink.h"

#include "common/runtime/clock.h"

#include <stdlib.h>

/* One batch in so many shows how long a datagram was inside. */
#define RESIDENCE_SAMPLING 16
/* No more than the cache holds until they are used. */
#define PREFETCH_BATCH 64

bool worker_downlink_open(struct worker_downlink *d, const struct worker_sockets *sockets,
                          struct forwarder *forwarder, struct worker_cache *cache,
                          struct relay_counters *counters)
{
    *d = (struct worker_downlink){
        .forwarder = forwarder,
        .counters = counters,
        .cache = cache,
        .receiver =
            udp_receiver_create(sockets->has_no_trains ? UDP_RECEIVER_SLOTS : UDP_RECEIVER_TRAINS),
        .out = calloc(sockets->public_count, sizeof(*d->out))};
    if (d->receiver == NULL || d->out == NULL) {
        return false;
    }
    for (; d->public_count < sockets->public_count; d->public_count++) {
        struct udp_sender *sender = udp_sender_create(sockets->socket[d->public_count].fd, false);
        if (sender == NULL) {
            return false;
        }
        d->out[d->public_count].sender = sender;
    }
    return true;
}

void worker_downlink_close(struct worker_downlink *d)
{
    for (size_t i = 0; i < d->public_count; i++) {
        udp_sender_destroy(d->out[i].sender);
    }
    free(d->out);
    udp_receiver_destroy(d->receiver);
    *d = (struct worker_downlink){0};
}

void worker_downlink_teach(struct worker_downlink *d, const struct worker_inbox *peer,
                           uint64_t now_us)
{
    assert(d->peer_count < COUNT_OF(d->peer));
    d->peer[d->peer_count++] = peer;
    d->teaches_until_us = now_us + RELAY_LESSON_TIME_US;
}

/* Where this client's datagrams arrive is not known yet: it may be any worker. */
static void teach_peers(struct worker_downlink *d, const struct verdict *v,
                        const struct net_addr *from)
{
    const struct inbox_message message = {.kind = INBOX_LESSON,
                                          .body.lesson = forwarder_lesson_of(v, from)};
    for (size_t i = 0; i < d->peer_count; i++) {
        if (!worker_inbox_post(d->peer[i], &message)) {
            metric_add(&d->counters->lessons_lost, 1);
        }
    }
}

static void take(struct worker_downlink *d, const struct udp_arrival *arrival, uint64_t now_us)
{
    const struct verdict v = forwarder_from_transceiver(
        d->forwarder, bytes_view_of(arrival->data, arrival->len), &arrival->from, now_us);
    if (v.is_news && now_us < d->teaches_until_us) {
        teach_peers(d, &v, &arrival->from);
    }
    if (v.is_cache_due) {
        worker_cache_store(d->cache, &v, now_us);
    }
    if (v.action != FORWARD_TO_CLIENT) {
        relay_counters_add(d->counters, v.reason);
        return;
    }
    struct client_packets *out = &d->out[v.socket];
    uint8_t *datagram = arrival->data + RELAY_SHIM_BYTES;
    out->packet[out->count++] = (struct udp_packet){
        .bytes = {datagram, v.datagram.len, v.datagram.len}, .to = v.destination, .tag = v.reason};
}

/* The look-ups wait for memory together and not one after the other. */
static void take_some(struct worker_downlink *d, const struct udp_arrival *arrival, size_t count,
                      uint64_t now_us)
{
    for (size_t i = 0; i < count; i++) {
        struct net_addr client;
        if (relay_shim_peek_client(bytes_view_of(arrival[i].data, arrival[i].len), &client)) {
            forwarder_prefetch(d->forwarder, &client);
        }
    }
    for (size_t i = 0; i < count; i++) {
        take(d, &arrival[i], now_us);
    }
}

static void flush(struct worker_downlink *d)
{
    for (size_t i = 0; i < d->public_count; i++) {
        struct client_packets *out = &d->out[i];
        if (out->count > 0) {
            udp_sender_flush(out->sender, out->packet, out->count);
            relay_counters_add_sent(d->counters, RELAY_DOWN, out->packet, out->count, 0);
            out->count = 0;
        }
    }
}

bool worker_downlink_serve(struct worker_downlink *d, struct worker_socket *s)
{
    const struct udp_arrivals arrivals = udp_receiver_take(d->receiver, s->fd);
    if (arrivals.count == 0) {
        return arrivals.is_full;
    }
    const uint64_t now_us = clock_now_us();
    relay_counters_add_kernel_drops(d->counters, RELAY_DOWN, arrivals.dropped_total,
                                    &s->dropped_seen);
    /* Nobody of ours sends trains that long. */
    metric_add(&d->counters->datagrams[FORWARD_DOWN_LENGTH], arrivals.left_out);
    for (size_t i = 0; i < arrivals.count; i += PREFETCH_BATCH) {
        const size_t left = arrivals.count - i;
        take_some(d, &arrivals.datagram[i], left < PREFETCH_BATCH ? left : PREFETCH_BATCH, now_us);
    }
    flush(d);
    if (d->batch_number++ % RESIDENCE_SAMPLING == 0) {
        relay_counters_note_residence(d->counters, RELAY_DOWN, arrivals.first_unix_us);
    }
    return arrivals.is_full;
}
