/* http_server_test.c - who is let in, what the loop wakes up for, and who is told of it */
#include "tests/unit/http_world.h"

#include <sys/resource.h>

static const struct http_server_counts *counts(void)
{
    return http_server_counts(world.http);
}

static void expect_connections(uint64_t count)
{
    WORLD_UNTIL(metric_get(&counts()->connections) == count);
}

static void one_address_has_so_many_connections_and_all_together_so_many(void **state)
{
    (void)state;
    int fd[8];
    for (int i = 0; i < 6; i++) {
        fd[i] = world_connect_from("127.0.0.1");
    }
    expect_connections(6);
    int refused = world_connect_from("127.0.0.1");
    assert_true(world_silence_us(refused) < US_PER_S / 2);
    assert_int_equal(metric_get(&counts()->refused_address_total), 1);
    fd[6] = world_connect_from("127.0.0.2");
    fd[7] = world_connect_from("127.0.0.3");
    expect_connections(8);
    refused = world_connect_from("127.0.0.4");
    assert_true(world_silence_us(refused) < US_PER_S / 2);
    assert_int_equal(metric_get(&counts()->refused_full_total), 1);
    assert_int_equal(metric_get(&counts()->accepted_total), 8);
    (void)close(fd[0]);
    expect_connections(7);
    fd[0] = world_connect_from("127.0.0.1"); /* the place is free again */
    expect_connections(8);
    for (int i = 0; i < 8; i++) {
        (void)close(fd[i]);
    }
    expect_connections(0);
}

static void an_ipv6_client_counts_by_its_network(void **state)
{
    (void)state;
    struct http_server_config config = world.config;
    config.connections_per_address_max = 1;
    char text[32];
    (void)snprintf(text, sizeof(text), "[::1]:%u", config.listen.port);
    assert_true(net_addr_parse(text, &config.listen));
    http_server_destroy(world.http);
    world_open_with(&config);
    struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                              .sin6_port = htons(config.listen.port),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int first = socket(AF_INET6, SOCK_STREAM, 0);
    assert_int_equal(connect(first, (struct sockaddr *)&to, sizeof(to)), 0);
    expect_connections(1);
    const int second = socket(AF_INET6, SOCK_STREAM, 0);
    assert_int_equal(connect(second, (struct sockaddr *)&to, sizeof(to)), 0);
    WORLD_UNTIL(metric_get(&counts()->refused_address_total) == 1);
    (void)close(first);
    (void)close(second);
}

static void each_exchange_has_a_number_of_its_own_and_one_end(void **state)
{
    (void)state;
    world.is_holding = true;
    uint64_t seen[3] = {0};
    for (unsigned i = 0; i < 3; i++) {
        const int fd = world_connect("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        WORLD_UNTIL(world.requests == i + 1);
        seen[i] = world.exchange;
        assert_int_not_equal(seen[i], 0);
        world_answer();
        (void)world_read(fd, NULL);
        (void)close(fd);
        WORLD_UNTIL(world.ends == i + 1);
    }
    assert_true(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);
    assert_int_equal(world.delivered, 3);
    assert_int_equal(metric_get(&counts()->requests_total), 3);
}

static void a_second_answer_to_an_exchange_is_nothing(void **state)
{
    (void)state;
    world.is_holding = true;
    const int fd = world_connect("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    WORLD_UNTIL(world.requests == 1);
    world_answer();
    const struct http_response other = http_response_text(200, "other");
    http_server_answer(world.http, world.exchange, &other);
    (void)world_read(fd, NULL);
    assert_true(world_answer_has(200, "\r\n\r\n1"));
    (void)close(fd);
}

static void events_come_in_the_order_of_their_requests(void **state)
{
    (void)state;
    int fd[3];
    char text[64];
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(text, sizeof(text), "GET /%u HTTP/1.1\r\nHost: x\r\n\r\n", i);
        fd[i] = world_connect(text);
        WORLD_UNTIL(metric_get(&counts()->requests_total) == i + 1 || world.requests == i + 1);
    }
    WORLD_UNTIL(world.requests == 3);
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(text, sizeof(text), "\r\n\r\n%u", i + 1);
        (void)world_read(fd[i], text);
        assert_true(world_answer_has(200, text));
        (void)close(fd[i]);
    }
}

static void it_is_idle_while_no_request_waits(void **state)
{
    (void)state;
    assert_true(http_server_is_idle(world.http));
    world.is_holding = true;
    const int fd = world_connect(WORLD_GET);
    WORLD_UNTIL(world.requests == 1);
    assert_false(http_server_is_idle(world.http));
    world_answer();
    assert_false(http_server_is_idle(world.http));
    (void)world_read(fd, "\r\n\r\n1");
    WORLD_UNTIL(world.ends == 1);
    assert_true(http_server_is_idle(world.http)); /* though the connection stays */
    assert_int_equal(metric_get(&counts()->connections), 1);
    (void)close(fd);
}

