/* event_loop_test.c - a shard on loopback: strangers, letters, a backend that comes and goes */
#include "tests/testing.h"

#include "common/crypto/hmac_sha1.h"
#include "common/routing/routing_token.h"
#include "common/stun/stun_integrity.h"
#include "tests/loopback_shard.h"

/* --- what a relay sends ----------------------------------------------------------------------- */

static void send_to_shard(const struct loopback_shard *w, const uint8_t *data, size_t len)
{
    struct sockaddr_storage to;
    const socklen_t to_len = net_addr_to_sockaddr(&w->loop_config.media_address, &to);
    assert_int_equal(sendto(w->relay, data, len, 0, (struct sockaddr *)&to, to_len), len);
}

static size_t write_shim(struct key_ring *ring, uint32_t instance_id, uint32_t session_id,
                         struct bytes_view datagram, uint8_t *out)
{
    struct relay_shim shim = {.instance_id = instance_id,
                              .session_id = session_id,
                              .datagram_bytes = (uint16_t)datagram.len};
    assert_true(net_addr_parse("203.0.113.9:40000", &shim.client));
    relay_shim_write(ring, &shim, out);
    memcpy(out + RELAY_SHIM_BYTES, datagram.data, datagram.len);
    return RELAY_SHIM_BYTES + datagram.len;
}

static void send_shim(const struct loopback_shard *w, struct key_ring *ring, uint32_t instance_id,
                      uint32_t session_id, struct bytes_view datagram)
{
    uint8_t packet[RELAY_SHIM_BYTES + 1500];
    send_to_shard(w, packet, write_shim(ring, instance_id, session_id, datagram, packet));
}

/* The type of the STUN message that comes back in a shim; 0 = nothing for that long. */
static uint16_t relay_hears(const struct loopback_shard *w, int timeout_ms)
{
    uint8_t packet[2000];
    struct relay_shim shim;
    struct pollfd fd = {.fd = w->relay, .events = POLLIN};
    if (poll(&fd, 1, timeout_ms) == 0) {
        return 0;
    }
    const ssize_t len = recv(w->relay, packet, sizeof(packet), 0);
    assert_true(len >= RELAY_SHIM_BYTES + 2);
    assert_int_equal(relay_shim_read(w->ring, bytes_view_of(packet, (size_t)len), &shim),
                     RELAY_SHIM_OK);
    return (uint16_t)(packet[RELAY_SHIM_BYTES] << 8 | packet[RELAY_SHIM_BYTES + 1]);
}

/* What stands behind `key` in the answer, up to the end of the line. */
static void find_line(struct bytes_view sdp, const char *key, char *out, size_t cap)
{
    const char *found = memmem(sdp.data, sdp.len, key, strlen(key));
    assert_non_null(found);
    found += strlen(key);
    const size_t len = strcspn(found, "\r");
    assert_true(len < cap);
    memcpy(out, found, len);
    out[len] = '\0';
}

