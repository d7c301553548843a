/* dtls_handshake_test.c - a handshake ends as its contract says: done, or with the one reason */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_handshake.h"
#include "tests/dtls_peer.h"

#define NOW_US            (1000 * US_PER_S)
#define ALERT_PATIENCE_US (3 * US_PER_S)
#define ALERT_INTERNAL    80

static struct {
    struct dtls_identity *identity;
    struct dtls_bio bio;
    struct dtls_handshake handshake;
    struct dtls_peer peer;
} fixture;

static int open_fixture(void **state)
{
    (void)state;
    fixture.identity = dtls_identity_create(NULL);
    return fixture.identity != NULL ? 0 : -1;
}

static int close_fixture(void **state)
{
    (void)state;
    dtls_identity_destroy(fixture.identity);
    return 0;
}

static enum dtls_handshake_status start(enum dtls_role role, uint64_t round_trip_us)
{
    fixture.bio = (struct dtls_bio){.mtu_bytes = DTLS_MTU_BYTES};
    dtls_handshake_init(&fixture.handshake, dtls_identity_context(fixture.identity), &fixture.bio,
                        role);
    return dtls_handshake_start(&fixture.handshake, round_trip_us, NOW_US);
}

static void open_peer(bool is_server, bool wants_cookie)
{
    dtls_peer_open(&fixture.peer, &(struct dtls_peer_config){.is_server = is_server,
                                                             .wants_cookie = wants_cookie});
}

static enum dtls_handshake_status input(const uint8_t *datagram, size_t len, uint64_t now_us)
{
    enum dtls_handshake_status status = DTLS_HANDSHAKE_RUNS;
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, bytes_view_of(datagram, len));
    while (status == DTLS_HANDSHAKE_RUNS && dtls_record_read(&r, &record)) {
        bool was_passed;
        status = dtls_handshake_input(&fixture.handshake, &record, &was_passed, now_us);
    }
    return status;
}

static bool send_to_peer(void)
{
    struct bytes_view datagram;
    bool has_sent = false;
    while (dtls_bio_poll(&fixture.bio, &datagram)) {
        dtls_peer_input(&fixture.peer, datagram);
        has_sent = true;
    }
    return has_sent;
}

static enum dtls_handshake_status take_from_peer(uint64_t now_us)
{
    enum dtls_handshake_status status = DTLS_HANDSHAKE_RUNS;
    for (size_t i = 0; i < fixture.peer.out_count && status == DTLS_HANDSHAKE_RUNS; i++) {
        status = input(fixture.peer.out[i], fixture.peer.out_len[i], now_us);
    }
    fixture.peer.out_count = 0;
    return status;
}

static enum dtls_handshake_status exchange(uint64_t now_us)
{
    enum dtls_handshake_status status = take_from_peer(now_us);
    while (send_to_peer() && status == DTLS_HANDSHAKE_RUNS) {
        status = take_from_peer(now_us);
    }
    return status;
}

/* One record of plaintext, from hex. */
static enum dtls_handshake_status input_fragment(uint8_t content_type, const char *hex,
                                                 bool *was_passed, uint64_t now_us)
{
    uint8_t fragment[64];
    const size_t len = strlen(hex) / 2;
    assert_true(bytes_from_hex(bytes_view_of_text(hex), fragment, len));
    uint8_t whole[DTLS_RECORD_HEADER_BYTES + sizeof(fragment)] = {content_type, 0xfe, 0xfd};
    whole[12] = (uint8_t)len;
    memcpy(whole + DTLS_RECORD_HEADER_BYTES, fragment, len);
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, bytes_view_of(whole, DTLS_RECORD_HEADER_BYTES + len));
    assert_true(dtls_record_read(&r, &record));
    return dtls_handshake_input(&fixture.handshake, &record, was_passed, now_us);
}

