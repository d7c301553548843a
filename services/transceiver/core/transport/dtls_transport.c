/* dtls_transport.c - see dtls_transport.h */
#include "services/transceiver/core/transport/dtls_transport.h"

#include "services/transceiver/core/transport/dtls_farewell.h"
#include "services/transceiver/core/transport/dtls_handshake.h"
#include "services/transceiver/core/transport/dtls_keys.h"

#include <assert.h>
#include <openssl/err.h>
#include <stdlib.h>

#define ALERT_CLOSE_NOTIFY 0

/* Record header, explicit nonce, tag. */
#define RECORD_OVERHEAD_BYTES (13 + 8 + 16)

static_assert(DTLS_OUTGOING_BYTES_MAX == DTLS_BIO_OUTGOING_BYTES_MAX, "the outbox is the BIO's");

enum state {
    STATE_NEW,
    STATE_HANDSHAKE,
    STATE_CONNECTED,
    STATE_RELEASED, /* connected, without TLS: only the end is still to be heard or said */
    STATE_CLOSING,  /* alerts are being sent; TLS is gone */
    STATE_ENDED
};

/* What TLS needs, freed when it is released. */
struct tls {
    struct dtls_bio bio;
    struct dtls_handshake handshake;
    SSL *ssl;                                  /* of the finished handshake */
    uint8_t incoming[DTLS_DATAGRAM_BYTES_MAX]; /* what came behind the peer's Finished */
    uint8_t data[DTLS_DATAGRAM_BYTES_MAX];     /* one decrypted record */
    size_t data_len;
};

struct dtls_transport {
    enum state state;
    struct dtls_fingerprint fingerprint[DTLS_FINGERPRINTS_MAX];
    size_t fingerprint_count;
    struct tls *tls;               /* NULL when RELEASED, and after */
    uint64_t next_sequence_number; /* above the newest authentic datagram's */
    uint64_t seen_end;             /* above every record of authentic datagrams */
    struct dtls_farewell farewell; /* RELEASED, CLOSING */
    uint8_t alert[DTLS_ALERT_RECORD_BYTES];
    bool has_alert; /* to be sent */

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
    t->tls = calloc(1, sizeof(*t->tls));
    if (t->tls == NULL) {
        free(t);
        return NULL;
    }
    memcpy(t->fingerprint, config->fingerprint, sizeof(t->fingerprint));
    t->fingerprint_count = config->fingerprint_count;
    t->tls->bio.mtu_bytes = config->mtu_bytes;
    t->farewell.next_alert_us = TIME_NEVER;
    dtls_handshake_init(&t->tls->handshake, dtls_identity_context(config->identity), &t->tls->bio,
                        config->role);
    return t;
}

static void tls_destroy(struct tls *tls)
{
    if (tls != NULL) {
        SSL_free(tls->ssl);
        dtls_handshake_clear(&tls->handshake);
        OPENSSL_cleanse(tls, sizeof(*tls));
        free(tls);
    }
}

void dtls_transport_destroy(struct dtls_transport *t)
{
    if (t == NULL) {
        return;
    }
    tls_destroy(t->tls);
    OPENSSL_cleanse(t, sizeof(*t));
    free(t);
}

/* Nothing goes in or out any more, but what waits in the outbox. */
static void end(struct dtls_transport *t)
{
    t->state = STATE_ENDED;
    if (t->tls != NULL) {
        t->tls->bio.incoming = (struct bytes_view){NULL, 0};
        SSL_free(t->tls->ssl);
        t->tls->ssl = NULL;
        dtls_handshake_clear(&t->tls->handshake);
    }
    dtls_farewell_wipe(&t->farewell);
}

static void end_with(struct dtls_transport *t, struct dtls_event event)
{
    end(t);
    if (t->tls != NULL) {
        dtls_bio_clear(&t->tls->bio);
    }
    t->last_event = event;
    t->has_last_event = true;
}

