/* dtls_transport.c - see dtls_transport.h */
#include "services/transceiver/core/transport/dtls_transport.h"

#include "services/transceiver/core/transport/dtls_handshake.h"
#include "services/transceiver/core/transport/dtls_keys.h"

#include <assert.h>
#include <openssl/err.h>
#include <stdlib.h>

#define ALERT_CLOSE_NOTIFY 0

/* Record header, explicit nonce, tag. */
#define RECORD_OVERHEAD_BYTES (13 + 8 + 16)

static_assert(DTLS_OUTGOING_BYTES_MAX == DTLS_BIO_OUTGOING_BYTES_MAX, "the outbox is the BIO's");

/* When the copies of our alert leave, after close. */
static const uint64_t closing_at_us[] = {0, 50 * US_PER_MS, 150 * US_PER_MS};

enum state {
    STATE_NEW,
    STATE_HANDSHAKE,
    STATE_CONNECTED,
    STATE_CLOSING, /* alerts are being sent; TLS is gone */
    STATE_ENDED
};

struct dtls_transport {
    enum state state;
    struct dtls_fingerprint fingerprint[DTLS_FINGERPRINTS_MAX];
    size_t fingerprint_count;
    struct dtls_bio bio;
    struct dtls_handshake handshake;
    SSL *ssl;                                  /* of the finished handshake */
    uint64_t next_sequence_number;             /* above the newest authentic datagram's */
    uint8_t incoming[DTLS_DATAGRAM_BYTES_MAX]; /* what came behind the peer's Finished */
    uint8_t data[DTLS_DATAGRAM_BYTES_MAX];     /* one decrypted record */
    size_t data_len;

    struct dtls_alert_key alert_key;
    uint64_t closing_since_us;
    uint64_t next_alert_us;
    size_t alerts_sent;

    bool has_connected_event;
    bool has_last_event;
    struct dtls_event connected_event;
    struct dtls_event last_event;
};

struct dtls_transport *dtls_transport_create(const struct dtls_transport_config *config)
{
    assert(config->fingerprint_count >= 1);
    assert(config->fingerprint_count <= DTLS_FINGERPRINTS_MAX);
    assert(config->mtu_bytes <= DTLS_MTU_BYTES);
    struct dtls_transport *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    memcpy(t->fingerprint, config->fingerprint, sizeof(t->fingerprint));
    t->fingerprint_count = config->fingerprint_count;
    t->bio.mtu_bytes = config->mtu_bytes;
    t->next_alert_us = TIME_NEVER;
    dtls_handshake_init(&t->handshake, dtls_identity_context(config->identity), &t->bio,
                        config->role);
    return t;
}

void dtls_transport_destroy(struct dtls_transport *t)
{
    if (t == NULL) {
        return;
    }
    SSL_free(t->ssl);
    dtls_handshake_clear(&t->handshake);
    OPENSSL_cleanse(t, sizeof(*t));
    free(t);
}

/* Nothing goes in or out any more, but what waits in the outbox. */
static void end(struct dtls_transport *t)
{
    t->state = STATE_ENDED;
    t->next_alert_us = TIME_NEVER;
    t->bio.incoming = (struct bytes_view){NULL, 0};
    SSL_free(t->ssl);
    t->ssl = NULL;
    dtls_handshake_clear(&t->handshake);
    OPENSSL_cleanse(&t->alert_key, sizeof(t->alert_key));
}

static void end_with(struct dtls_transport *t, struct dtls_event event)
{
    end(t);
    dtls_bio_clear(&t->bio);
    t->last_event = event;
    t->has_last_event = true;
}

static void fail(struct dtls_transport *t, enum dtls_failure failure)
{
    const uint8_t alert = failure == DTLS_FAILURE_ALERT ? t->handshake.alert : 0;
    end_with(t, (struct dtls_event){.kind = DTLS_EVENT_FAILED, .failure = failure, .alert = alert});
}

static void closed_by_peer(struct dtls_transport *t, uint8_t alert)
{
    end_with(t, (struct dtls_event){.kind = DTLS_EVENT_CLOSED, .alert = alert});
}