static void both_roles_finish_and_the_ssl_moves_to_the_caller(void **state)
{
    (void)state;
    for (enum dtls_role role = DTLS_ROLE_ACTIVE; role <= DTLS_ROLE_PASSIVE; role++) {
        open_peer(role == DTLS_ROLE_ACTIVE, false);
        assert_int_equal(start(role, 0), DTLS_HANDSHAKE_RUNS);
        assert_int_equal(fixture.bio.has_sent, role == DTLS_ROLE_ACTIVE);
        if (role == DTLS_ROLE_PASSIVE) {
            dtls_peer_run(&fixture.peer);
        }
        assert_int_equal(exchange(NOW_US), DTLS_HANDSHAKE_DONE);
        assert_true(fixture.peer.is_connected);
        SSL *ssl = dtls_handshake_take(&fixture.handshake);
        assert_int_equal(SSL_is_server(ssl), role == DTLS_ROLE_PASSIVE);
        dtls_handshake_clear(&fixture.handshake);
        assert_true(SSL_is_init_finished(ssl));
        SSL_free(ssl);
        dtls_peer_close(&fixture.peer);
    }
}

static void a_cleared_handshake_waits_for_nothing_and_may_be_cleared_again(void **state)
{
    (void)state;
    assert_int_equal(start(DTLS_ROLE_ACTIVE, 0), DTLS_HANDSHAKE_RUNS);
    assert_true(dtls_handshake_next_timeout(&fixture.handshake) != TIME_NEVER);
    dtls_handshake_clear(&fixture.handshake);
    assert_true(dtls_handshake_next_timeout(&fixture.handshake) == TIME_NEVER);
    dtls_handshake_clear(&fixture.handshake);
    assert_null(dtls_handshake_take(&fixture.handshake));
}

/* The system's clock is in what is left of it: the wait is checked from above. */
static void the_first_wait_is_twice_the_round_trip_within_100_ms_and_3_s(void **state)
{
    (void)state;
    static const struct {
        uint64_t round_trip_us;
        uint64_t wait_us;
    } wait_case[] = {
        {0, 200 * US_PER_MS},
        {1, 100 * US_PER_MS},
        {50 * US_PER_MS, 100 * US_PER_MS},
        {51 * US_PER_MS, 102 * US_PER_MS},
        {1499 * US_PER_MS, 2998 * US_PER_MS},
        {1500 * US_PER_MS, 3 * US_PER_S},
        {60 * US_PER_S, 3 * US_PER_S},
    };
    for (size_t i = 0; i < COUNT_OF(wait_case); i++) {
        assert_int_equal(start(DTLS_ROLE_ACTIVE, wait_case[i].round_trip_us), DTLS_HANDSHAKE_RUNS);
        const uint64_t timeout_us = dtls_handshake_next_timeout(&fixture.handshake);
        assert_true(fixture.handshake.first_timeout_us == wait_case[i].wait_us);
        assert_true(timeout_us > NOW_US && timeout_us <= NOW_US + wait_case[i].wait_us);
        dtls_handshake_clear(&fixture.handshake);
    }
}

static void a_silent_peer_times_out_after_30_s_and_not_before(void **state)
{
    (void)state;
    for (enum dtls_role role = DTLS_ROLE_ACTIVE; role <= DTLS_ROLE_PASSIVE; role++) {
        const uint64_t end_us = NOW_US + DTLS_HANDSHAKE_TIMEOUT_US;
        assert_int_equal(start(role, 0), DTLS_HANDSHAKE_RUNS);
        assert_int_equal(dtls_handshake_tick(&fixture.handshake, end_us - 1), DTLS_HANDSHAKE_RUNS);
        assert_int_equal(dtls_handshake_tick(&fixture.handshake, end_us), DTLS_HANDSHAKE_FAILED);
        assert_int_equal(fixture.handshake.failure, DTLS_FAILURE_TIMEOUT);
        dtls_handshake_clear(&fixture.handshake);
    }
}

