/* http_tls_test.c - behind TLS clients are served as in clear, and certificates come and go */
#include "tests/unit/tls_world.h"

#include <openssl/err.h>
#include <sys/ioctl.h>

static uint64_t shaken(void)
{
    return metric_get(&http_server_tls_counts(world.http)->handshakes_total);
}

static uint64_t failed(void)
{
    return metric_get(&http_server_tls_counts(world.http)->failed_total);
}

static void expect_common_name(const SSL *ssl, const char *name)
{
    char text[64];
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    assert_true(X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text,
                                          sizeof(text)) > 0);
    assert_string_equal(text, name);
    X509_free(certificate);
}

/* --- HTTP ------------------------------------------------------------------------------------- */

static void requests_of_one_connection_are_answered(void **state)
{
    (void)state;
    SSL *ssl = tls_connect();
    tls_send_text(ssl, WORLD_GET);
    (void)tls_answer(ssl, "\r\n\r\n1");
    assert_true(world_answer_has(200, "\r\n\r\n1"));
    tls_send_text(ssl, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    (void)tls_answer(ssl, "\r\n\r\n2");
    assert_true(world_answer_has(200, "\r\n\r\n2"));
    assert_int_equal(world.delivered, 2);
    assert_int_equal(shaken(), 1);
    tls_close(ssl);
    WORLD_UNTIL(metric_get(&http_server_counts(world.http)->connections) == 0);
    assert_int_equal(failed(), 0);
}

static void a_head_in_drops_is_looked_at_as_a_whole(void **state)
{
    (void)state;
    SSL *ssl = tls_connect();
    for (const char *c = "\r\n" WORLD_GET; *c != '\0'; c++) {
        tls_send(ssl, c, 1);
        world_turn();
    }
    (void)tls_answer(ssl, "\r\n\r\n1");
    assert_true(world_answer_has(200, "\r\n\r\n1"));
    tls_close(ssl);
}

static void a_bad_head_is_answered_by_us(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        unsigned status;
    } row[] = {
        {"GET /\r\n\r\n", 400},
        {"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
        {"GET / HTTP/1.1\r\n folded\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", 413},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        SSL *ssl = tls_connect();
        tls_send_text(ssl, row[i].head);
        (void)tls_answer(ssl, NULL); /* to its end, which comes without a break of TLS */
        assert_true(world_answer_has(row[i].status, "Access-Control-Allow-Origin: *"));
        assert_int_equal(SSL_get_shutdown(ssl), SSL_RECEIVED_SHUTDOWN);
        tls_close(ssl);
    }
}

static void a_long_answer_comes_whole_to_a_slow_reader(void **state)
{
    (void)state;
    enum { LEN = 3000000 };
    char *body = malloc(LEN);
    char *got = malloc(LEN + 4096);
    assert_true(body != NULL && got != NULL);
    for (size_t i = 0; i < LEN; i++) {
        body[i] = (char)('a' + i % 23);
    }
    world.body = bytes_view_of(body, LEN);
    SSL *ssl = tls_connect();
    tls_send_text(ssl, "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    world_turns(50); /* meanwhile it is in the kernel, or waits */
    const size_t len = tls_read(ssl, got, LEN + 4096, NULL);
    assert_true(len > LEN);
    assert_memory_equal(got + len - LEN, body, LEN);
    tls_close(ssl);
    WORLD_UNTIL(world.delivered == 1);
    free(body);
    free(got);
}

static void a_client_that_ends_his_side_still_gets_the_answer(void **state)
{
    (void)state;
    SSL *ssl = tls_connect();
    tls_send_text(ssl, "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    world.is_holding = true;
    WORLD_UNTIL(world.requests == 1);
    (void)SSL_shutdown(ssl);
    world_turns(3);
    world_answer();
    (void)tls_answer(ssl, NULL);
    assert_true(world_answer_has(200, "\r\n\r\n1"));
    tls_close(ssl);
}

static void sockets_work_and_close(void **state)
{
    (void)state;
    SSL *ssl = tls_connect();
    tls_send_text(ssl, SOCKET_HEAD "\r\n");
    (void)tls_answer(ssl, "\r\n\r\n");
    assert_true(world_answer_has(101, SOCKET_ACCEPT));
    const uint8_t hello[] = {FIN | TEXT, 0x82, 0, 0, 0, 0, 'h', 'i'};
    tls_send(ssl, hello, sizeof(hello));
    WORLD_UNTIL(world.messages == 1);
    assert_true(http_server_send(world.http, world.socket, bytes_view_of_text("and you?")));
    (void)tls_answer(ssl, "and you?");
    tls_close(ssl);
    WORLD_UNTIL(world.closed == 1);
}

/* --- clients that are not let in -------------------------------------------------------------- */

static void who_does_not_speak_tls_is_hung_up(void **state)
{
    (void)state;
    static const char *const hello[] = {"\x80\x2e\x01\x03", "\x15\x03\x01", "1234567890", "\r\n"};
    for (size_t i = 0; i < COUNT_OF(hello); i++) {
        const int fd = world_connect(hello[i]);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        (void)world_read(fd, NULL);
        (void)close(fd);
        assert_null(strstr(world.answer, "HTTP/1.1"));
        WORLD_UNTIL(failed() == i + 1);
    }
    assert_int_equal(world.requests, 0);
    assert_int_equal(shaken(), 0);
}

static void who_speaks_plain_http_is_told_so(void **state)
{
    (void)state;
    static const char *const request[] = {WORLD_GET, "G",
                                          "POST /a HTTP/1.1\r\nContent-Length: 100000\r\n\r\nv=0"};
    for (size_t i = 0; i < COUNT_OF(request); i++) {
        (void)world_ask(request[i]);
        assert_true(world_answer_has(400, "https://"));
        assert_non_null(strstr(world.answer, "Connection: close\r\n"));
        WORLD_UNTIL(failed() == i + 1);
    }
    WORLD_UNTIL(metric_get(&http_server_counts(world.http)->connections) == 0);
    assert_int_equal(world.requests, 0);
    assert_int_equal(shaken(), 0);
}

static void who_says_nothing_is_hung_up_with_the_time_of_a_head(void **state)
{
    (void)state;
    struct http_server_config config = world.config;
    config.header_timeout_us = 2 * US_PER_S;
    http_server_destroy(world.http);
    world_open_with(&config);
    const uint64_t least_us = US_PER_S; /* its clock has seconds */
    assert_in_range(world_silence_us(world_connect("")), least_us, WORLD_PATIENCE_US);
    const uint64_t began_us = clock_now_us();
    SSL *ssl = tls_connect();
    assert_string_equal(tls_answer(ssl, NULL), "");
    assert_in_range(clock_now_us() - began_us, least_us, WORLD_PATIENCE_US);
    tls_close(ssl);
}

static void old_versions_and_other_protocols_are_refused(void **state)
{
    (void)state;
    SSL *ssl = SSL_new(tls.client);
    SSL_set_min_proto_version(ssl, TLS1_VERSION);
    SSL_set_max_proto_version(ssl, TLS1_1_VERSION);
    SSL_set_cipher_list(ssl, "ALL:@SECLEVEL=0");
    assert_null(tls_connect_with(ssl));
    ssl = SSL_new(tls.client);
    SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2", 3);
    assert_null(tls_connect_with(ssl));
    ssl = SSL_new(tls.client);
    SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
    SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2\x08http/1.1", 12);
    ssl = tls_connect_with(ssl);
    assert_non_null(ssl);
    const unsigned char *chosen = NULL;
    unsigned len = 0;
    SSL_get0_alpn_selected(ssl, &chosen, &len);
    assert_true(bytes_equal(bytes_view_of(chosen, len), bytes_view_of_text("http/1.1")));
    tls_close(ssl);
}

/* --- clients that make work ------------------------------------------------------------------- */

/* So many KeyUpdates (RFC 8446 s.4.6.3), each a record, as one text. */
static BIO *write_key_updates(SSL *ssl, unsigned count)
{
    BIO *to_server = SSL_get_wbio(ssl);
    BIO *records = BIO_new(BIO_s_mem());
    assert_true(BIO_up_ref(to_server) && BIO_up_ref(records));
    SSL_set0_wbio(ssl, records);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(ssl), 1);
    }
    SSL_set0_wbio(ssl, to_server);
    return records;
}

static void send_key_updates(SSL *ssl, unsigned count)
{
    const char *bytes = NULL;
    BIO *records = write_key_updates(ssl, count);
    const long len = BIO_get_mem_data(records, &bytes);
    world_send_bytes(SSL_get_fd(ssl), bytes, (size_t)len);
    BIO_free(records);
}

static void so_many_key_updates_pass_between_two_texts_and_more_are_hung_up(void **state)
{
    (void)state;
    SSL *ssl = tls_connect();
    for (unsigned i = 1; i <= 2; i++) {
        char end[16];
        (void)snprintf(end, sizeof(end), "\r\n\r\n%u", i);
        send_key_updates(ssl, HTTP_TLS_KEY_UPDATES_MAX);
        tls_send_text(ssl, WORLD_GET);
        (void)tls_answer(ssl, end);
        assert_true(world_answer_has(200, end));
    }
    send_key_updates(ssl, HTTP_TLS_KEY_UPDATES_MAX + 1);
    assert_string_equal(tls_answer(ssl, NULL), "");
    tls_close(ssl);
    ssl = tls_connect();
    const uint64_t began_us = clock_now_us();
    send_key_updates(ssl, 2000);
    (void)tls_answer(ssl, NULL);
    assert_true(clock_now_us() - began_us < world.config.header_timeout_us); /* not by that */
    tls_close(ssl);
}

/* A ClientHello with each byte in a record of its own: OpenSSL would read them all at once. */
static void one_turn_reads_a_few_records_of_a_client(void **state)
{
    (void)state;
    enum { RECORDS = 5000, RECORD_BYTES = 6 };
    static const uint8_t start[] = {1, 0, 0x3e, 0x80};
    static uint8_t bytes[RECORDS * RECORD_BYTES];
    for (size_t i = 0; i < RECORDS; i++) {
        const uint8_t record[RECORD_BYTES] = {22, 3, 1, 0, 1, i < sizeof(start) ? start[i] : 3};
        memcpy(bytes + i * RECORD_BYTES, record, RECORD_BYTES);
    }
    int pair[2];
    struct fault fault = {0};
    const struct net_addr peer = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    struct http_tls *t =
        http_tls_create(1, 1, world.config.tls_certificate, world.config.tls_key, &fault);
    assert_non_null(t);
    const int clear_fd = http_tls_open(t, pair[0], &peer);
    assert_true(clear_fd >= 0);
    world_send_bytes(pair[1], (const char *)bytes, sizeof(bytes));
    int before = sizeof(bytes);
    while (before > 0) {
        int left = 0;
        http_tls_turn(t, clock_now_us());
        assert_int_equal(ioctl(pair[0], FIONREAD, &left), 0);
        assert_in_range(before - left, 1, HTTP_TLS_READS_MAX * RECORD_BYTES);
        before = left;
    }
    (void)close(clear_fd);
    http_tls_destroy(t);
    (void)close(pair[1]);
}

/* Whoever is answered and stays holds a pipe for a while, though no connection. False when that
 * while was over before all had come. */
static bool takes_all_pipes(void)
{
    const struct http_server_counts *counts = http_server_counts(world.http);
    const unsigned pipes_max = 2 * world.config.connections_per_address_max;
    SSL *ssl[16] = {NULL};
    const uint64_t began_us = clock_now_us();
    for (unsigned i = 0; i < pipes_max; i++) {
        ssl[i] = tls_connect();
        tls_send_text(ssl[i], "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        WORLD_UNTIL(world.delivered == i + 1 && metric_get(&counts->connections) == 0);
    }
    assert_int_equal(metric_get(&counts->refused_address_total), 0);
    SSL *one_more = tls_connect_with(SSL_new(tls.client));
    if (one_more != NULL) {
        assert_true(clock_now_us() - began_us >= HTTP_TLS_LINGER_US);
        tls_close(one_more);
        for (unsigned i = 0; i < pipes_max; i++) {
            tls_close(ssl[i]);
        }
        return false;
    }
    assert_int_equal(metric_get(&counts->refused_address_total), 1);
    const int other = world_connect_from("127.0.0.2");
    WORLD_UNTIL(metric_get(&counts->connections) == 1);
    (void)close(other);
    tls_close(ssl[0]);
    WORLD_UNTIL(metric_get(&counts->connections) == 0);
    ssl[0] = tls_connect();
    for (unsigned i = 0; i < pipes_max; i++) {
        tls_close(ssl[i]);
    }
    return true;
}

static int open_again(void **state)
{
    (void)state;
    const struct http_server_config config = world.config;
    memset(&world, 0, sizeof(world));
    world_open_with(&config);
    return 0;
}

static void one_address_has_twice_as_many_pipes_as_connections(void **state)
{
    (void)state;
    world_attempt(takes_all_pipes, open_again);
}

static void nobody_shakes_hands_twice_on_a_connection(void **state)
{
    (void)state;
    SSL *ssl = SSL_new(tls.client);
    SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
    ssl = tls_connect_with(ssl);
    assert_non_null(ssl);
    assert_int_equal(SSL_renegotiate(ssl), 1);
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    int result = SSL_do_handshake(ssl);
    while (result != 1 && SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ) {
        assert_true(clock_now_us() < give_up_us);
        world_turn();
        result = SSL_do_handshake(ssl);
    }
    assert_int_not_equal(result, 1);
    assert_int_equal(ERR_GET_REASON(ERR_peek_error()), SSL_R_NO_RENEGOTIATION);
    tls_close(ssl);
}

/* --- certificates ----------------------------------------------------------------------------- */

static void a_reload_is_for_new_clients_and_hangs_up_nobody(void **state)
{
    (void)state;
    struct fault fault = {0};
    SSL *old = tls_connect();
    expect_common_name(old, "first");
    tls_make("server", "second");
    assert_true(http_server_reload_tls(world.http, &fault));
    SSL *new = tls_connect();
    expect_common_name(new, "second");
    tls_send_text(old, WORLD_GET);
    (void)tls_answer(old, "\r\n\r\n1");
    assert_true(world_answer_has(200, "\r\n\r\n1"));
    tls_close(old);
    tls_close(new);
}

static void what_can_not_be_used_is_named_and_the_old_stays(void **state)
{
    (void)state;
    char path[HTTP_FILE_CAP];
    struct fault fault = {0};
    tls_path("server.key", path);
    assert_int_equal(chmod(path, 0604), 0);
    assert_false(http_server_reload_tls(world.http, &fault));
    assert_non_null(strstr(fault.text, "server.key: others may read this key"));
    assert_int_equal(chmod(path, 0640), 0);
    assert_true(http_server_reload_tls(world.http, &fault));

    tls_make("other", "other");
    tls_path("other.key", path);
    char key[HTTP_FILE_CAP];
    tls_path("server.key", key);
    assert_int_equal(rename(path, key), 0);
    assert_false(http_server_reload_tls(world.http, &fault));
    assert_non_null(strstr(fault.text, "server.key: not the certificate's key"));

    FILE *file = tls_create("server.crt");
    (void)fputs("-----BEGIN CERTIFICATE-----\nAAAA\n", file);
    (void)fclose(file);
    assert_false(http_server_reload_tls(world.http, &fault));
    assert_non_null(strstr(fault.text, "server.crt: not a certificate"));
    tls_path("server.crt", path);
    assert_int_equal(remove(path), 0);
    assert_false(http_server_reload_tls(world.http, &fault));
    assert_non_null(strstr(fault.text, "server.crt: No such file"));

    SSL *ssl = tls_connect();
    expect_common_name(ssl, "first");
    tls_close(ssl);
}

static void the_expiry_is_told(void **state)
{
    (void)state;
    const uint64_t expiry_s = metric_get(&http_server_tls_counts(world.http)->certificate_expiry_s);
    const uint64_t now_s = clock_unix_us() / US_PER_S;
    assert_in_range(expiry_s, now_s + 3500, now_s + 3600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TLS_TEST(requests_of_one_connection_are_answered),
        TLS_TEST(a_head_in_drops_is_looked_at_as_a_whole),
        TLS_TEST(a_bad_head_is_answered_by_us),
        TLS_TEST(a_long_answer_comes_whole_to_a_slow_reader),
        TLS_TEST(a_client_that_ends_his_side_still_gets_the_answer),
        TLS_TEST(sockets_work_and_close),
        TLS_TEST(who_does_not_speak_tls_is_hung_up),
        TLS_TEST(who_speaks_plain_http_is_told_so),
        TLS_TEST(who_says_nothing_is_hung_up_with_the_time_of_a_head),
        TLS_TEST(old_versions_and_other_protocols_are_refused),
        TLS_TEST(so_many_key_updates_pass_between_two_texts_and_more_are_hung_up),
        TLS_TEST(one_turn_reads_a_few_records_of_a_client),
        TLS_TEST(one_address_has_twice_as_many_pipes_as_connections),
        TLS_TEST(nobody_shakes_hands_twice_on_a_connection),
        TLS_TEST(a_reload_is_for_new_clients_and_hangs_up_nobody),
        TLS_TEST(what_can_not_be_used_is_named_and_the_old_stays),
        TLS_TEST(the_expiry_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
