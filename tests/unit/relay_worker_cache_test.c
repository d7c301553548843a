/* relay_worker_cache_test.c - workers that hold and ask, and a real Redis (F3, F5-F7)
 *
 * What the other relay would have written is written by the test. A client has no flow: its first
 * datagram is RTP, with the time at which it left. What Redis must answer within 20 ms has several
 * attempts, each by another client: a busy machine makes an answer late, though not each time. */
#include "tests/loopback_relay.h"
#include "tests/redis_server.h"

#define SESSION_BASE  0x1000
#define INSTANCE      0x5eed0001
#define HOLD_LIMIT_US (20 * US_PER_MS)
#define FLOWS_MAX     5000
#define ATTEMPTS      20

struct cached_relay {
    struct redis_server redis;
    struct loopback_relay relay;
};

static void wait_until_up(const struct flow_cache *cache, bool is_up)
{
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    while (flow_cache_is_up(cache) != is_up) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 1);
    }
}

static uint64_t sum_of(const struct loopback_relay *w, size_t offset)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        const uint8_t *counters = (const uint8_t *)relay_worker_counters(w->worker[i]);
        total += metric_get((const metric_value *)(const void *)(counters + offset));
    }
    return total;
}

#define SUM(w, member) sum_of((w), offsetof(struct relay_counters, member))

/* A worker counts after it has sent. */
static void wait_for_sum(const struct loopback_relay *w, size_t offset, uint64_t value)
{
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    while (sum_of(w, offset) < value) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(sum_of(w, offset), value);
}

#define WAIT_FOR_SUM(w, member, value)                                                             \
    wait_for_sum((w), offsetof(struct relay_counters, member), (value))

static void announce(struct loopback_relay *w)
{
    const struct inbox_message message = {
        .kind = INBOX_ANNOUNCEMENT,
        .body.announcement = {.instance_id = INSTANCE,
                              .cluster_id = LOOPBACK_RELAY_CLUSTER,
                              .shard_count = 1,
                              .media_address = far_end_address_of(w->transceiver),
                              .start_time_unix_us = 1,
                              .sequence = 1}};
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        assert_true(worker_inbox_post(relay_worker_inbox(w->worker[i]), &message));
        loopback_relay_wait_for(&relay_worker_counters(w->worker[i])->routes, 1);
    }
}

static void open_relay(struct cached_relay *c)
{
    char text[FLOW_CACHE_URL_CAP];
    struct flow_cache_url url;
    struct fault fault = {0};
    redis_server_open(&c->redis, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    log_open("test", LOG_ERROR, LOG_TEXT);
    (void)snprintf(text, sizeof(text), "redis://127.0.0.1:%u", c->redis.port);
    assert_null(flow_cache_url_parse(text, &url));
    struct flow_cache *cache = flow_cache_start(&url, LOOPBACK_RELAY_WORKERS, &fault);
    assert_non_null(cache);
    wait_until_up(cache, true);
    loopback_relay_open_with(&c->relay, cache, 65536);
    loopback_relay_start(&c->relay);
    announce(&c->relay);
}

static void close_relay(struct cached_relay *c)
{
    struct flow_cache *cache = c->relay.cache;
    loopback_relay_close(&c->relay);
    flow_cache_stop(cache);
    redis_server_kill(&c->redis);
}

/* Client `number` has an address of its own, as if it stood elsewhere. */
static struct net_addr client_of(unsigned number)
{
    char ip[32];
    struct net_addr client;
    (void)snprintf(ip, sizeof(ip), "127.%u.%u.%u", 9 + (unsigned)getpid() % 200, number / 250,
                   1 + number % 250);
    const uint16_t port = (uint16_t)(10000 + (unsigned)getpid() / 200 % 20000);
    assert_true(net_addr_parse_ip(ip, port, &client));
    return client;
}

static void write_key(unsigned number, char key[FLOW_CACHE_KEY_CAP])
{
    const struct flow_cache_key parts = {.client = client_of(number),
                                         .cluster_id = LOOPBACK_RELAY_CLUSTER};
    assert_true(flow_cache_write_key(&parts, key));
}

/* The other relay's word for clients 0..count-1, in one script. */
static void remember_all(const struct cached_relay *c, unsigned count)
{
    redisContext *link = redisConnect("127.0.0.1", c->redis.port);
    assert_true(link != NULL && link->err == 0);
    for (unsigned i = 0; i < count; i++) {
        char key[FLOW_CACHE_KEY_CAP];
        char value[FLOW_CACHE_VALUE_BYTES_MAX + 1];
        const struct cached_flow flow = {.next_hop = far_end_address_of(c->relay.transceiver),
                                         .instance_id = INSTANCE,
                                         .session_id = SESSION_BASE + i,
                                         .cluster_id = LOOPBACK_RELAY_CLUSTER};
        write_key(i, key);
        assert_true(flow_cache_write_value(&flow, value));
        freeReplyObject(redisCommand(link, "SET %s %s EX 120", key, value));
    }
    redisFree(link);
}

static int bind_client(unsigned number)
{
    struct sockaddr_storage name;
    const struct net_addr client = client_of(number);
    const socklen_t len = net_addr_to_sockaddr(&client, &name);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, len), 0);
    return fd;
}

