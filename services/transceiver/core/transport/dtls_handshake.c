/* dtls_handshake.c - see dtls_handshake.h */
#include "services/transceiver/core/transport/dtls_handshake.h"

#include <openssl/err.h>

/* Twice the round trip, within these. RFC 6347 s.4.2.4.1 has 1 s, doubled up to 60 s: far too long
 * for someone who waits for a voice. */
#define RETRANSMIT_MIN_US     (100 * US_PER_MS)
#define RETRANSMIT_MAX_US     (3 * US_PER_S)
#define ROUND_TRIP_UNKNOWN_US (100 * US_PER_MS)

#define ALERT_PATIENCE_US  (3 * US_PER_S)
#define TIMER_STEP_US      US_PER_MS
#define ALERT_FATAL        2
#define ALERT_CLOSE_NOTIFY 0

void dtls_handshake_init(struct dtls_handshake *h, SSL_CTX *context, struct dtls_bio *bio,
                         enum dtls_role role)
{
    *h = (struct dtls_handshake){.context = context, .bio = bio, .role = role};
    (void)SSL_CTX_up_ref(context);
    dtls_filter_init(&h->filter, role == DTLS_ROLE_ACTIVE);
    for (size_t i = 0; i < DTLS_HANDSHAKE_TIMER_COUNT; i++) {
        h->deadline_us[i] = TIME_NEVER;
    }
}

void dtls_handshake_clear(struct dtls_handshake *h)
{
    SSL_free(h->ssl);
    SSL_CTX_free(h->context);
    h->ssl = NULL;
    h->context = NULL;
    for (size_t i = 0; i < DTLS_HANDSHAKE_TIMER_COUNT; i++) {
        h->deadline_us[i] = TIME_NEVER;
    }
}

SSL *dtls_handshake_take(struct dtls_handshake *h)
{
    SSL *ssl = h->ssl;
    h->ssl = NULL;
    return ssl;
}

static enum dtls_handshake_status fail(struct dtls_handshake *h, enum dtls_failure failure)
{
    h->failure = failure;
    return DTLS_HANDSHAKE_FAILED;
}

/* OpenSSL asks for the next timeout of a flight; the last was 0 for a new one. */
static unsigned next_retransmission_us(SSL *ssl, unsigned last_us)
{
    const struct dtls_handshake *h = SSL_get_app_data(ssl);
    return (unsigned)(last_us == 0 ? h->first_timeout_us
                                   : time_earlier(2 * (uint64_t)last_us, RETRANSMIT_MAX_US));
}

static bool make_ssl(struct dtls_handshake *h)
{
    SSL_free(h->ssl);
    h->ssl = SSL_new(h->context);
    BIO *bio = dtls_bio_create(h->bio);
    if (h->ssl == NULL || bio == NULL) {
        BIO_free(bio);
        return false;
    }
    SSL_set_bio(h->ssl, bio, bio);
    SSL_set_app_data(h->ssl, h);
    SSL_set_mtu(h->ssl, h->bio->mtu_bytes);
    DTLS_set_timer_cb(h->ssl, next_retransmission_us);
    if (h->role == DTLS_ROLE_ACTIVE) {
        SSL_set_connect_state(h->ssl);
    } else {
        SSL_set_accept_state(h->ssl);
    }
    return true;
}

/* If the system's clock is set back, the wait is cut to the longest one; what OpenSSL rounds to
 * nothing is still a wait, so that a tick always moves on. */
static void schedule_retransmission(struct dtls_handshake *h, uint64_t now_us)
{
    struct timeval left;
    h->deadline_us[DTLS_HANDSHAKE_TIMER_RETRANSMIT] = TIME_NEVER;
    if (DTLSv1_get_timeout(h->ssl, &left) == 1) {
        const uint64_t left_us = (uint64_t)left.tv_sec * US_PER_S + (uint64_t)left.tv_usec;
        h->deadline_us[DTLS_HANDSHAKE_TIMER_RETRANSMIT] =
            now_us + time_earlier(time_later(left_us, TIMER_STEP_US), RETRANSMIT_MAX_US);
    }
}

/* Runs OpenSSL on what it has. A state that died may have been killed by a stranger's record, so it
 * is made anew; the active role then begins again. */
static enum dtls_handshake_status run(struct dtls_handshake *h, uint64_t now_us)
{
    for (;;) {
        ERR_clear_error();
        const int result = SSL_do_handshake(h->ssl);
        h->bio->incoming = (struct bytes_view){NULL, 0};
        if (result == 1) {
            return DTLS_HANDSHAKE_DONE;
        }
        if (SSL_get_error(h->ssl, result) == SSL_ERROR_WANT_READ) {
            break;
        }
        if (h->remakes == DTLS_REMAKES_MAX || !make_ssl(h)) {
            return fail(h, DTLS_FAILURE_PROTOCOL);
        }
        h->remakes++;
    }
    const OSSL_HANDSHAKE_STATE progress = SSL_get_state(h->ssl);
    if (progress != h->progress) {
        h->progress = progress;
        h->deadline_us[DTLS_HANDSHAKE_TIMER_ALERT] = TIME_NEVER;
        h->hello_verify_len = 0;
    }
    schedule_retransmission(h, now_us);
    return DTLS_HANDSHAKE_RUNS;
}

