/* dtls_transport.c - see dtls_transport.h */
#include "services/transceiver/core/transport/dtls_transport.h"

#include "services/transceiver/core/transport/dtls_bio.h"
#include "services/transceiver/core/transport/dtls_filter.h"
#include "services/transceiver/core/transport/dtls_keys.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/time.h>

/* Twice the round trip, within these. RFC 6347 s.4.2.4.1 has 1 s, doubled up to 60 s: far too long
 * for someone who waits for a voice. */
#define RETRANSMIT_MIN_US     (100 * US_PER_MS)
#define RETRANSMIT_MAX_US     (3 * US_PER_S)
#define ROUND_TRIP_UNKNOWN_US (100 * US_PER_MS)

#define ALERT_PATIENCE_US  (3 * US_PER_S)
#define TIMER_STEP_US      US_PER_MS
#define ALERT_FATAL        2
#define ALERT_CLOSE_NOTIFY 0

/* Record header, explicit nonce, tag. */
#define RECORD_OVERHEAD_BYTES (13 + 8 + 16)

static_assert(DTLS_OUTGOING_BYTES_MAX == DTLS_BIO_OUTGOING_BYTES_MAX, "the outbox is the BIO's");

static const uint64_t closing_at_us[] = {0, 50 * US_PER_MS, 150 * US_PER_MS};

enum state {
    STATE_NEW,
    STATE_HANDSHAKE,
    STATE_CONNECTED,
    STATE_CLOSING, /* alerts are being sent; TLS is gone */
    STATE_ENDED
};

enum timer {
    TIMER_HANDSHAKE,  /* DTLS_HANDSHAKE_TIMEOUT_US */
    TIMER_RETRANSMIT, /* OpenSSL's */
    TIMER_HELD_ALERT, /* no progress since a plaintext alert */
    TIMER_CLOSING,    /* the next copy of our alert */
    TIMER_COUNT
};

struct dtls_transport {
    SSL_CTX *context;
    SSL *ssl;
    enum dtls_role role;
    struct dtls_fingerprint fingerprint[DTLS_FINGERPRINTS_MAX];
    size_t fingerprint_count;

    enum state state;
    uint64_t deadline_us[TIMER_COUNT];
    uint64_t first_timeout_us; /* of a flight */
    OSSL_HANDSHAKE_STATE handshake_state;
    unsigned remakes;
    size_t handshake_bytes;        /* of plaintext handshake records that passed */
    uint64_t next_sequence_number; /* above the newest authentic datagram's */

    struct dtls_filter filter;
    uint8_t held_alert; /* its description, while TIMER_HELD_ALERT runs */
    uint8_t held_hello_verify[DTLS_FILTER_HELLO_VERIFY_BYTES];
    size_t held_hello_verify_len;

    struct dtls_bio bio;
    uint8_t incoming[DTLS_DATAGRAM_BYTES_MAX]; /* what came behind the peer's Finished */
    uint8_t data[DTLS_DATAGRAM_BYTES_MAX];     /* one decrypted record */
    size_t data_len;

    struct dtls_alert_key alert_key;
    uint64_t closing_since_us;
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
    t->context = dtls_identity_context(config->identity);
    if (SSL_CTX_up_ref(t->context) != 1) {
        free(t);
        return NULL;
    }
    t->role = config->role;
    memcpy(t->fingerprint, config->fingerprint, sizeof(t->fingerprint));
    t->fingerprint_count = config->fingerprint_count;
    t->bio.mtu_bytes = config->mtu_bytes;
    dtls_filter_init(&t->filter, config->role == DTLS_ROLE_ACTIVE);
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        t->deadline_us[i] = TIME_NEVER;
    }
    return t;
}

void dtls_transport_destroy(struct dtls_transport *t)
{
    if (t == NULL) {
        return;
    }
    SSL_free(t->ssl);
    SSL_CTX_free(t->context);
    OPENSSL_cleanse(t, sizeof(*t));
    free(t);
}

/* Nothing goes in or out any more, but what waits in the outbox. */
static void end(struct dtls_transport *t)
{
    t->state = STATE_ENDED;
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        t->deadline_us[i] = TIME_NEVER;
    }
    t->bio.incoming = (struct bytes_view){NULL, 0};
    SSL_free(t->ssl);
    t->ssl = NULL;
}

static void fail(struct dtls_transport *t, enum dtls_failure failure)
{
    end(t);
    dtls_bio_clear(&t->bio);
    t->has_last_event = true;
    t->last_event = (struct dtls_event){.kind = DTLS_EVENT_FAILED, .failure = failure};
    if (failure == DTLS_FAILURE_ALERT) {
        t->last_event.alert = t->held_alert;
    }
}