/* RTP of 60 bytes that carries the present time and a number. */
static void speak(const struct loopback_relay *w, int fd, uint32_t number)
{
    uint8_t datagram[60] = {0x80};
    struct sockaddr_storage name;
    struct byte_writer writer;
    byte_writer_init(&writer, datagram + 12, sizeof(datagram) - 12);
    byte_writer_u64(&writer, clock_now_us());
    byte_writer_u32(&writer, number);
    const socklen_t len = net_addr_to_sockaddr(&w->config.forwarder.listen[0], &name);
    assert_int_equal(sendto(fd, datagram, sizeof(datagram), 0, (struct sockaddr *)&name, len),
                     sizeof(datagram));
}

struct heard {
    uint32_t session_id;
    uint32_t number;
    uint64_t took_us;
};

/* The next datagram at the transceiver within wait_ms. */
static bool hear(const struct loopback_relay *w, int wait_ms, struct heard *out)
{
    uint8_t packet[2048];
    struct relay_shim shim;
    struct byte_reader r;
    struct pollfd ready = {.fd = w->transceiver, .events = POLLIN};
    if (poll(&ready, 1, wait_ms) != 1) {
        return false;
    }
    const ssize_t len = recv(w->transceiver, packet, sizeof(packet), 0);
    assert_true(len > 0);
    const struct bytes_view bytes = bytes_view_of(packet, (size_t)len);
    assert_int_equal(relay_shim_read(w->ring, bytes, &shim), RELAY_SHIM_OK);
    byte_reader_init(&r, bytes_view_of(packet + RELAY_SHIM_BYTES + 12, shim.datagram_bytes - 12u));
    const uint64_t sent_us = byte_reader_u64(&r);
    *out = (struct heard){.session_id = shim.session_id,
                          .number = byte_reader_u32(&r),
                          .took_us = clock_now_us() - sent_us};
    return true;
}

static void attempt(bool (*is_in_time)(const struct cached_relay *c, unsigned client))
{
    struct cached_relay c;
    unsigned client = 0;
    open_relay(&c);
    remember_all(&c, ATTEMPTS);
    while (!is_in_time(&c, client)) {
        client++;
        assert_true(client < ATTEMPTS);
        wait_until_up(c.relay.cache, true);
    }
    close_relay(&c);
}