/* The handshake is done with somebody: keys only if it is the one whose SDP we have. */
static void finish_handshake(struct dtls_transport *t)
{
    t->ssl = dtls_handshake_take(&t->handshake);
    dtls_handshake_clear(&t->handshake);
    switch (dtls_fingerprint_check(SSL_get0_peer_certificate(t->ssl), t->fingerprint,
                                   t->fingerprint_count)) {
    case DTLS_FINGERPRINT_MATCHES:
        break;
    case DTLS_FINGERPRINT_DIFFERS:
        fail(t, DTLS_FAILURE_FINGERPRINT);
        return;
    case DTLS_FINGERPRINT_UNSUITABLE:
        fail(t, DTLS_FAILURE_CERTIFICATE);
        return;
    }
    if (!dtls_keys_export_srtp(t->ssl, &t->connected_event.srtp)) {
        fail(t, DTLS_FAILURE_PROTOCOL);
        return;
    }
    t->state = STATE_CONNECTED;
    t->connected_event.kind = DTLS_EVENT_CONNECTED;
    t->has_connected_event = true;
}

static void follow(struct dtls_transport *t, enum dtls_handshake_status status)
{
    switch (status) {
    case DTLS_HANDSHAKE_RUNS:
        break;
    case DTLS_HANDSHAKE_DONE:
        finish_handshake(t);
        break;
    case DTLS_HANDSHAKE_FAILED:
        fail(t, t->handshake.failure);
        break;
    }
}

void dtls_transport_start(struct dtls_transport *t, uint64_t round_trip_us, uint64_t now_us)
{
    assert(t->state == STATE_NEW);
    t->state = STATE_HANDSHAKE;
    follow(t, dtls_handshake_start(&t->handshake, round_trip_us, now_us));
}

/* One decrypted record into t->data, which is empty. False when there is none. */
static bool pull_data(struct dtls_transport *t)
{
    ERR_clear_error();
    const int len = SSL_read(t->ssl, t->data, sizeof(t->data));
    if (len > 0) {
        t->data_len = (size_t)len;
        return true;
    }
    switch (SSL_get_error(t->ssl, len)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return false;
    case SSL_ERROR_ZERO_RETURN:
        closed_by_peer(t, ALERT_CLOSE_NOTIFY);
        return false;
    default:
        break;
    }
    const int reason = ERR_GET_REASON(ERR_peek_error());
    if (reason >= SSL_AD_REASON_OFFSET && reason <= SSL_AD_REASON_OFFSET + UINT8_MAX) {
        closed_by_peer(t, (uint8_t)(reason - SSL_AD_REASON_OFFSET));
    } else {
        fail(t, DTLS_FAILURE_PROTOCOL);
    }
    return false;
}

/* Called for an authentic datagram: its oldest encrypted record says how new it is. */
static enum dtls_input_result note_authentic(struct dtls_transport *t, struct bytes_view datagram)
{
    struct byte_reader r;
    struct dtls_record record;
    uint64_t lowest = UINT64_MAX;
    byte_reader_init(&r, datagram);
    while (dtls_record_read(&r, &record)) {
        if (record.epoch != 0 && record.sequence_number < lowest) {
            lowest = record.sequence_number;
        }
    }
    if (lowest == UINT64_MAX || lowest < t->next_sequence_number) {
        return DTLS_INPUT_AUTHENTIC;
    }
    t->next_sequence_number = lowest + 1;
    return DTLS_INPUT_AUTHENTIC_NEWEST;
}

static enum dtls_input_result input_handshake(struct dtls_transport *t, struct bytes_view datagram,
                                              uint64_t now_us)
{
    enum dtls_input_result result = DTLS_INPUT_FILTERED;
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, datagram);
    while (t->state == STATE_HANDSHAKE && dtls_record_read(&r, &record)) {
        bool was_passed = false;
        follow(t, dtls_handshake_input(&t->handshake, &record, &was_passed, now_us));
        result = was_passed ? DTLS_INPUT_TAKEN : result;
    }
    if (t->state == STATE_CONNECTED) {
        /* What the peer sent behind its Finished may have to wait for what came before it. */
        const struct bytes_view rest = byte_reader_bytes(&r, byte_reader_left(&r));
        result = note_authentic(t, datagram);
        if (rest.len > 0) {
            memcpy(t->incoming, rest.data, rest.len);
            t->bio.incoming = bytes_view_of(t->incoming, rest.len);
        }
        (void)pull_data(t);
    }
    return result;
}