static void fail(struct dtls_transport *t, enum dtls_failure failure)
{
    const uint8_t alert = failure == DTLS_FAILURE_ALERT ? t->tls->handshake.alert : 0;
    end_with(t, (struct dtls_event){.kind = DTLS_EVENT_FAILED, .failure = failure, .alert = alert});
}

static void closed_by_peer(struct dtls_transport *t, uint8_t alert)
{
    end_with(t, (struct dtls_event){.kind = DTLS_EVENT_CLOSED, .alert = alert});
}

/* The handshake is done with somebody: keys only if it is the one whose SDP we have. */
static void finish_handshake(struct dtls_transport *t)
{
    t->tls->ssl = dtls_handshake_take(&t->tls->handshake);
    dtls_handshake_clear(&t->tls->handshake);
    switch (dtls_fingerprint_check(SSL_get0_peer_certificate(t->tls->ssl), t->fingerprint,
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
    if (!dtls_keys_export_srtp(t->tls->ssl, &t->connected_event.srtp)) {
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
        fail(t, t->tls->handshake.failure);
        break;
    }
}

void dtls_transport_start(struct dtls_transport *t, uint64_t round_trip_us, uint64_t now_us)
{
    assert(t->state == STATE_NEW);
    t->state = STATE_HANDSHAKE;
    follow(t, dtls_handshake_start(&t->tls->handshake, round_trip_us, now_us));
}

/* One decrypted record into t->tls->data, which is empty. False when there is none. */
static bool pull_data(struct dtls_transport *t)
{
    ERR_clear_error();
    const int len = SSL_read(t->tls->ssl, t->tls->data, sizeof(t->tls->data));
    if (len > 0) {
        t->tls->data_len = (size_t)len;
        return true;
    }
    switch (SSL_get_error(t->tls->ssl, len)) {
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
        if (record.epoch != 0) {
            lowest = record.sequence_number < lowest ? record.sequence_number : lowest;
            t->seen_end =
                record.sequence_number >= t->seen_end ? record.sequence_number + 1 : t->seen_end;
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
        follow(t, dtls_handshake_input(&t->tls->handshake, &record, &was_passed, now_us));
        result = was_passed ? DTLS_INPUT_TAKEN : result;
    }
    if (t->state == STATE_CONNECTED) {
        /* What the peer sent behind its Finished may have to wait for what came before it. */
        const struct bytes_view rest = byte_reader_bytes(&r, byte_reader_left(&r));
        result = note_authentic(t, datagram);
        assert(t->tls != NULL); /* let go no sooner than SRTP comes */
        if (rest.len > 0) {
            memcpy(t->tls->incoming, rest.data, rest.len);
            t->tls->bio.incoming = bytes_view_of(t->tls->incoming, rest.len);
        }
        (void)pull_data(t);
    }
    return result;
}

static enum dtls_input_result input_connected(struct dtls_transport *t, struct bytes_view datagram)
{
    t->tls->data_len = 0;
    while (t->state == STATE_CONNECTED && pull_data(t)) {
        /* Nobody took it. */
    }
    if (t->state != STATE_CONNECTED) {
        return DTLS_INPUT_ENDED;
    }
    t->tls->data_len = 0;
    t->tls->bio.incoming = datagram; /* OpenSSL has nothing left to read, so it takes it at once */
    const bool is_authentic = pull_data(t) || t->state != STATE_CONNECTED;
    t->tls->bio.incoming = (struct bytes_view){NULL, 0};
    return is_authentic ? note_authentic(t, datagram) : DTLS_INPUT_TAKEN;
}

static enum dtls_input_result input_released(struct dtls_transport *t, struct bytes_view datagram)
{
    uint8_t alert = 0;
    switch (dtls_farewell_input(&t->farewell, datagram, &alert)) {
    case DTLS_FAREWELL_AUTHENTIC:
        return DTLS_INPUT_AUTHENTIC_NEWEST;
    case DTLS_FAREWELL_CLOSED:
        closed_by_peer(t, alert);
        return DTLS_INPUT_AUTHENTIC_NEWEST;
    case DTLS_FAREWELL_REFUSED:
        break;
    }
    return DTLS_INPUT_TAKEN;
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
    case STATE_RELEASED:
        return input_released(t, datagram);
    default:
        return DTLS_INPUT_ENDED;
    }
}

static void send_alerts(struct dtls_transport *t, uint64_t now_us)
{
    while (dtls_farewell_poll_alert(&t->farewell, t->alert, now_us)) {
        t->has_alert = true;
    }
    if (dtls_farewell_next_timeout(&t->farewell) == TIME_NEVER) {
        end(t);
    }
}

void dtls_transport_tick(struct dtls_transport *t, uint64_t now_us)
{
    if (t->state == STATE_HANDSHAKE) {
        follow(t, dtls_handshake_tick(&t->tls->handshake, now_us));
    }
    if (t->state == STATE_CLOSING) {
        send_alerts(t, now_us);
    }
}

uint64_t dtls_transport_next_timeout(const struct dtls_transport *t)
{
    const uint64_t farewell_us = dtls_farewell_next_timeout(&t->farewell);
    return t->tls == NULL
               ? farewell_us
               : time_earlier(dtls_handshake_next_timeout(&t->tls->handshake), farewell_us);
}

bool dtls_transport_send(struct dtls_transport *t, struct bytes_view packet)
{
    const size_t datagram_bytes = packet.len + RECORD_OVERHEAD_BYTES;
    assert(packet.len > 0);
    assert(datagram_bytes <= DTLS_MTU_BYTES);
    if (t->state != STATE_CONNECTED || !dtls_bio_has_room(&t->tls->bio, datagram_bytes)) {
        return false;
    }
    ERR_clear_error();
    return SSL_write(t->tls->ssl, packet.data, (int)packet.len) == (int)packet.len;
}

/* Into t->farewell; false: not connected, or OpenSSL refused. */
static bool prepare_farewell(struct dtls_transport *t)
{
    if (t->state == STATE_RELEASED) {
        return true;
    }
    if (t->state != STATE_CONNECTED ||
        !dtls_keys_derive_alert(t->tls->ssl, &t->farewell.ours, &t->farewell.theirs)) {
        return false;
    }
    t->farewell.sent_epoch = t->tls->bio.sent_epoch;
    t->farewell.sent_sequence_number = t->tls->bio.sent_sequence_number;
    t->farewell.next_sequence_number = t->seen_end;
    return true;
}

void dtls_transport_release(struct dtls_transport *t)
{
    if (t->state == STATE_CONNECTED && prepare_farewell(t)) {
        t->state = STATE_RELEASED;
        tls_destroy(t->tls);
        t->tls = NULL;
    }
}

void dtls_transport_close(struct dtls_transport *t, uint64_t now_us)
{
    if (t->state == STATE_CLOSING) {
        return;
    }
    const bool can_tell = prepare_farewell(t);
    struct dtls_farewell farewell = t->farewell;
    end(t);
    if (can_tell) {
        t->state = STATE_CLOSING;
        t->farewell = farewell;
        dtls_farewell_close(&t->farewell, now_us);
        send_alerts(t, now_us);
    }
    OPENSSL_cleanse(&farewell, sizeof(farewell));
}

bool dtls_transport_poll_datagram(struct dtls_transport *t, struct bytes_view *out)
{
    if (t->tls != NULL && dtls_bio_poll(&t->tls->bio, out)) {
        return true;
    }
    if (t->has_alert) {
        *out = bytes_view_of(t->alert, sizeof(t->alert));
        t->has_alert = false;
        return true;
    }
    return false;
}

bool dtls_transport_poll_data(struct dtls_transport *t, struct bytes_view *out)
{
    if (t->tls == NULL ||
        (t->tls->data_len == 0 && (t->state != STATE_CONNECTED || !pull_data(t)))) {
        return false;
    }
    *out = bytes_view_of(t->tls->data, t->tls->data_len);
    t->tls->data_len = 0;
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
    return t->tls == NULL ? 0 : t->tls->bio.dropped;
}
