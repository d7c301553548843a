/* relay_worker_test.c - two workers on loopback forward, teach each other, and count */
#include "tests/testing.h"

#include "common/routing/routing_token.h"
#include "common/stun/stun_message.h"
#include "tests/loopback_relay.h"

#define REQUEST_CAP 256

static const struct flow_owner owner = {0x5eed0001, 0x2a03}; /* on shard 0 */

static void send_to(int from, const struct net_addr *to, const void *data, size_t len)
{
    struct sockaddr_storage address;
    const socklen_t address_len = net_addr_to_sockaddr(to, &address);
    assert_int_equal(sendto(from, data, len, 0, (struct sockaddr *)&address, address_len), len);
}

/* The next datagram, which has to come. */
static size_t hear(int fd, uint8_t *data, size_t cap, struct net_addr *from)
{
    struct sockaddr_storage address = {0};
    socklen_t address_len = sizeof(address);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, FAR_END_PATIENCE_MS), 1);
    const ssize_t len = recvfrom(fd, data, cap, 0, (struct sockaddr *)&address, &address_len);
    assert_true(len >= 0 && net_addr_from_sockaddr(&address, from));
    return (size_t)len;
}

/* A Binding request of the owner's client, sealed with the ring's active key. */
static size_t write_request(struct key_ring *ring, uint8_t out[REQUEST_CAP])
{
    static const uint8_t transaction_id[STUN_TRANSACTION_ID_BYTES] = {9, 8, 7};
    const struct routing_token token = {.cluster_id = LOOPBACK_RELAY_CLUSTER,
                                        .instance_id = owner.instance_id,
                                        .session_id = owner.session_id};
    char username[ROUTING_TOKEN_CHARS + 5];
    struct byte_writer w;
    routing_token_seal(ring, &token, username);
    memcpy(username + ROUTING_TOKEN_CHARS, ":peer", 5);
    byte_writer_init(&w, out, REQUEST_CAP);
    stun_message_begin(&w, STUN_BINDING_REQUEST, transaction_id);
    stun_message_add(&w, STUN_USERNAME, bytes_view_of(username, sizeof(username)));
    assert_false(w.failed);
    return w.len;
}

static void tell_all(const struct loopback_relay *w, const struct inbox_message *message)
{
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        assert_true(worker_inbox_post(relay_worker_inbox(w->worker[i]), message));
    }
}

static void announce(const struct loopback_relay *w)
{
    tell_all(w, &(struct inbox_message){
                    .kind = INBOX_ANNOUNCEMENT,
                    .body.announcement = {.instance_id = owner.instance_id,
                                          .cluster_id = LOOPBACK_RELAY_CLUSTER,
                                          .shard_count = 1,
                                          .media_address = far_end_address_of(w->transceiver),
                                          .start_time_unix_us = 1,
                                          .sequence = 1}});
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        loopback_relay_wait_for(&relay_worker_counters(w->worker[i])->routes, 1);
    }
}

static void wait_for_reason(const struct loopback_relay *w, enum forward_reason reason,
                            uint64_t value)
{
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    uint64_t sum = 0;
    while (sum < value) {
        sum = 0;
        for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
            sum += metric_get(&relay_worker_counters(w->worker[i])->datagrams[reason]);
        }
        if (clock_now_us() >= until_us) {
            fail_msg("%s stays at %llu", forward_reason_name(reason), (unsigned long long)sum);
        }
        (void)poll(NULL, 0, 2);
    }
    assert_int_equal(sum, value);
}

/* What a transceiver sends to this client in a session; returns its length. */
static size_t write_downlink_of(const struct loopback_relay *w, uint32_t session_id,
                                const struct net_addr *client, uint8_t out[RELAY_SHIM_BYTES + 60])
{
    const struct relay_shim shim = {.flags = RELAY_SHIM_DOWNLINK,
                                    .datagram_bytes = 60,
                                    .instance_id = owner.instance_id,
                                    .session_id = session_id,
                                    .client = *client};
    relay_shim_write(w->ring, &shim, out);
    memset(out + RELAY_SHIM_BYTES, 0x90, 60);
    return RELAY_SHIM_BYTES + 60;
}