/* False when the answer came too late for some of the datagrams. */
static bool is_taken_over(const struct cached_relay *c, unsigned client)
{
    enum { DATAGRAMS = 3 };
    struct heard heard;
    const uint64_t forwarded_before = SUM(&c->relay, datagrams[FORWARD_UP_FLOW]);
    const uint64_t dropped_before = SUM(&c->relay, datagrams[FORWARD_UP_NO_FLOW]);
    uint64_t forwarded = 0;
    uint64_t dropped = 0;
    const int fd = bind_client(client);
    for (uint32_t i = 0; i < DATAGRAMS; i++) {
        speak(&c->relay, fd, i);
    }
    (void)close(fd);
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    while (forwarded + dropped < DATAGRAMS) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 1);
        forwarded = SUM(&c->relay, datagrams[FORWARD_UP_FLOW]) - forwarded_before;
        dropped = SUM(&c->relay, datagrams[FORWARD_UP_NO_FLOW]) - dropped_before;
    }
    assert_int_equal(forwarded + dropped, DATAGRAMS);
    for (uint32_t i = (uint32_t)dropped; i < DATAGRAMS; i++) {
        assert_true(hear(&c->relay, FAR_END_PATIENCE_MS, &heard));
        assert_int_equal(heard.session_id, SESSION_BASE + client);
        assert_int_equal(heard.number, i);
    }
    assert_true(dropped > 0 || SUM(&c->relay, from_cache[FORWARD_CACHE_TAKEN]) > 0);
    return dropped == 0;
}

static void a_client_that_comes_from_another_relay_is_taken_over(void **state)
{
    (void)state;
    attempt(is_taken_over);
}

struct takeover {
    bool is_heard[FLOWS_MAX];
    unsigned heard;
    unsigned late; /* more than HOLD_LIMIT_US after it was sent */
    uint64_t worst_us;
};

/* All that is heard within wait_ms: each from its own session, the first of each counts. */
static void hear_all(const struct loopback_relay *w, int wait_ms, struct takeover *t)
{
    struct heard heard;
    for (; hear(w, wait_ms, &heard); wait_ms = 0) {
        assert_in_range(heard.number, 0, FLOWS_MAX - 1);
        assert_int_equal(heard.session_id, SESSION_BASE + heard.number);
        if (!t->is_heard[heard.number]) {
            t->is_heard[heard.number] = true;
            t->heard++;
            t->late += heard.took_us > HOLD_LIMIT_US;
            t->worst_us = time_later(t->worst_us, heard.took_us);
        }
    }
}

/* All clients that were not heard yet speak, 50 in a millisecond, as when a load balancer hashes
 * anew; who is not heard speaks again 20 ms later, as clients do. */
static void take_over(unsigned count)
{
    struct cached_relay c;
    struct takeover t = {0};
    unsigned rounds = 0;
    open_relay(&c);
    remember_all(&c, count);
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    for (; t.heard < count && clock_now_us() < until_us; rounds++) {
        for (unsigned i = 0; i < count; i++) {
            if (!t.is_heard[i]) {
                const int client = bind_client(i);
                speak(&c.relay, client, i);
                (void)close(client);
            }
            if (i % 50 == 49) {
                hear_all(&c.relay, 1, &t);
            }
        }
        hear_all(&c.relay, 20, &t);
    }
    print_message("%u flows taken over, all within %u datagrams of each; later than 20 ms: %u, the "
                  "slowest after %llu us\n",
                  t.heard, rounds, t.late, (unsigned long long)t.worst_us);
    /* How fast is judged where nothing else runs: tests/faults. */
    assert_int_equal(t.heard, count);
    close_relay(&c);
}

static void a_hundred_flows_are_taken_over(void **state)
{
    (void)state;
    take_over(100);
}

static void five_thousand_flows_are_taken_over(void **state)
{
    (void)state;
    take_over(FLOWS_MAX);
}

/* A client that Redis does not know. False when the answer was late, or a second was over. */
static bool is_asked_for_once(const struct cached_relay *c, unsigned client)
{
    enum { DATAGRAMS = 50 };
    struct heard heard;
    const uint64_t asked_before = SUM(&c->relay, held[HOLD_ASK]);
    const uint64_t away_before = SUM(&c->relay, cache_away);
    const uint64_t late_before = SUM(&c->relay, cache_timeouts);
    const uint64_t dropped_before = SUM(&c->relay, datagrams[FORWARD_UP_NO_FLOW]);
    const uint64_t begin_us = clock_now_us();
    const int fd = bind_client(ATTEMPTS + client);
    for (uint32_t i = 0; i < DATAGRAMS; i++) {
        speak(&c->relay, fd, i);
        (void)poll(NULL, 0, 2);
    }
    (void)close(fd);
    WAIT_FOR_SUM(&c->relay, datagrams[FORWARD_UP_NO_FLOW], dropped_before + DATAGRAMS);
    const bool is_calm = SUM(&c->relay, cache_timeouts) == late_before &&
                         SUM(&c->relay, cache_away) == away_before &&
                         clock_now_us() - begin_us < HOLD_ABSENT_US;
    assert_false(hear(&c->relay, 0, &heard));
    assert_true(!is_calm || SUM(&c->relay, held[HOLD_ASK]) == asked_before + 1);
    return is_calm;
}