enum dtls_handshake_status dtls_handshake_start(struct dtls_handshake *h, uint64_t round_trip_us,
                                                uint64_t now_us)
{
    const uint64_t known_us = round_trip_us != 0 ? round_trip_us : ROUND_TRIP_UNKNOWN_US;
    h->first_timeout_us =
        time_earlier(time_later(2 * known_us, RETRANSMIT_MIN_US), RETRANSMIT_MAX_US);
    h->deadline_us[DTLS_HANDSHAKE_TIMER_END] = now_us + DTLS_HANDSHAKE_TIMEOUT_US;
    return make_ssl(h) ? run(h, now_us) : fail(h, DTLS_FAILURE_PROTOCOL);
}

/* A peer can only object to something that we sent. */
static void hold_alert(struct dtls_handshake *h, struct bytes_view alert, uint64_t now_us)
{
    uint64_t *deadline_us = &h->deadline_us[DTLS_HANDSHAKE_TIMER_ALERT];
    const bool ends_handshake = alert.data[0] == ALERT_FATAL || alert.data[1] == ALERT_CLOSE_NOTIFY;
    if (ends_handshake && h->bio->has_sent && *deadline_us == TIME_NEVER) {
        h->alert = alert.data[1];
        *deadline_us = now_us + ALERT_PATIENCE_US;
    }
}

/* Later in the handshake it would be an unexpected message, and the end of it. */
static void hold_hello_verify(struct dtls_handshake *h, struct bytes_view record)
{
    if (h->progress == TLS_ST_CW_CLNT_HELLO) {
        memcpy(h->hello_verify, record.data, record.len);
        h->hello_verify_len = record.len;
    }
}

/* It comes when all messages of the peer are in; any other is forged. */
static bool awaits_change_cipher_spec(const struct dtls_handshake *h)
{
    return h->progress == (h->role == DTLS_ROLE_ACTIVE ? TLS_ST_CW_FINISHED : TLS_ST_SR_CERT_VRFY);
}

enum dtls_handshake_status dtls_handshake_input(struct dtls_handshake *h,
                                                const struct dtls_record *record, bool *was_passed,
                                                uint64_t now_us)
{
    *was_passed = false;
    h->filter.awaits_change_cipher_spec = awaits_change_cipher_spec(h);
    switch (dtls_filter_judge(&h->filter, record)) {
    case DTLS_FILTER_PASS:
        break;
    case DTLS_FILTER_HOLD_ALERT:
        hold_alert(h, record->fragment, now_us);
        return DTLS_HANDSHAKE_RUNS;
    case DTLS_FILTER_HOLD_HELLO_VERIFY:
        hold_hello_verify(h, record->whole);
        return DTLS_HANDSHAKE_RUNS;
    default:
        return DTLS_HANDSHAKE_RUNS;
    }
    if (record->epoch == 0 && record->content_type == DTLS_CONTENT_HANDSHAKE) {
        h->accepted_bytes += record->whole.len;
    }
    if (h->accepted_bytes > DTLS_HANDSHAKE_BYTES_MAX) {
        return fail(h, DTLS_FAILURE_BUDGET);
    }
    *was_passed = true;
    h->bio->incoming = record->whole;
    return run(h, now_us);
}

static enum dtls_handshake_status retransmit(struct dtls_handshake *h, uint64_t now_us)
{
    if (h->hello_verify_len > 0) {
        h->bio->incoming = bytes_view_of(h->hello_verify, h->hello_verify_len);
        h->hello_verify_len = 0;
        return run(h, now_us);
    }
    ERR_clear_error();
    if (DTLSv1_handle_timeout(h->ssl) < 0) {
        return run(h, now_us); /* it has given up, and says so again */
    }
    schedule_retransmission(h, now_us);
    return DTLS_HANDSHAKE_RUNS;
}

enum dtls_handshake_status dtls_handshake_tick(struct dtls_handshake *h, uint64_t now_us)
{
    if (now_us >= h->deadline_us[DTLS_HANDSHAKE_TIMER_END]) {
        return fail(h, DTLS_FAILURE_TIMEOUT);
    }
    if (now_us >= h->deadline_us[DTLS_HANDSHAKE_TIMER_ALERT]) {
        return fail(h, DTLS_FAILURE_ALERT);
    }
    if (now_us >= h->deadline_us[DTLS_HANDSHAKE_TIMER_RETRANSMIT]) {
        return retransmit(h, now_us);
    }
    return DTLS_HANDSHAKE_RUNS;
}

uint64_t dtls_handshake_next_timeout(const struct dtls_handshake *h)
{
    uint64_t first_us = TIME_NEVER;
    for (size_t i = 0; i < DTLS_HANDSHAKE_TIMER_COUNT; i++) {
        first_us = time_earlier(first_us, h->deadline_us[i]);
    }
    return first_us;
}