static size_t write_downlink(const struct loopback_relay *w, const struct net_addr *client,
                             uint8_t out[RELAY_SHIM_BYTES + 60])
{
    return write_downlink_of(w, owner.session_id, client, out);
}

static uint64_t bytes_of_all(const struct loopback_relay *w, enum relay_direction direction)
{
    return metric_get(&relay_worker_counters(w->worker[0])->bytes[direction]) +
           metric_get(&relay_worker_counters(w->worker[1])->bytes[direction]);
}

static void a_datagram_goes_up_with_a_shim_and_comes_down_without(void **state)
{
    struct loopback_relay w;
    struct relay_shim shim;
    struct net_addr from;
    uint8_t request[REQUEST_CAP];
    uint8_t packet[2048];
    (void)state;
    loopback_relay_open(&w);
    loopback_relay_start(&w);
    announce(&w);

    const size_t request_len = write_request(w.ring, request);
    send_to(w.client, &w.config.forwarder.listen[0], request, request_len);
    const size_t up_len = hear(w.transceiver, packet, sizeof(packet), &from);
    assert_int_equal(up_len, RELAY_SHIM_BYTES + request_len);
    assert_int_equal(relay_shim_read(w.ring, bytes_view_of(packet, up_len), &shim), RELAY_SHIM_OK);
    assert_memory_equal(packet + RELAY_SHIM_BYTES, request, request_len);
    assert_int_equal(shim.session_id, owner.session_id);
    const struct net_addr client = far_end_address_of(w.client);
    assert_true(net_addr_equal(&shim.client, &client));

    /* Down by the address that it came up from. */
    const size_t down_len = write_downlink(&w, &client, packet);
    send_to(w.transceiver, &from, packet, down_len);
    uint8_t heard[2048];
    assert_int_equal(hear(w.client, heard, sizeof(heard), &from), 60);
    assert_memory_equal(heard, packet + RELAY_SHIM_BYTES, 60);
    assert_true(net_addr_equal(&from, &w.config.forwarder.listen[0]));

    wait_for_reason(&w, FORWARD_UP_TOKEN, 1);
    wait_for_reason(&w, FORWARD_DOWN_SHIM, 1);
    loopback_relay_close(&w);
}

static void bytes_are_counted_without_shims(void **state)
{
    struct loopback_relay w;
    struct net_addr from;
    uint8_t packet[2048];
    (void)state;
    loopback_relay_open(&w);
    loopback_relay_start(&w);
    announce(&w);
    const size_t request_len = write_request(w.ring, packet);
    send_to(w.client, &w.config.forwarder.listen[0], packet, request_len);
    (void)hear(w.transceiver, packet, sizeof(packet), &from);
    const struct net_addr client = far_end_address_of(w.client);
    send_to(w.transceiver, &from, packet, write_downlink(&w, &client, packet));
    (void)hear(w.client, packet, sizeof(packet), &from);
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        relay_worker_stop(w.worker[i]); /* all is counted */
    }
    assert_int_equal(bytes_of_all(&w, RELAY_UP), request_len);
    assert_int_equal(bytes_of_all(&w, RELAY_DOWN), 60);
    loopback_relay_close(&w);
}