static void a_stranger_is_dropped_and_asked_for_once_a_second(void **state)
{
    (void)state;
    attempt(is_asked_for_once);
}

static uint64_t answers(const struct cached_relay *c)
{
    const struct flow_cache_counters *counters = flow_cache_counters(c->relay.cache);
    uint64_t total = 0;
    for (unsigned i = 0; i < FLOW_CACHE_RESULT_COUNT; i++) {
        total += metric_get(&counters->answers[i]);
    }
    return total;
}

/* Until Redis has said what it knows of this client. Returns how often it spoke. */
static unsigned speak_until_answered(const struct cached_relay *c, unsigned number)
{
    const uint64_t before = answers(c);
    const int client = bind_client(number);
    unsigned spoken = 0;
    for (; answers(c) == before; spoken++) {
        assert_true(spoken < ATTEMPTS);
        speak(&c->relay, client, spoken);
        (void)poll(NULL, 0, 100);
    }
    (void)close(client);
    return spoken;
}

static void a_poisoned_entry_sends_nothing_anywhere(void **state)
{
    static const char *const value[] = {
        "0001|5eed0001|00001000|127.0.0.1|9",  /* not where the table says */
        "0001|5eed0002|00001000|127.0.0.1|9",  /* nobody */
        "0002|5eed0001|00001000|127.0.0.1|9",  /* another cluster's */
        "0001|5eed0001|00001000|127.0.0.1|9 ", /* no value of ours */
        "",
    };
    struct cached_relay c;
    struct heard heard;
    uint64_t spoken = 0;
    (void)state;
    open_relay(&c);
    for (unsigned i = 0; i < COUNT_OF(value); i++) {
        redisContext *link = redisConnect("127.0.0.1", c.redis.port);
        char key[FLOW_CACHE_KEY_CAP];
        write_key(i, key);
        freeReplyObject(redisCommand(link, "SET %s %s", key, value[i]));
        redisFree(link);
        spoken += speak_until_answered(&c, i);
    }
    WAIT_FOR_SUM(&c.relay, datagrams[FORWARD_UP_NO_FLOW], spoken);
    WAIT_FOR_SUM(&c.relay, from_cache[FORWARD_CACHE_NEXT_HOP], 1);
    WAIT_FOR_SUM(&c.relay, from_cache[FORWARD_CACHE_INSTANCE], 1);
    WAIT_FOR_SUM(&c.relay, from_cache[FORWARD_CACHE_CLUSTER], 1);
    assert_false(hear(&c.relay, 100, &heard));
    assert_int_equal(SUM(&c.relay, from_cache[FORWARD_CACHE_TAKEN]), 0);
    close_relay(&c);
}

/* A frozen Redis: strangers are held, at most four of each and 20 ms, and given up. False when we
 * were so slow that the cache had given it up. */