static void closed_by_peer(struct dtls_transport *t, uint8_t alert)
{
    end(t);
    dtls_bio_clear(&t->bio);
    t->has_last_event = true;
    t->last_event = (struct dtls_event){.kind = DTLS_EVENT_CLOSED, .alert = alert};
}

/* OpenSSL asks for the next timeout of a flight; the last was 0 for a new one. */
static unsigned next_retransmission_us(SSL *ssl, unsigned last_us)
{
    const struct dtls_transport *t = SSL_get_app_data(ssl);
    return (unsigned)(last_us == 0 ? t->first_timeout_us
                                   : time_earlier(2 * (uint64_t)last_us, RETRANSMIT_MAX_US));
}

static bool make_ssl(struct dtls_transport *t)
{
    SSL_free(t->ssl);
    t->ssl = SSL_new(t->context);
    BIO *bio = dtls_bio_create(&t->bio);
    if (t->ssl == NULL || bio == NULL) {
        BIO_free(bio);
        return false;
    }
    SSL_set_bio(t->ssl, bio, bio);
    SSL_set_app_data(t->ssl, t);
    SSL_set_mtu(t->ssl, t->bio.mtu_bytes);
    DTLS_set_timer_cb(t->ssl, next_retransmission_us);
    if (t->role == DTLS_ROLE_ACTIVE) {
        SSL_set_connect_state(t->ssl);
    } else {
        SSL_set_accept_state(t->ssl);
    }
    return true;
}

/* OpenSSL counts on the system's clock. If that is set back, the wait is cut to the longest one;
 * what it rounds to nothing is still a wait, so that a tick always moves on. */
static void schedule_retransmission(struct dtls_transport *t, uint64_t now_us)
{
    struct timeval left;
    t->deadline_us[TIMER_RETRANSMIT] = TIME_NEVER;
    if (DTLSv1_get_timeout(t->ssl, &left) == 1) {
        const uint64_t left_us = (uint64_t)left.tv_sec * US_PER_S + (uint64_t)left.tv_usec;
        t->deadline_us[TIMER_RETRANSMIT] =
            now_us + time_earlier(time_later(left_us, TIMER_STEP_US), RETRANSMIT_MAX_US);
    }
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
    const int error = SSL_get_error(t->ssl, len);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        return false;
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
        closed_by_peer(t, ALERT_CLOSE_NOTIFY);
        return false;
    }
    const int reason = ERR_GET_REASON(ERR_peek_error());
    if (reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) {
        closed_by_peer(t, (uint8_t)(reason - SSL_AD_REASON_OFFSET));
    } else {
        fail(t, DTLS_FAILURE_PROTOCOL);
    }
    return false;
}

/* The handshake is done with somebody: keys only if it is the one whose SDP we have. */
static void finish_handshake(struct dtls_transport *t)
{
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
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        t->deadline_us[i] = TIME_NEVER;
    }
    t->connected_event.kind = DTLS_EVENT_CONNECTED;
    t->has_connected_event = true;
}

/* Runs OpenSSL on what it has. A state that died is made anew, since a stranger's record may have
 * killed it; the active role then begins again. */
static void run_handshake(struct dtls_transport *t, uint64_t now_us)
{
    for (;;) {
        ERR_clear_error();
        const int result = SSL_do_handshake(t->ssl);
        t->bio.incoming = (struct bytes_view){NULL, 0};
        if (result == 1) {
            finish_handshake(t);
            return;
        }
        if (SSL_get_error(t->ssl, result) == SSL_ERROR_WANT_READ) {
            break;
        }
        if (t->remakes == DTLS_REMAKES_MAX || !make_ssl(t)) {
            fail(t, DTLS_FAILURE_PROTOCOL);
            return;
        }
        t->remakes++;
    }
    const OSSL_HANDSHAKE_STATE handshake_state = SSL_get_state(t->ssl);
    if (handshake_state != t->handshake_state) {
        t->handshake_state = handshake_state;
        t->deadline_us[TIMER_HELD_ALERT] = TIME_NEVER;
        t->held_hello_verify_len = 0;
    }
    schedule_retransmission(t, now_us);
}

void dtls_transport_start(struct dtls_transport *t, uint64_t round_trip_us, uint64_t now_us)
{
    assert(t->state == STATE_NEW);
    const uint64_t known_us = round_trip_us != 0 ? round_trip_us : ROUND_TRIP_UNKNOWN_US;
    t->first_timeout_us =
        time_earlier(time_later(2 * known_us, RETRANSMIT_MIN_US), RETRANSMIT_MAX_US);
    t->state = STATE_HANDSHAKE;
    t->deadline_us[TIMER_HANDSHAKE] = now_us + DTLS_HANDSHAKE_TIMEOUT_US;
    if (!make_ssl(t)) {
        fail(t, DTLS_FAILURE_PROTOCOL);
        return;
    }
    run_handshake(t, now_us);
}