static enum dtls_input_result input_connected(struct dtls_transport *t, struct bytes_view datagram)
{
    t->data_len = 0;
    while (t->state == STATE_CONNECTED && pull_data(t)) {
        /* Nobody took it. */
    }
    if (t->state != STATE_CONNECTED) {
        return DTLS_INPUT_ENDED;
    }
    t->data_len = 0;
    t->bio.incoming = datagram; /* OpenSSL has nothing left to read, so it takes it at once */
    const bool is_authentic = pull_data(t) || t->state != STATE_CONNECTED;
    t->bio.incoming = (struct bytes_view){NULL, 0};
    return is_authentic ? note_authentic(t, datagram) : DTLS_INPUT_TAKEN;
}

enum dtls_input_result dtls_transport_input(struct dtls_transport *t, struct bytes_view datagram,
                                            uint64_t now_us)
{
    assert(t->state != STATE_NEW);
    if (datagram.len > DTLS_DATAGRAM_BYTES_MAX) {
        return DTLS_INPUT_TOO_LONG;
    }
    switch (t->state) {
    case STATE_HANDSHAKE:
        return input_handshake(t, datagram, now_us);
    case STATE_CONNECTED:
        return input_connected(t, datagram);
    default:
        return DTLS_INPUT_ENDED;
    }
}

static void send_alert(struct dtls_transport *t)
{
    uint8_t record[DTLS_ALERT_RECORD_BYTES];
    t->bio.sent_sequence_number++;
    if (dtls_alert_seal(&t->alert_key, t->bio.sent_epoch, t->bio.sent_sequence_number, record)) {
        dtls_bio_send(&t->bio, bytes_view_of(record, sizeof(record)));
    }
    t->alerts_sent++;
    if (t->alerts_sent == COUNT_OF(closing_at_us)) {
        end(t);
        return;
    }
    t->next_alert_us = t->closing_since_us + closing_at_us[t->alerts_sent];
}

void dtls_transport_tick(struct dtls_transport *t, uint64_t now_us)
{
    if (t->state == STATE_HANDSHAKE) {
        follow(t, dtls_handshake_tick(&t->handshake, now_us));
    }
    while (now_us >= t->next_alert_us) {
        send_alert(t);
    }
}

uint64_t dtls_transport_next_timeout(const struct dtls_transport *t)
{
    return time_earlier(dtls_handshake_next_timeout(&t->handshake), t->next_alert_us);
}

bool dtls_transport_send(struct dtls_transport *t, struct bytes_view packet)
{
    const size_t datagram_bytes = packet.len + RECORD_OVERHEAD_BYTES;
    assert(packet.len > 0);
    assert(datagram_bytes <= t->bio.mtu_bytes);
    if (t->state != STATE_CONNECTED || !dtls_bio_has_room(&t->bio, datagram_bytes)) {
        return false;
    }
    ERR_clear_error();
    return SSL_write(t->ssl, packet.data, (int)packet.len) == (int)packet.len;
}

void dtls_transport_close(struct dtls_transport *t, uint64_t now_us)
{
    struct dtls_alert_key key;
    if (t->state == STATE_CLOSING) {
        return;
    }
    const bool can_tell = t->state == STATE_CONNECTED && dtls_keys_derive_alert(t->ssl, &key);
    end(t);
    if (can_tell) {
        t->state = STATE_CLOSING;
        t->alert_key = key;
        t->closing_since_us = now_us;
        OPENSSL_cleanse(&key, sizeof(key));
        send_alert(t);
    }
}

bool dtls_transport_poll_datagram(struct dtls_transport *t, struct bytes_view *out)
{
    return dtls_bio_poll(&t->bio, out);
}

bool dtls_transport_poll_data(struct dtls_transport *t, struct bytes_view *out)
{
    if (t->data_len == 0 && (t->state != STATE_CONNECTED || !pull_data(t))) {
        return false;
    }
    *out = bytes_view_of(t->data, t->data_len);
    t->data_len = 0;
    return true;
}

bool dtls_transport_poll_event(struct dtls_transport *t, struct dtls_event *out)
{
    if (t->has_connected_event) {
        *out = t->connected_event;
        OPENSSL_cleanse(&t->connected_event, sizeof(t->connected_event));
        t->has_connected_event = false;
        return true;
    }
    if (t->has_last_event) {
        *out = t->last_event;
        t->has_last_event = false;
        return true;
    }
    return false;
}

uint64_t dtls_transport_dropped(const struct dtls_transport *t)
{
    return t->bio.dropped;
}