static void it_sleeps_until_the_time_it_was_given(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const uint64_t until_us = clock_now_us() + 30 * US_PER_MS;
        http_server_wait(world.http, until_us);
        while (clock_now_us() < until_us) { /* an event of libwebsockets' own may wake it */
            http_server_wait(world.http, until_us);
        }
        assert_true(clock_now_us() < until_us + US_PER_S);
    }
    const uint64_t began_us = clock_now_us();
    http_server_wait(world.http, began_us); /* the time has come: it only looks */
    assert_true(clock_now_us() < began_us + US_PER_S / 2);
}

static void a_watched_descriptor_is_told_of_as_long_as_it_is_readable(void **state)
{
    (void)state;
    int pair[2];
    char byte = 'b';
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct http_watch *watch = http_server_watch(world.http, pair[0], 77);
    assert_non_null(watch);
    world_turns(3);
    assert_int_equal(world.readables, 0);
    assert_int_equal(write(pair[1], &byte, 1), 1);
    WORLD_UNTIL(world.readables >= 3); /* nobody reads: it is told again */
    assert_int_equal(world.tag, 77);
    assert_int_equal(read(pair[0], &byte, 1), 1);
    world_turns(2);
    world.readables = 0;
    world_turns(3);
    assert_int_equal(world.readables, 0);
    assert_int_equal(write(pair[1], &byte, 1), 1);
    http_server_unwatch(watch);
    world_turns(3);
    assert_int_equal(world.readables, 0);
    assert_int_equal(read(pair[0], &byte, 1), 1); /* the duplicate was closed, ours is open */
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void there_is_room_for_so_many_watches(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct http_watch *first = http_server_watch(world.http, pair[0], 1);
    struct http_watch *second = http_server_watch(world.http, pair[1], 2);
    assert_non_null(first);
    assert_non_null(second);
    assert_null(http_server_watch(world.http, pair[0], 3));
    http_server_unwatch(first);
    first = http_server_watch(world.http, pair[0], 3);
    assert_non_null(first);
    http_server_unwatch(first);
    http_server_unwatch(second);
    http_server_unwatch(NULL);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void a_taken_address_is_one_line_with_the_remedy(void **state)
{
    (void)state;
    struct fault fault = {0};
    assert_null(http_server_create(&world.config, &fault));
    assert_non_null(strstr(fault.text, "Address already in use (stop what has it or change"));
}

static void too_few_descriptors_are_named_at_the_start(void **state)
{
    (void)state;
    struct rlimit old;
    struct fault fault = {0};
    struct http_server_config config = world.config;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    const struct rlimit few = {.rlim_cur = 256, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    config.connections_max = 256;
    struct http_server *http = http_server_create(&config, &fault);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_null(http);
    assert_non_null(strstr(fault.text, "descriptors, the limit is 256"));
}

static void without_descriptors_it_looks_away_and_comes_back(void **state)
{
    (void)state;
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    const int fd = world_connect(""); /* it waits in the kernel */
    const int next = dup(0);          /* the lowest free descriptor, for the one that is accepted */
    (void)close(next);
    const struct rlimit none = {.rlim_cur = (rlim_t)next, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const uint64_t began_us = clock_now_us();
    unsigned turns = 0;
    while (clock_now_us() < began_us + 40 * US_PER_MS) {
        http_server_wait(world.http, began_us + 50 * US_PER_MS);
        turns++;
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(metric_get(&counts()->accepted_total), 0);
    assert_true(turns < 10); /* the listener stays readable, and is not turned for */
    expect_connections(1);
    (void)close(fd);
}

static void connections_in_every_state_are_closed_with_it(void **state)
{
    (void)state;
    world.is_holding = true;
    const int fd[] = {world_connect(""), world_connect("GET /"), world_connect(WORLD_GET),
                      world_connect("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nv"),
                      world_connect("FOO / HTTP/1.1\r\n\r\n")};
    WORLD_UNTIL(world.requests == 1);
    expect_connections(5);
    world_turns(3);
    http_server_destroy(world.http);
    world.http = NULL;
    for (size_t i = 0; i < COUNT_OF(fd); i++) {
        char byte;
        while (recv(fd[i], &byte, 1, 0) > 0) {
        }
        (void)close(fd[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(one_address_has_so_many_connections_and_all_together_so_many),
        WORLD_TEST(an_ipv6_client_counts_by_its_network),
        WORLD_TEST(each_exchange_has_a_number_of_its_own_and_one_end),
        WORLD_TEST(a_second_answer_to_an_exchange_is_nothing),
        WORLD_TEST(events_come_in_the_order_of_their_requests),
        WORLD_TEST(it_is_idle_while_no_request_waits),
        WORLD_TEST(it_sleeps_until_the_time_it_was_given),
        WORLD_TEST(a_watched_descriptor_is_told_of_as_long_as_it_is_readable),
        WORLD_TEST(there_is_room_for_so_many_watches),
        WORLD_TEST(a_taken_address_is_one_line_with_the_remedy),
        WORLD_TEST(too_few_descriptors_are_named_at_the_start),
        WORLD_TEST(without_descriptors_it_looks_away_and_comes_back),
        WORLD_TEST(connections_in_every_state_are_closed_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
