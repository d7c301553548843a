/* dtls_transport_fuzz.c - a stranger's datagrams into an unfinished handshake, both roles
 *
 * Input: a byte (bit 0: we are active), then datagrams: length (2 bytes), milliseconds to wait
 * before it (1 byte), bytes. Nobody here has a key, so it must never connect; what it answers stays
 * bounded, and it ends within 30 s.
 */
#include "services/transceiver/core/transport/dtls_transport.h"

#include <assert.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX 65536

static size_t drain(struct dtls_transport *t)
{
    struct bytes_view out;
    struct dtls_event event;
    size_t answered = 0;
    while (dtls_transport_poll_datagram(t, &out)) {
        assert(out.len <= DTLS_MTU_BYTES);
        assert(out.data[0] != 21 || out.data[4] != 0); /* no plaintext alert */
        answered += out.len;
    }
    while (dtls_transport_poll_event(t, &event)) {
        assert(event.kind == DTLS_EVENT_FAILED);
    }
    assert(!dtls_transport_poll_data(t, &out));
    return answered;
}

static void tick(struct dtls_transport *t, uint64_t now_us)
{
    if (dtls_transport_next_timeout(t) <= now_us) {
        dtls_transport_tick(t, now_us);
        assert(dtls_transport_next_timeout(t) > now_us);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dtls_identity *identity;
    struct fault fault;
    if (identity == NULL) {
        identity = dtls_identity_create(&fault);
        assert(identity != NULL);
    }
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(data, size));
    const struct dtls_transport_config config = {
        .identity = identity,
        .role = (byte_reader_u8(&r) & 1) != 0 ? DTLS_ROLE_ACTIVE : DTLS_ROLE_PASSIVE,
        .fingerprint_count = 1,
        .mtu_bytes = DTLS_MTU_BYTES,
    };
    uint64_t now_us = 1;
    struct dtls_transport *t = dtls_transport_create(&config);
    assert(t != NULL);
    dtls_transport_start(t, 0, now_us);
    size_t answered = drain(t);
    while (byte_reader_left(&r) > 0) {
        const size_t len = byte_reader_u16(&r);
        now_us += byte_reader_u8(&r) * US_PER_MS;
        const size_t left = byte_reader_left(&r);
        const struct bytes_view datagram = byte_reader_bytes(&r, len < left ? len : left);
        tick(t, now_us);
        (void)dtls_transport_input(t, datagram, now_us);
        answered += drain(t);
    }
    assert(answered <= ANSWER_BYTES_MAX);
    now_us += DTLS_HANDSHAKE_TIMEOUT_US;
    tick(t, now_us);
    (void)drain(t);
    assert(dtls_transport_next_timeout(t) == TIME_NEVER);
    dtls_transport_destroy(t);
    return 0;
}