static bool is_held_for_a_while(const struct cached_relay *c, unsigned attempts)
{
    enum { CLIENTS = 40, ROUNDS = 20 };
    int client[CLIENTS];
    uint64_t most_held = 0;
    const uint64_t dropped_before = SUM(&c->relay, datagrams[FORWARD_UP_NO_FLOW]);
    const uint64_t late_before = SUM(&c->relay, cache_timeouts);
    const uint64_t away_before = SUM(&c->relay, cache_away);
    for (unsigned i = 0; i < CLIENTS; i++) {
        client[i] = bind_client((attempts + 1) * CLIENTS + i);
    }
    redis_server_signal(&c->redis, SIGSTOP);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < CLIENTS; i++) {
            speak(&c->relay, client[i], round);
        }
        most_held = time_later(most_held, SUM(&c->relay, held_now));
        (void)poll(NULL, 0, 2);
    }
    const uint64_t last_us = clock_now_us();
    while (SUM(&c->relay, held_now) > 0) {
        assert_true(clock_now_us() - last_us < FAR_END_PATIENCE_MS * US_PER_MS);
    }
    const uint64_t held_us = clock_now_us() - last_us;
    const bool is_calm = SUM(&c->relay, cache_away) == away_before;
    print_message("frozen: %d held at most, the last %d us\n", (int)most_held, (int)held_us);
    redis_server_signal(&c->redis, SIGCONT);
    for (unsigned i = 0; i < CLIENTS; i++) {
        (void)close(client[i]);
    }
    assert_in_range(most_held, 0, CLIENTS * HOLD_PER_CLIENT);
    WAIT_FOR_SUM(&c->relay, datagrams[FORWARD_UP_NO_FLOW], dropped_before + CLIENTS * ROUNDS);
    assert_true(!is_calm || SUM(&c->relay, cache_timeouts) > late_before);
    return is_calm && most_held > 0 && held_us < 10 * HOLD_LIMIT_US;
}

static void with_a_frozen_redis_nothing_is_held_for_long(void **state)
{
    (void)state;
    attempt(is_held_for_a_while);
}

static void without_redis_a_stranger_is_dropped_at_once(void **state)
{
    struct cached_relay c;
    (void)state;
    open_relay(&c);
    redis_server_kill(&c.redis);
    wait_until_up(c.relay.cache, false);
    const int client = bind_client(0);
    speak(&c.relay, client, 0);
    WAIT_FOR_SUM(&c.relay, cache_away, 1);
    WAIT_FOR_SUM(&c.relay, datagrams[FORWARD_UP_NO_FLOW], 1);
    (void)close(client);
    close_relay(&c);
}

/* What one relay writes, another one reads. */
static void a_downlink_is_written_behind(void **state)
{
    uint8_t packet[RELAY_SHIM_BYTES + 60] = {0};
    struct cached_relay c;
    struct sockaddr_storage name;
    char command[FLOW_CACHE_KEY_CAP + 8];
    char expected[FLOW_CACHE_VALUE_BYTES_MAX + 1];
    (void)state;
    open_relay(&c);
    const int client = bind_client(7);
    const struct relay_shim shim = {.flags = RELAY_SHIM_DOWNLINK,
                                    .datagram_bytes = 60,
                                    .instance_id = INSTANCE,
                                    .session_id = SESSION_BASE,
                                    .client = client_of(7)};
    relay_shim_write(c.relay.ring, &shim, packet);
    const socklen_t len = net_addr_to_sockaddr(&c.relay.config.forwarder.internal, &name);
    assert_int_equal(
        sendto(c.relay.transceiver, packet, sizeof(packet), 0, (struct sockaddr *)&name, len),
        sizeof(packet));
    loopback_relay_wait_for(&flow_cache_counters(c.relay.cache)->stores_written, 1);
    (void)snprintf(command, sizeof(command), "GET ");
    write_key(7, command + strlen(command));
    redisReply *reply = redis_server_ask(&c.redis, command);
    const struct cached_flow flow = {.next_hop = far_end_address_of(c.relay.transceiver),
                                     .instance_id = INSTANCE,
                                     .session_id = SESSION_BASE,
                                     .cluster_id = LOOPBACK_RELAY_CLUSTER};
    assert_true(flow_cache_write_value(&flow, expected));
    assert_string_equal(reply->str, expected);
    freeReplyObject(reply);
    (void)close(client);
    close_relay(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_comes_from_another_relay_is_taken_over),
        cmocka_unit_test(a_hundred_flows_are_taken_over),
        cmocka_unit_test(five_thousand_flows_are_taken_over),
        cmocka_unit_test(a_stranger_is_dropped_and_asked_for_once_a_second),
        cmocka_unit_test(a_poisoned_entry_sends_nothing_anywhere),
        cmocka_unit_test(with_a_frozen_redis_nothing_is_held_for_long),
        cmocka_unit_test(without_redis_a_stranger_is_dropped_at_once),
        cmocka_unit_test(a_downlink_is_written_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