/* A peer can only object to something that we sent. */
static void hold_alert(struct dtls_transport *t, struct bytes_view alert, uint64_t now_us)
{
    const bool ends_handshake = alert.data[0] == ALERT_FATAL || alert.data[1] == ALERT_CLOSE_NOTIFY;
    if (ends_handshake && t->bio.has_sent && t->deadline_us[TIMER_HELD_ALERT] == TIME_NEVER) {
        t->held_alert = alert.data[1];
        t->deadline_us[TIMER_HELD_ALERT] = now_us + ALERT_PATIENCE_US;
    }
}

/* A server that wants a cookie sends nothing else before it has it. So this one waits until our
 * ClientHello would have to be sent again: a genuine ServerHello comes sooner. */
static void hold_hello_verify(struct dtls_transport *t, struct bytes_view record)
{
    memcpy(t->held_hello_verify, record.data, record.len);
    t->held_hello_verify_len = record.len;
}

/* The peer's last plaintext record comes when all its messages are in; any other is forged. */
static bool awaits_change_cipher_spec(const struct dtls_transport *t)
{
    return SSL_get_state(t->ssl) ==
           (t->role == DTLS_ROLE_ACTIVE ? TLS_ST_CW_FINISHED : TLS_ST_SR_CERT_VRFY);
}

/* Whether TLS has seen the record. One at a time, since each may change what is awaited. */
static bool input_record(struct dtls_transport *t, const struct dtls_record *record,
                         uint64_t now_us)
{
    t->filter.awaits_change_cipher_spec = awaits_change_cipher_spec(t);
    switch (dtls_filter_judge(&t->filter, record)) {
    case DTLS_FILTER_PASS:
        break;
    case DTLS_FILTER_HOLD_ALERT:
        hold_alert(t, record->fragment, now_us);
        return false;
    case DTLS_FILTER_HOLD_HELLO_VERIFY:
        hold_hello_verify(t, record->whole);
        return false;
    default:
        return false;
    }
    if (record->epoch == 0 && record->content_type == DTLS_CONTENT_HANDSHAKE) {
        t->handshake_bytes += record->whole.len;
    }
    if (t->handshake_bytes > DTLS_HANDSHAKE_BYTES_MAX) {
        fail(t, DTLS_FAILURE_BUDGET);
        return false;
    }
    t->bio.incoming = record->whole;
    run_handshake(t, now_us);
    return true;
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
        if (input_record(t, &record, now_us)) {
            result = DTLS_INPUT_TAKEN;
        }
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

static void retransmit(struct dtls_transport *t, uint64_t now_us)
{
    if (t->held_hello_verify_len > 0) {
        t->bio.incoming = bytes_view_of(t->held_hello_verify, t->held_hello_verify_len);
        t->held_hello_verify_len = 0;
        run_handshake(t, now_us);
        return;
    }
    ERR_clear_error();
    if (DTLSv1_handle_timeout(t->ssl) < 0) {
        /* It has given up, and says so again when it is run. */
        run_handshake(t, now_us);
        return;
    }
    schedule_retransmission(t, now_us);
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
        OPENSSL_cleanse(&t->alert_key, sizeof(t->alert_key));
        return;
    }
    t->deadline_us[TIMER_CLOSING] = t->closing_since_us + closing_at_us[t->alerts_sent];
}

void dtls_transport_tick(struct dtls_transport *t, uint64_t now_us)
{
    if (now_us >= t->deadline_us[TIMER_HANDSHAKE]) {
        fail(t, DTLS_FAILURE_TIMEOUT);
    }
    if (now_us >= t->deadline_us[TIMER_HELD_ALERT]) {
        fail(t, DTLS_FAILURE_ALERT);
    }
    if (now_us >= t->deadline_us[TIMER_RETRANSMIT]) {
        retransmit(t, now_us);
    }
    while (now_us >= t->deadline_us[TIMER_CLOSING]) {
        send_alert(t);
    }
}

uint64_t dtls_transport_next_timeout(const struct dtls_transport *t)
{
    uint64_t first_us = TIME_NEVER;
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        first_us = time_earlier(first_us, t->deadline_us[i]);
    }
    return first_us;
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
    if (t->state == STATE_CLOSING) {
        return;
    }
    const bool was_connected =
        t->state == STATE_CONNECTED && dtls_keys_derive_alert(t->ssl, &t->alert_key);
    end(t);
    if (was_connected) {
        t->state = STATE_CLOSING;
        t->closing_since_us = now_us;
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