static void a_fatal_alert_or_close_notify_ends_it_after_3_s_and_a_warning_never(void **state)
{
    (void)state;
    static const struct {
        const char *alert;
        uint8_t description;
        bool ends;
    } alert_case[] = {
        {"0250", ALERT_INTERNAL, true},
        {"0100", 0, true},
        {"0200", 0, true},
        {"0150", 0, false},
        {"015a", 0, false},
    };
    for (size_t i = 0; i < COUNT_OF(alert_case); i++) {
        const uint64_t end_us = NOW_US + ALERT_PATIENCE_US;
        bool was_passed = true;
        assert_int_equal(start(DTLS_ROLE_ACTIVE, 0), DTLS_HANDSHAKE_RUNS);
        assert_int_equal(input_fragment(21, alert_case[i].alert, &was_passed, NOW_US),
                         DTLS_HANDSHAKE_RUNS);
        assert_false(was_passed);
        /* A second one neither prolongs nor replaces it. */
        assert_int_equal(input_fragment(21, "0228", &was_passed, end_us - 1), DTLS_HANDSHAKE_RUNS);
        assert_int_equal(dtls_handshake_tick(&fixture.handshake, end_us - 1), DTLS_HANDSHAKE_RUNS);
        assert_int_equal(dtls_handshake_tick(&fixture.handshake, end_us),
                         alert_case[i].ends ? DTLS_HANDSHAKE_FAILED : DTLS_HANDSHAKE_RUNS);
        if (alert_case[i].ends) {
            assert_int_equal(fixture.handshake.failure, DTLS_FAILURE_ALERT);
            assert_int_equal(fixture.handshake.alert, alert_case[i].description);
        }
        dtls_handshake_clear(&fixture.handshake);
    }
}

static void an_alert_before_anything_was_sent_is_ignored(void **state)
{
    (void)state;
    bool was_passed = true;
    assert_int_equal(start(DTLS_ROLE_PASSIVE, 0), DTLS_HANDSHAKE_RUNS);
    assert_int_equal(input_fragment(21, "0250", &was_passed, NOW_US), DTLS_HANDSHAKE_RUNS);
    assert_int_equal(dtls_handshake_tick(&fixture.handshake, NOW_US + ALERT_PATIENCE_US),
                     DTLS_HANDSHAKE_RUNS);
    dtls_handshake_clear(&fixture.handshake);
}

static void progress_after_an_alert_shows_that_it_was_forged(void **state)
{
    (void)state;
    bool was_passed = true;
    open_peer(true, false);
    assert_int_equal(start(DTLS_ROLE_ACTIVE, 0), DTLS_HANDSHAKE_RUNS);
    assert_int_equal(input_fragment(21, "0250", &was_passed, NOW_US), DTLS_HANDSHAKE_RUNS);
    assert_true(send_to_peer());
    assert_int_equal(take_from_peer(NOW_US), DTLS_HANDSHAKE_RUNS);
    assert_int_equal(dtls_handshake_tick(&fixture.handshake, NOW_US + ALERT_PATIENCE_US),
                     DTLS_HANDSHAKE_RUNS);
    assert_int_equal(exchange(NOW_US + ALERT_PATIENCE_US), DTLS_HANDSHAKE_DONE);
    dtls_handshake_clear(&fixture.handshake);
    dtls_peer_close(&fixture.peer);
}

static void a_request_to_verify_is_used_only_when_the_hello_is_due_again(void **state)
{
    (void)state;
    open_peer(true, true);
    assert_int_equal(start(DTLS_ROLE_ACTIVE, 0), DTLS_HANDSHAKE_RUNS);
    assert_true(send_to_peer());
    assert_int_equal(take_from_peer(NOW_US), DTLS_HANDSHAKE_RUNS);
    assert_true(fixture.handshake.hello_verify_len > 0);
    assert_false(send_to_peer());

    const uint64_t due_us = dtls_handshake_next_timeout(&fixture.handshake);
    assert_int_equal(dtls_handshake_tick(&fixture.handshake, due_us - 1), DTLS_HANDSHAKE_RUNS);
    assert_false(send_to_peer());
    assert_int_equal(dtls_handshake_tick(&fixture.handshake, due_us), DTLS_HANDSHAKE_RUNS);
    assert_int_equal(fixture.handshake.hello_verify_len, 0);
    assert_int_equal(exchange(due_us), DTLS_HANDSHAKE_DONE);
    dtls_handshake_clear(&fixture.handshake);
    dtls_peer_close(&fixture.peer);
}