static void garbage_is_counted_and_goes_nowhere(void **state)
{
    static const struct {
        enum forward_reason reason;
        uint8_t first;
        size_t len;
        bool is_down;
    } row[] = {
        {FORWARD_UP_LENGTH, 0x80, 0, false},     {FORWARD_UP_LENGTH, 0x80, 11, false},
        {FORWARD_UP_NO_FLOW, 0x80, 12, false},   {FORWARD_UP_NO_FLOW, 0x80, 1500, false},
        {FORWARD_UP_LENGTH, 0x80, 1501, false},  {FORWARD_UP_KIND, 0xff, 60, false},
        {FORWARD_UP_STUN, 0x00, 60, false},      {FORWARD_DOWN_SHORT, 0xe5, 39, true},
        {FORWARD_DOWN_VERSION, 0xff, 100, true},
    };
    static uint8_t datagram[1501];
    uint64_t expected[FORWARD_REASON_COUNT] = {0};
    struct loopback_relay w;
    struct net_addr from;
    uint8_t packet[2048];
    (void)state;
    loopback_relay_open(&w);
    loopback_relay_start(&w);
    announce(&w);
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        memset(datagram, row[i].first, sizeof(datagram));
        send_to(row[i].is_down ? w.transceiver : w.client,
                row[i].is_down ? &w.config.forwarder.internal : &w.config.forwarder.listen[0],
                datagram, row[i].len);
        wait_for_reason(&w, row[i].reason, ++expected[row[i].reason]);
    }
    /* The first that anybody hears is the first that is good. */
    const size_t request_len = write_request(w.ring, datagram);
    send_to(w.client, &w.config.forwarder.listen[0], datagram, request_len);
    assert_int_equal(hear(w.transceiver, packet, sizeof(packet), &from),
                     RELAY_SHIM_BYTES + request_len);
    assert_int_equal(recv(w.client, packet, sizeof(packet), MSG_DONTWAIT), -1);
    loopback_relay_close(&w);
}

static void what_a_downlink_teaches_one_worker_the_other_knows_too(void **state)
{
    struct loopback_relay w;
    uint8_t packet[RELAY_SHIM_BYTES + 60];
    (void)state;
    loopback_relay_open(&w);
    loopback_relay_start(&w);
    const struct net_addr client = far_end_address_of(w.client);
    send_to(w.transceiver, &w.config.forwarder.internal, packet,
            write_downlink(&w, &client, packet));
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        const struct relay_counters *counters = relay_worker_counters(w.worker[i]);
        loopback_relay_wait_for(&counters->flows[FLOW_CONFIRMED], 1);
        loopback_relay_wait_for(&counters->routes, 1);
    }
    loopback_relay_close(&w);
}

/* The owner first and its copy after it; both say which bytes are the client's. */
static void what_two_sessions_claim_goes_to_both(void **state)
{
    static const uint32_t session_id[] = {0x2a03, 0x2a04};
    uint8_t rtp[60] = {0x80, 0x6f};
    struct loopback_relay w;
    struct relay_shim shim;
    struct net_addr from;
    uint8_t packet[2048];
    (void)state;
    loopback_relay_open(&w);
    loopback_relay_start(&w);
    announce(&w);
    const struct net_addr client = far_end_address_of(w.client);
    for (unsigned i = 0; i < COUNT_OF(session_id); i++) {
        const size_t len = write_downlink_of(&w, session_id[i], &client, packet);
        send_to(w.transceiver, &w.config.forwarder.internal, packet, len);
        (void)hear(w.client, packet, sizeof(packet), &from);
    }
    /* The worker that hears the client may have to learn both from the other one. */
    do {
        send_to(w.client, &w.config.forwarder.listen[0], rtp, sizeof(rtp));
        (void)poll(NULL, 0, 20);
    } while (metric_get(&relay_worker_counters(w.worker[0])->disputed) +
                 metric_get(&relay_worker_counters(w.worker[1])->disputed) ==
             0);
    bool is_heard[COUNT_OF(session_id)] = {false};
    while (!is_heard[0] || !is_heard[1]) {
        const size_t len = hear(w.transceiver, packet, sizeof(packet), &from);
        assert_int_equal(relay_shim_read(w.ring, bytes_view_of(packet, len), &shim), RELAY_SHIM_OK);
        assert_int_equal(shim.datagram_bytes, sizeof(rtp));
        assert_memory_equal(packet + RELAY_SHIM_BYTES, rtp, sizeof(rtp));
        is_heard[shim.session_id - session_id[0]] = true;
    }
    loopback_relay_close(&w);
}