/* A check of the client that got the answer. role: STUN_ICE_CONTROLLING, or the wrong one. */
static size_t write_check(struct bytes_view answer, uint16_t role, uint8_t *out, size_t cap)
{
    struct byte_writer w;
    struct hmac_sha1_key key;
    char ufrag[64];
    char pwd[64];
    char username[160];
    static const uint8_t id[STUN_TRANSACTION_ID_BYTES] = {1};
    find_line(answer, "a=ice-ufrag:", ufrag, sizeof(ufrag));
    find_line(answer, "a=ice-pwd:", pwd, sizeof(pwd));
    (void)snprintf(username, sizeof(username), "%s:Ab3+", ufrag); /* of UFRAG in sdp_samples.h */
    hmac_sha1_key_init(&key, bytes_view_of_text(pwd));
    byte_writer_init(&w, out, cap);
    stun_message_begin(&w, STUN_BINDING_REQUEST, id);
    stun_message_add(&w, STUN_USERNAME, bytes_view_of_text(username));
    stun_message_add_u64(&w, role, 1);
    stun_integrity_append(&w, &key);
    stun_fingerprint_append(&w);
    return w.len;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void a_shard_without_calls_starts_and_stops(void **state)
{
    (void)state;
    static struct loopback_shard w;
    loopback_shard_open(&w);
    loopback_shard_wait_for(&w.beat, clock_now_us()); /* it lives */
    loopback_shard_close(&w);
    loopback_shard_prepare(&w);
    struct fault fault = {0};
    w.loop = event_loop_create(&w.loop_config, &fault); /* never started */
    assert_non_null(w.loop);
    loopback_shard_close(&w);
}

static void what_can_not_work_is_a_fault_that_names_it(void **state)
{
    (void)state;
    static char long_path[200];
    (void)snprintf(long_path, sizeof(long_path), "unix:/%0107d", 0);
    const struct {
        const char *backend; /* NULL: it is the address that is taken */
        const char *text;
    } c[] = {
        {NULL, "Address already in use"},
        {"backend", "backend: not host:port"},
        {long_path, "is longer than 107"},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        static struct loopback_shard w;
        struct fault fault = {0};
        loopback_shard_prepare(&w);
        if (c[i].backend == NULL) {
            w.loop_config.media_address = far_end_address_of(w.relay);
        } else {
            (void)snprintf(w.config.backend, sizeof(w.config.backend), "%s", c[i].backend);
        }
        assert_null(event_loop_create(&w.loop_config, &fault));
        assert_non_null(strstr(fault.text, c[i].text));
        loopback_shard_close(&w);
    }
}

/* --- strangers -------------------------------------------------------------------------------- */

static void what_no_relay_of_ours_sends_is_counted_and_not_answered(void **state)
{
    (void)state;
    static struct loopback_shard w;
    static const uint8_t other_secret[KEY_RING_SECRET_BYTES] = {2};
    static const uint8_t junk[100] = {0x80, 111};
    struct key_ring *forger = key_ring_from_secret(7, other_secret);
    struct key_ring *unknown = key_ring_from_secret(8, other_secret);
    const struct bytes_view datagram = bytes_view_of(junk, sizeof(junk));
    loopback_shard_open(&w);
    const struct shard_uplink_counters *u = event_loop_uplink(w.loop);
    send_to_shard(&w, junk, 39);
    send_to_shard(&w, junk, 100);
    send_shim(&w, forger, LOOPBACK_SHARD_INSTANCE, 1, datagram);
    send_shim(&w, unknown, LOOPBACK_SHARD_INSTANCE, 1, datagram);
    send_shim(&w, w.ring, LOOPBACK_SHARD_INSTANCE + 1, 1, datagram);
    static const uint32_t nobody[] = {0, 1, 0xffffffff, 0x00ffff01};
    for (size_t i = 0; i < COUNT_OF(nobody); i++) {
        send_shim(&w, w.ring, LOOPBACK_SHARD_INSTANCE, nobody[i], datagram);
    }
    loopback_shard_wait_for(&u->no_session, COUNT_OF(nobody));
    assert_int_equal(metric_get(&u->relay_leg[RELAY_LEG_SHORT]), 1);
    assert_int_equal(metric_get(&u->relay_leg[RELAY_LEG_VERSION]), 1);
    assert_int_equal(metric_get(&u->relay_leg[RELAY_LEG_TAG]), 1);
    assert_int_equal(metric_get(&u->relay_leg[RELAY_LEG_UNKNOWN_KEY]), 1);
    assert_int_equal(metric_get(&u->relay_leg[RELAY_LEG_INSTANCE]), 1);
    assert_int_equal(metric_get(&u->relay_leg[RELAY_LEG_OK]), COUNT_OF(nobody));
    assert_int_equal(relay_hears(&w, 50), 0);
    assert_int_equal(metric_get(&event_loop_udp(w.loop)->sent_datagrams), 0);
    key_ring_destroy(forger);
    key_ring_destroy(unknown);
    loopback_shard_close(&w);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void call(struct loopback_shard *w, const struct control_request *request,
                 struct control_reply *reply)
{
    event_loop_call(w->loop, request, reply);
}

static void a_call_needs_a_backend_and_is_told_to_it(void **state)
{
    (void)state;
    static struct loopback_shard w;
    struct control_reply reply;
    const struct control_request request = loopback_shard_create_request("rtc_1");
    loopback_shard_open(&w);
    call(&w, &request, &reply);
    assert_int_equal(reply.refusal, CONTROL_BACKEND_UNAVAILABLE);
    loopback_shard_greet(&w);
    call(&w, &request, &reply);
    assert_int_equal(reply.refusal, CONTROL_REFUSAL_NONE);
    assert_int_equal(far_end_hear(&w.backend), BACKEND_SESSION_START);
    assert_int_equal(metric_get(&event_loop_calls(w.loop)->sessions_active), 1);
    event_loop_drain(w.loop);
    call(&w, &request, &reply);
    assert_int_equal(reply.refusal, CONTROL_DRAINING);
    assert_int_equal(far_end_hear(&w.backend), BACKEND_GOAWAY);
    event_loop_stop(w.loop); /* ends what runs, and says so */
    assert_int_equal(far_end_hear(&w.backend), BACKEND_SESSION_END);
    assert_non_null(strstr((const char *)w.backend.payload, "shutdown"));
    assert_int_equal(metric_get(&event_loop_calls(w.loop)->sessions_active), 0);
    loopback_shard_close(&w);
}

static void a_check_is_answered_through_the_relay_it_came_by(void **state)
{
    (void)state;
    static struct loopback_shard w;
    struct control_reply reply;
    uint8_t check[512];
    const struct control_request request = loopback_shard_create_request("rtc_1");
    loopback_shard_open(&w);
    loopback_shard_greet(&w);
    call(&w, &request, &reply);
    const size_t len = write_check(reply.answer_sdp, STUN_ICE_CONTROLLING, check, sizeof(check));
    send_shim(&w, w.ring, LOOPBACK_SHARD_INSTANCE, reply.session_id, bytes_view_of(check, len));
    assert_int_equal(relay_hears(&w, FAR_END_PATIENCE_MS), STUN_BINDING_SUCCESS);
    assert_int_equal(relay_hears(&w, FAR_END_PATIENCE_MS) >> 8, 22); /* our hello to its DTLS */
    loopback_shard_close(&w);
}

#define NOBODY      0x00ffff01
#define TRAIN_CALLS 2 /* as many may be set up at once */
#define TRAIN_BYTES (RELAY_SHIM_BYTES + 512)

static void add(const struct loopback_shard *w, struct udp_packet *packet,
                uint8_t bytes[TRAIN_BYTES], uint32_t session_id, struct bytes_view datagram)
{
    const size_t len = write_shim(w->ring, LOOPBACK_SHARD_INSTANCE, session_id, datagram, bytes);
    *packet = (struct udp_packet){{bytes, len, TRAIN_BYTES}, .to = w->loop_config.media_address};
}

/* One train of checks, with a short datagram of nobody in each second place; what is answered in a
 * turn leaves as a train, too. */
static void a_train_of_a_relay_reaches_each_call_and_is_answered_by_a_train(void **state)
{
    (void)state;
    static struct loopback_shard w;
    struct control_reply reply;
    struct udp_packet packet[2 * TRAIN_CALLS];
    static uint8_t bytes[2 * TRAIN_CALLS][TRAIN_BYTES];
    static const uint8_t junk[3];
    loopback_shard_open(&w);
    loopback_shard_greet(&w);
    for (size_t i = 0; i < TRAIN_CALLS; i++) {
        uint8_t check[512];
        const char id[] = {'r', 't', 'c', '_', (char)('1' + i), '\0'};
        const struct control_request request = loopback_shard_create_request(id);
        call(&w, &request, &reply);
        const size_t len =
            write_check(reply.answer_sdp, STUN_ICE_CONTROLLING, check, sizeof(check));
        add(&w, &packet[2 * i], bytes[2 * i], reply.session_id, bytes_view_of(check, len));
        add(&w, &packet[2 * i + 1], bytes[2 * i + 1], NOBODY, bytes_view_of(junk, sizeof(junk)));
    }
    struct udp_sender *sender = udp_sender_create(w.relay, true);
    assert_non_null(sender);
    udp_sender_flush(sender, packet, COUNT_OF(packet));
    size_t answered = 0;
    while (answered < TRAIN_CALLS) { /* and each gets a DTLS hello, which is longer */
        answered += relay_hears(&w, FAR_END_PATIENCE_MS) == STUN_BINDING_SUCCESS;
    }
    loopback_shard_wait_for(&event_loop_uplink(w.loop)->no_session, TRAIN_CALLS);
    const bool has_trains = metric_get(&udp_sender_counters(sender)->mode) == UDP_SEND_TRAINS;
    assert_int_equal(metric_get(&udp_sender_counters(sender)->trains), has_trains);
    loopback_shard_wait_for(&event_loop_trains(w.loop)->trains, has_trains); /* told when sent */
    assert_int_equal(metric_get(&event_loop_trains(w.loop)->trains) > 0, has_trains);
    udp_sender_destroy(sender);
    loopback_shard_close(&w);
}

/* A refused check is answered too, and no timer of its session stands still behind it: a shard that
 * ticks such a session for ever uses up its CPU. */
static void a_client_that_claims_our_role_costs_its_shard_nothing(void **state)
{
    (void)state;
    static struct loopback_shard w;
    struct control_reply reply;
    uint8_t check[512];
    const struct control_request request = loopback_shard_create_request("rtc_1");
    loopback_shard_open(&w);
    loopback_shard_greet(&w);
    call(&w, &request, &reply);
    const size_t len = write_check(reply.answer_sdp, STUN_ICE_CONTROLLED, check, sizeof(check));
    send_shim(&w, w.ring, LOOPBACK_SHARD_INSTANCE, reply.session_id, bytes_view_of(check, len));
    assert_int_equal(relay_hears(&w, FAR_END_PATIENCE_MS), STUN_BINDING_ERROR);
    /* No flow is announced that was never chosen, for two whole measures of the load. */
    assert_int_equal(relay_hears(&w, 2200), 0);
    assert_in_range(metric_get(&event_loop_counters(w.loop)->load_permille), 0, 300);
    const struct control_request unknown = {.request_id = {2}};
    call(&w, &unknown, &reply);
    assert_int_equal(reply.refusal, CONTROL_NOT_IMPLEMENTED);
    loopback_shard_close(&w);
}

/* Not accepted yet: told again on the next connection, and new ones are refused meanwhile. */
static void a_backend_that_breaks_is_dialled_again_and_told_of_its_calls(void **state)
{
    (void)state;
    static struct loopback_shard w;
    struct control_reply reply;
    const struct control_request request = loopback_shard_create_request("rtc_1");
    loopback_shard_open(&w);
    loopback_shard_greet(&w);
    call(&w, &request, &reply);
    assert_int_equal(reply.refusal, CONTROL_REFUSAL_NONE);
    assert_int_equal(far_end_hear(&w.backend), BACKEND_SESSION_START);
    for (uint64_t losses = 1; losses <= 2; losses++) {
        far_end_hang_up(&w.backend);
        loopback_shard_wait_for(&event_loop_backend(w.loop)->losses, losses);
        call(&w, &request, &reply);
        assert_int_equal(reply.refusal, CONTROL_BACKEND_UNAVAILABLE);
        loopback_shard_greet(&w);
        assert_int_equal(far_end_hear(&w.backend), BACKEND_SESSION_START);
        assert_int_equal(metric_get(&event_loop_calls(w.loop)->sessions_active), 1);
    }
    loopback_shard_close(&w);
}

/* On the same connection: there is no other. */
static void a_call_that_is_not_taken_back_is_offered_again(void **state)
{
    (void)state;
    static struct loopback_shard w;
    struct control_reply reply;
    const struct control_request request = loopback_shard_create_request("rtc_1");
    loopback_shard_open(&w);
    loopback_shard_greet(&w);
    call(&w, &request, &reply);
    assert_int_equal(far_end_hear(&w.backend), BACKEND_SESSION_START);
    far_end_say(&w.backend, BACKEND_SESSION_ACCEPT, reply.session_id, 0, "{}");
    /* An answer to a frame that came behind the ACCEPT: it was taken. */
    far_end_say(&w.backend, BACKEND_PING, 0, 1, "12345678");
    assert_int_equal(far_end_hear(&w.backend), BACKEND_PONG);
    far_end_hang_up(&w.backend);
    loopback_shard_wait_for(&event_loop_backend(w.loop)->losses, 1);
    far_end_accept(&w.backend);
    assert_int_equal(far_end_hear(&w.backend), BACKEND_HELLO);
    far_end_say(&w.backend, BACKEND_HELLO, 0, 0, "{\"resume\":true}");
    for (int tries = 0; tries < 3; tries++) {
        assert_int_equal(far_end_hear(&w.backend), BACKEND_SESSION_RESUME);
        far_end_say(&w.backend, BACKEND_SESSION_REJECT, reply.session_id, 0,
                    "{\"code\":\"overload\",\"retry_elsewhere\":true}");
    }
    assert_int_equal(far_end_hear(&w.backend), BACKEND_SESSION_RESUME);
    far_end_say(&w.backend, BACKEND_SESSION_ACCEPT, reply.session_id, 0, "{}");
    loopback_shard_wait_for(&event_loop_calls(w.loop)->backend_resumes, 1);
    loopback_shard_close(&w);
}

static void a_backend_that_ends_a_call_is_answered(void **state)
{
    (void)state;
    static struct loopback_shard w;
    struct control_reply reply;
    const struct control_request request = loopback_shard_create_request("rtc_1");
    loopback_shard_open(&w);
    loopback_shard_greet(&w);
    call(&w, &request, &reply);
    assert_int_equal(far_end_hear(&w.backend), BACKEND_SESSION_START);
    far_end_say(&w.backend, BACKEND_SESSION_END, reply.session_id, 0, "{}");
    assert_int_equal(far_end_hear(&w.backend), BACKEND_SESSION_ENDED);
    loopback_shard_wait_for(&event_loop_calls(w.loop)->sessions_ended[SESSION_END_BACKEND_ENDED],
                            1);
    loopback_shard_close(&w);
}

static void a_new_key_ring_counts_from_the_next_datagram(void **state)
{
    (void)state;
    static struct loopback_shard w;
    static const uint8_t new_secret[KEY_RING_SECRET_BYTES] = {3};
    static const uint8_t junk[100] = {0x80, 111};
    struct key_ring *new_ring = key_ring_from_secret(9, new_secret);
    loopback_shard_open(&w);
    const struct shard_uplink_counters *u = event_loop_uplink(w.loop);
    send_shim(&w, new_ring, LOOPBACK_SHARD_INSTANCE, NOBODY, bytes_view_of(junk, sizeof(junk)));
    loopback_shard_wait_for(&u->relay_leg[RELAY_LEG_UNKNOWN_KEY], 1);
    event_loop_set_key_ring(w.loop, new_ring); /* it is copied */
    send_shim(&w, new_ring, LOOPBACK_SHARD_INSTANCE, NOBODY, bytes_view_of(junk, sizeof(junk)));
    loopback_shard_wait_for(&u->no_session, 1);
    send_shim(&w, w.ring, LOOPBACK_SHARD_INSTANCE, NOBODY, bytes_view_of(junk, sizeof(junk)));
    loopback_shard_wait_for(&u->relay_leg[RELAY_LEG_UNKNOWN_KEY], 2);
    key_ring_destroy(new_ring);
    loopback_shard_close(&w);
}

/* --- two shards ------------------------------------------------------------------------------- */

/* Of two; the other is the test. */
static void open_one_of_two(struct loopback_shard *w)
{
    struct fault fault;
    loopback_shard_prepare(w);
    w->config.shard_count = 2;
    w->loop = event_loop_create(&w->loop_config, &fault);
    assert_true(w->loop != NULL && event_loop_start(w->loop, &fault));
}

static void a_datagram_that_names_another_shard_goes_to_it_until_its_inbox_is_full(void **state)
{
    (void)state;
    static struct loopback_shard w;
    struct shard_inbox_datagram out;
    static const uint8_t words[] = "for the other one";
    const uint32_t session_id = SESSION_ID_FIRST(1) | 0x0203;
    const struct bytes_view datagram = bytes_view_of(words, sizeof(words));
    open_one_of_two(&w);
    const struct shard_uplink_counters *u = event_loop_uplink(w.loop);
    uint64_t sent = 0;
    while (metric_get(&u->misdirected_dropped) == 0) {
        send_shim(&w, w.ring, LOOPBACK_SHARD_INSTANCE, session_id, datagram);
        loopback_shard_wait_for(&u->misdirected, ++sent);
    }
    const struct net_addr relay = far_end_address_of(w.relay);
    for (uint64_t taken = 1; taken < sent; taken++) {
        assert_true(shard_inbox_take(&w.inbox[1], &out));
        assert_int_equal(out.uplink.session_id, session_id);
        assert_int_equal(out.uplink.path.client.port, 40000);
        assert_true(net_addr_equal(&out.uplink.path.relay, &relay));
        assert_int_equal(out.uplink.datagram.len, sizeof(words));
        assert_memory_equal(out.data, words, sizeof(words));
    }
    assert_false(shard_inbox_take(&w.inbox[1], &out));
    send_shim(&w, w.ring, LOOPBACK_SHARD_INSTANCE, SESSION_ID_FIRST(2),
              datagram); /* there is none */
    loopback_shard_wait_for(&u->no_session, 1);
    assert_int_equal(metric_get(&u->misdirected), sent);
    loopback_shard_close(&w);
}

static void a_datagram_from_the_inbox_is_as_good_as_one_from_the_socket(void **state)
{
    (void)state;
    static struct loopback_shard w;
    struct control_reply reply;
    uint8_t check[512];
    const struct control_request request = loopback_shard_create_request("rtc_1");
    open_one_of_two(&w);
    loopback_shard_greet(&w);
    call(&w, &request, &reply);
    const size_t len = write_check(reply.answer_sdp, STUN_ICE_CONTROLLING, check, sizeof(check));
    struct relay_leg_uplink uplink = {.session_id = reply.session_id,
                                      .path.relay = far_end_address_of(w.relay),
                                      .datagram = {check, len, sizeof(check)}};
    assert_true(net_addr_parse("203.0.113.9:40000", &uplink.path.client));
    assert_true(shard_inbox_put(&w.inbox[0], &uplink));
    assert_int_equal(relay_hears(&w, FAR_END_PATIENCE_MS), STUN_BINDING_SUCCESS);
    loopback_shard_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_without_calls_starts_and_stops),
        cmocka_unit_test(what_can_not_work_is_a_fault_that_names_it),
        cmocka_unit_test(what_no_relay_of_ours_sends_is_counted_and_not_answered),
        cmocka_unit_test(a_call_needs_a_backend_and_is_told_to_it),
        cmocka_unit_test(a_check_is_answered_through_the_relay_it_came_by),
        cmocka_unit_test(a_train_of_a_relay_reaches_each_call_and_is_answered_by_a_train),
        cmocka_unit_test(a_datagram_that_names_another_shard_goes_to_it_until_its_inbox_is_full),
        cmocka_unit_test(a_datagram_from_the_inbox_is_as_good_as_one_from_the_socket),
        cmocka_unit_test(a_client_that_claims_our_role_costs_its_shard_nothing),
        cmocka_unit_test(a_backend_that_breaks_is_dialled_again_and_told_of_its_calls),
        cmocka_unit_test(a_call_that_is_not_taken_back_is_offered_again),
        cmocka_unit_test(a_backend_that_ends_a_call_is_answered),
        cmocka_unit_test(a_new_key_ring_counts_from_the_next_datagram),
    };
    return cmocka_run_group_tests(tests, loopback_shard_begin, loopback_shard_end);
}