static void a_killed_state_is_made_anew_three_times_and_no_more(void **state)
{
    (void)state;
    static const char bad_server_hello[] = "020000020000000000000002aaaa";
    bool was_passed = false;
    assert_int_equal(start(DTLS_ROLE_ACTIVE, 0), DTLS_HANDSHAKE_RUNS);
    dtls_bio_clear(&fixture.bio);
    for (unsigned i = 1; i <= DTLS_REMAKES_MAX; i++) {
        struct bytes_view hello;
        assert_int_equal(input_fragment(22, bad_server_hello, &was_passed, NOW_US),
                         DTLS_HANDSHAKE_RUNS);
        assert_true(was_passed);
        assert_int_equal(fixture.handshake.remakes, i);
        assert_true(dtls_bio_poll(&fixture.bio, &hello)); /* it begins again */
        assert_false(dtls_bio_poll(&fixture.bio, &hello));
    }
    assert_int_equal(input_fragment(22, bad_server_hello, &was_passed, NOW_US),
                     DTLS_HANDSHAKE_FAILED);
    assert_int_equal(fixture.handshake.failure, DTLS_FAILURE_PROTOCOL);
    dtls_handshake_clear(&fixture.handshake);
}

static void the_budget_of_handshake_bytes_is_taken_to_the_last_one(void **state)
{
    (void)state;
    static const char first_fragment[] = "0b00000a000100000000000200aa";
    static const size_t record_bytes = DTLS_RECORD_HEADER_BYTES + 14;
    for (size_t excess = 0; excess < 2; excess++) {
        bool was_passed = false;
        assert_int_equal(start(DTLS_ROLE_ACTIVE, 0), DTLS_HANDSHAKE_RUNS);
        fixture.handshake.accepted_bytes = DTLS_HANDSHAKE_BYTES_MAX - record_bytes + excess;
        assert_int_equal(input_fragment(22, first_fragment, &was_passed, NOW_US),
                         excess == 0 ? DTLS_HANDSHAKE_RUNS : DTLS_HANDSHAKE_FAILED);
        assert_int_equal(was_passed, excess == 0);
        if (excess > 0) {
            assert_int_equal(fixture.handshake.failure, DTLS_FAILURE_BUDGET);
        }
        dtls_handshake_clear(&fixture.handshake);
    }
}

static void what_the_peer_may_not_send_now_never_reaches_openssl(void **state)
{
    (void)state;
    static const struct {
        uint8_t content_type;
        const char *fragment;
    } drop_case[] = {
        {23, "00"},                           /* application data */
        {20, "01"},                           /* change cipher spec, too early */
        {22, "010000020000000000000002aaaa"}, /* a client's hello to a client */
        {22, "00"},
    };
    assert_int_equal(start(DTLS_ROLE_ACTIVE, 0), DTLS_HANDSHAKE_RUNS);
    for (size_t i = 0; i < COUNT_OF(drop_case); i++) {
        bool was_passed = true;
        assert_int_equal(
            input_fragment(drop_case[i].content_type, drop_case[i].fragment, &was_passed, NOW_US),
            DTLS_HANDSHAKE_RUNS);
        assert_false(was_passed);
    }
    assert_int_equal(fixture.handshake.accepted_bytes, 0);
    assert_int_equal(fixture.handshake.remakes, 0);
    dtls_handshake_clear(&fixture.handshake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_roles_finish_and_the_ssl_moves_to_the_caller),
        cmocka_unit_test(a_cleared_handshake_waits_for_nothing_and_may_be_cleared_again),
        cmocka_unit_test(the_first_wait_is_twice_the_round_trip_within_100_ms_and_3_s),
        cmocka_unit_test(a_silent_peer_times_out_after_30_s_and_not_before),
        cmocka_unit_test(a_fatal_alert_or_close_notify_ends_it_after_3_s_and_a_warning_never),
        cmocka_unit_test(an_alert_before_anything_was_sent_is_ignored),
        cmocka_unit_test(progress_after_an_alert_shows_that_it_was_forged),
        cmocka_unit_test(a_request_to_verify_is_used_only_when_the_hello_is_due_again),
        cmocka_unit_test(a_killed_state_is_made_anew_three_times_and_no_more),
        cmocka_unit_test(the_budget_of_handshake_bytes_is_taken_to_the_last_one),
        cmocka_unit_test(what_the_peer_may_not_send_now_never_reaches_openssl),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
