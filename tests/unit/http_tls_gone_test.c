/* http_tls_gone_test.c - clients behind TLS that vanish while they wait, or read no more */
#include "tests/unit/tls_world.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#define NOW_US (100 * US_PER_S)

/* --- while an answer is awaited --------------------------------------------------------------- */

/* The kernel tells the server at once. */
static void reset(SSL *ssl)
{
    const struct linger at_once = {.l_onoff = 1};
    assert_int_equal(setsockopt(SSL_get_fd(ssl), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)),
                     0);
    tls_close(ssl);
}

static void who_vanishes_while_he_waits_frees_his_place(void **state)
{
    (void)state;
    void (*const vanish[])(SSL *) = {reset,
                                     tls_close}; /* with a reset, and without a word of TLS */
    world.is_holding = true;
    for (unsigned i = 0; i < COUNT_OF(vanish); i++) {
        SSL *ssl = tls_connect();
        tls_send_text(ssl, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
        WORLD_UNTIL(world.requests == i + 1);
        const uint64_t vanished_us = clock_now_us();
        vanish[i](ssl);
        WORLD_UNTIL(world.ends == i + 1);
        assert_true(clock_now_us() - vanished_us < world.config.request_timeout_us);
        WORLD_UNTIL(metric_get(&http_server_counts(world.http)->connections) == 0);
        assert_int_equal(world.delivered, 0);
        world_answer(); /* to nobody */
    }
}

/* Who has ended his side may still read: his request lives until the answer finds nobody. */
static void who_says_good_bye_while_he_waits_frees_his_place_with_the_answer(void **state)
{
    (void)state;
    SSL *ssl = tls_connect();
    world.is_holding = true;
    tls_send_text(ssl, "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    WORLD_UNTIL(world.requests == 1);
    (void)SSL_shutdown(ssl);
    tls_close(ssl);
    world_turns(3);
    world_answer();
    WORLD_UNTIL(world.ends == 1);
    WORLD_UNTIL(metric_get(&http_server_counts(world.http)->connections) == 0);
}

/* --- a pipe alone ----------------------------------------------------------------------------- */

static struct {
    struct http_tls *tls;
    SSL *client;
    int client_fd;
    int clear_fd;
    struct net_addr peer;
} pipe_of_one;

static void open_pipe(void)
{
    int pair[2];
    struct fault fault = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    pipe_of_one.tls =
        http_tls_create(1, 1, world.config.tls_certificate, world.config.tls_key, &fault);
    assert_non_null(pipe_of_one.tls);
    pipe_of_one.clear_fd = http_tls_open(pipe_of_one.tls, pair[0], &pipe_of_one.peer);
    assert_true(pipe_of_one.clear_fd >= 0);
    pipe_of_one.client = SSL_new(tls.client);
    pipe_of_one.client_fd = pair[1];
    assert_int_equal(SSL_set_fd(pipe_of_one.client, pair[1]), 1);
    for (int turns = 0; SSL_connect(pipe_of_one.client) != 1; turns++) {
        assert_in_range(turns, 0, 100);
        http_tls_turn(pipe_of_one.tls, NOW_US);
    }
}

static void close_pipe_of_one(void)
{
    SSL_free(pipe_of_one.client);
    (void)close(pipe_of_one.client_fd);
    http_tls_destroy(pipe_of_one.tls);
}

/* As much as there is room for on the way to a client who does not read. */
static void fill(void)
{
    static const char text[65536];
    for (int full = 0; full < 3;) {
        const ssize_t sent = send(pipe_of_one.clear_fd, text, sizeof(text), MSG_NOSIGNAL);
        full = sent < 0 ? full + 1 : 0;
        http_tls_turn(pipe_of_one.tls, NOW_US);
    }
}

static void what_the_server_has_closed_is_gone_when_its_time_is_over(void **state)
{
    (void)state;
    open_pipe();
    fill();
    assert_true(http_tls_next_timeout(pipe_of_one.tls) == TIME_NEVER);
    (void)close(pipe_of_one.clear_fd);
    http_tls_turn(pipe_of_one.tls, NOW_US);
    assert_true(http_tls_next_timeout(pipe_of_one.tls) == NOW_US + HTTP_TLS_FLUSH_US);
    http_tls_turn(pipe_of_one.tls, NOW_US + HTTP_TLS_FLUSH_US - 1);
    assert_false(http_tls_admits(pipe_of_one.tls, &pipe_of_one.peer));
    http_tls_turn(pipe_of_one.tls, NOW_US + HTTP_TLS_FLUSH_US);
    assert_true(http_tls_admits(pipe_of_one.tls, &pipe_of_one.peer));
    close_pipe_of_one();
}

static void what_is_sent_to_a_server_that_has_closed_is_dropped(void **state)
{
    (void)state;
    static const char text[4096];
    int unread = -1;
    const int records = 4; /* OpenSSL takes one from the kernel at a time */
    open_pipe();
    fill();
    (void)close(pipe_of_one.clear_fd);
    http_tls_turn(pipe_of_one.tls, NOW_US);
    for (int i = 0; i < records; i++) {
        assert_int_equal(SSL_write(pipe_of_one.client, text, sizeof(text)), sizeof(text));
    }
    for (int i = 0; i < records; i++) {
        http_tls_turn(pipe_of_one.tls, NOW_US);
    }
    /* Bytes that nobody reads would reset the connection at its end, and the answer with it. */
    assert_int_equal(ioctl(pipe_of_one.client_fd, SIOCOUTQ, &unread), 0);
    assert_int_equal(unread, 0);
    close_pipe_of_one();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TLS_TEST(who_vanishes_while_he_waits_frees_his_place),
        TLS_TEST(who_says_good_bye_while_he_waits_frees_his_place_with_the_answer),
        TLS_TEST(what_the_server_has_closed_is_gone_when_its_time_is_over),
        TLS_TEST(what_is_sent_to_a_server_that_has_closed_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
