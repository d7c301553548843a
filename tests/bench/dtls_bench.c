/* dtls_bench.c - whole DTLS handshakes, one side's cost at a time */
#include "services/transceiver/core/transport/dtls_transport.h"
#include "tests/bench/bench.h"

#include <assert.h>

#define COUNT       20
#define FLIGHTS_MAX 10
#define DATAGRAMS   16
#define NOW_US      US_PER_S

/* One end of a connection with what it wants sent. */
struct end {
    struct dtls_identity *identity;
    struct dtls_transport *transport;
    bool is_connected;
    size_t count;
    size_t len[DATAGRAMS];
    uint8_t data[DATAGRAMS][DTLS_DATAGRAM_BYTES_MAX];
};

struct pair {
    struct end measured;
    struct end peer;
    enum dtls_role role; /* of the measured end */
};

static void create_end(struct end *end, enum dtls_role role, const struct end *peer)
{
    struct dtls_transport_config config = {.identity = end->identity,
                                           .role = role,
                                           .fingerprint = {{.hash = DTLS_HASH_SHA256}},
                                           .fingerprint_count = 1,
                                           .mtu_bytes = DTLS_MTU_BYTES};
    memcpy(config.fingerprint[0].digest, dtls_identity_fingerprint(peer->identity),
           DTLS_IDENTITY_FINGERPRINT_BYTES);
    end->is_connected = false;
    end->count = 0;
    end->transport = dtls_transport_create(&config);
    assert(end->transport != NULL);
}

static void drain(struct end *end)
{
    struct bytes_view datagram;
    struct dtls_event event;
    while (dtls_transport_poll_datagram(end->transport, &datagram)) {
        assert(end->count < DATAGRAMS);
        memcpy(end->data[end->count], datagram.data, datagram.len);
        end->len[end->count++] = datagram.len;
    }
    while (dtls_transport_poll_event(end->transport, &event)) {
        assert(event.kind == DTLS_EVENT_CONNECTED);
        end->is_connected = true;
    }
}

static void start(struct end *end)
{
    dtls_transport_start(end->transport, 0, NOW_US);
    drain(end);
}

static void take_from(struct end *end, struct end *other)
{
    for (size_t i = 0; i < other->count; i++) {
        (void)dtls_transport_input(end->transport, bytes_view_of(other->data[i], other->len[i]),
                                   NOW_US);
        drain(end);
    }
    other->count = 0;
}

static void finish(struct end *end)
{
    assert(end->is_connected);
    dtls_transport_destroy(end->transport);
}

static void shake_hands(struct pair *p, enum dtls_role peer_role)
{
    create_end(&p->measured, p->role, &p->peer);
    bench_pause();
    create_end(&p->peer, peer_role, &p->measured);
    start(&p->peer);
    bench_resume();
    start(&p->measured);
    for (int i = 0; i < FLIGHTS_MAX && !(p->measured.is_connected && p->peer.is_connected); i++) {
        take_from(&p->measured, &p->peer);
        bench_pause();
        take_from(&p->peer, &p->measured);
        bench_resume();
    }
    finish(&p->measured);
    bench_pause();
    finish(&p->peer);
    bench_resume();
}

static void run(void *context, size_t count)
{
    struct pair *p = context;
    for (size_t i = 0; i < count; i++) {
        shake_hands(p, p->role == DTLS_ROLE_ACTIVE ? DTLS_ROLE_PASSIVE : DTLS_ROLE_ACTIVE);
    }
}

int main(int argc, char **argv)
{
    struct fault fault;
    struct dtls_identity *identity[2] = {dtls_identity_create(&fault),
                                         dtls_identity_create(&fault)};
    assert(identity[0] != NULL && identity[1] != NULL);
    static struct pair pair[2];
    for (size_t i = 0; i < COUNT_OF(pair); i++) {
        pair[i].role = i == 0 ? DTLS_ROLE_PASSIVE : DTLS_ROLE_ACTIVE;
        pair[i].measured.identity = identity[0];
        pair[i].peer.identity = identity[1];
    }
    const struct bench_case cases[] = {
        {.figure = "server",
         .run = run,
         .context = &pair[0],
         .count = COUNT,
         .unit = BENCH_PER_S,
         .goal = 1300},
        {.figure = "client", .run = run, .context = &pair[1], .count = COUNT, .unit = BENCH_PER_S},
    };
    const int status = bench_run("dtls", cases, COUNT_OF(cases), argc, argv);
    dtls_identity_destroy(identity[0]);
    dtls_identity_destroy(identity[1]);
    return status;
}