static void a_new_ring_opens_tokens_and_the_old_one_no_more(void **state)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {8};
    struct loopback_relay w;
    struct net_addr from;
    uint8_t request[REQUEST_CAP];
    uint8_t packet[2048];
    (void)state;
    loopback_relay_open(&w);
    loopback_relay_start(&w);
    announce(&w);
    struct key_ring *new_ring = key_ring_from_secret(8, secret);
    send_to(w.client, &w.config.forwarder.listen[0], request, write_request(new_ring, request));
    wait_for_reason(&w, FORWARD_UP_TOKEN_KEY, 1);
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        const struct inbox_message message = {.kind = INBOX_RING,
                                              .body.ring = key_ring_copy(new_ring)};
        assert_true(worker_inbox_post(relay_worker_inbox(w.worker[i]), &message));
    }
    /* Rings are taken some time soon: until then the request is dropped, and sent again. */
    struct pollfd ready = {.fd = w.transceiver, .events = POLLIN};
    for (unsigned i = 0; i < 200 && poll(&ready, 1, 50) == 0; i++) {
        send_to(w.client, &w.config.forwarder.listen[0], request, write_request(new_ring, request));
    }
    (void)hear(w.transceiver, packet, sizeof(packet), &from);
    const uint64_t dropped =
        metric_get(&relay_worker_counters(w.worker[0])->datagrams[FORWARD_UP_TOKEN_KEY]) +
        metric_get(&relay_worker_counters(w.worker[1])->datagrams[FORWARD_UP_TOKEN_KEY]);
    send_to(w.client, &w.config.forwarder.listen[0], request, write_request(w.ring, request));
    wait_for_reason(&w, FORWARD_UP_TOKEN_KEY, dropped + 1);
    key_ring_destroy(new_ring);
    loopback_relay_close(&w);
}

static void an_internal_port_that_is_taken_is_a_fault_that_names_it(void **state)
{
    struct loopback_relay w;
    struct fault fault = {0};
    char address[NET_ADDR_TEXT_CAP];
    (void)state;
    loopback_relay_open(&w);
    /* Worker 0 has it already. */
    assert_null(loopback_relay_open_worker(&w, 0, &fault));
    assert_int_equal(fault.code, FAULT_SYSTEM);
    assert_non_null(strstr(
        fault.text, net_addr_format(&w.config.forwarder.internal, address, sizeof(address))));
    assert_non_null(strstr(fault.text, "in use (another relay? stop it or change the address)"));
    loopback_relay_close(&w);
}

/* While it slept on its sockets, their datagrams would wait for the next process. */
static void a_worker_without_a_datagram_stops_at_once(void **state)
{
    struct loopback_relay w;
    uint64_t shortest_us = TIME_NEVER;
    (void)state;
    for (unsigned tries = 0; tries < 5; tries++) {
        loopback_relay_open(&w);
        loopback_relay_start(&w);
        const uint64_t begin_us = clock_now_us();
        loopback_relay_wait_for(&w.beat[0], begin_us);
        const uint64_t stop_us = clock_now_us();
        relay_worker_stop(w.worker[0]);
        shortest_us = time_earlier(shortest_us, clock_now_us() - stop_us);
        loopback_relay_close(&w);
    }
    assert_true(shortest_us < 50 * US_PER_MS);
}

static void a_worker_beats_without_a_datagram_and_stops_twice(void **state)
{
    struct loopback_relay w;
    (void)state;
    loopback_relay_open(&w);
    const uint64_t begin_us = clock_now_us();
    loopback_relay_start(&w);
    loopback_relay_wait_for(&w.beat[0], begin_us);
    const uint64_t first_us = metric_get(&w.beat[0]);
    loopback_relay_wait_for(&w.beat[0], first_us + 1);
    relay_worker_stop(w.worker[0]);
    relay_worker_stop(w.worker[0]);
    loopback_relay_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_goes_up_with_a_shim_and_comes_down_without),
        cmocka_unit_test(bytes_are_counted_without_shims),
        cmocka_unit_test(garbage_is_counted_and_goes_nowhere),
        cmocka_unit_test(what_a_downlink_teaches_one_worker_the_other_knows_too),
        cmocka_unit_test(what_two_sessions_claim_goes_to_both),
        cmocka_unit_test(a_new_ring_opens_tokens_and_the_old_one_no_more),
        cmocka_unit_test(an_internal_port_that_is_taken_is_a_fault_that_names_it),
        cmocka_unit_test(a_worker_without_a_datagram_stops_at_once),
        cmocka_unit_test(a_worker_beats_without_a_datagram_and_stops_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
