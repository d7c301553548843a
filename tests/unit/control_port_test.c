/* control_port_test.c - requests over real NNG and their stored replies; announcements */
#include "tests/testing.h"

#include "common/control/control_event.h"
#include "common/runtime/message_port.h"
#include "services/transceiver/port/control_port.h"
#include "tests/loopback_shard.h"

#include <stdlib.h>

#define PATIENCE_US   (FAR_END_PATIENCE_MS * US_PER_MS)
#define UNIX_BEGIN_US UINT64_C(1790000000000000)

struct world {
    struct loopback_shard shard;
    struct control_port *port;
    struct message_port *announcements[2]; /* of a relay and of signaling */
    struct message_port *requests;         /* of signaling */
    struct control_decoder *decoder;
    uint8_t *message;
    uint64_t skipped_us; /* time that the test has let pass at once */
    uint64_t held_us;    /* the time that it is, as long as it is not 0 */
};

static struct message_port *open_port(enum message_port_kind kind)
{
    struct fault fault = {0};
    struct message_port *p = message_port_open(kind, &fault);
    assert_non_null(p);
    return p;
}

static void tcp_url(const struct net_addr *address, char url[96])
{
    char text[NET_ADDR_TEXT_CAP];
    (void)snprintf(url, 96, "tcp://%s", net_addr_format(address, text, sizeof(text)));
}

static void listen_for_announcements(struct world *w, size_t i)
{
    char url[96];
    char text[NET_ADDR_TEXT_CAP];
    struct fault fault = {0};
    struct transceiver_config *config = &w->shard.config;
    const struct net_addr address = far_end_free_address(SOCK_STREAM);
    w->announcements[i] = open_port(MESSAGE_PORT_SUB);
    tcp_url(&address, url);
    assert_true(message_port_subscribe(w->announcements[i], (struct bytes_view){0}));
    assert_true(message_port_listen(w->announcements[i], url, &fault));
    (void)snprintf(config->announce[i], sizeof(config->announce[i]), "%s",
                   net_addr_format(&address, text, sizeof(text)));
    config->announce_count++;
}

static void open_world(struct world *w)
{
    char url[96];
    struct fault fault = {0};
    *w = (struct world){.message = malloc(CONTROL_MESSAGE_BYTES_MAX),
                        .decoder = control_decoder_create()};
    loopback_shard_open(&w->shard);
    listen_for_announcements(w, 0);
    listen_for_announcements(w, 1);
    struct net_addr address = far_end_free_address(SOCK_STREAM);
    w->shard.config.control_port = address.port;
    w->shard.config.events_port = far_end_free_address(SOCK_STREAM).port;
    w->shard.config.media_port = 4000;
    tcp_url(&address, url);
    address.port = 0;
    w->port =
        control_port_open(&(struct control_port_config){.config = &w->shard.config,
                                                        .address = address,
                                                        .instance_id = LOOPBACK_SHARD_INSTANCE,
                                                        .loops = &w->shard.loop,
                                                        .loop_count = 1,
                                                        .key_ring = w->shard.ring,
                                                        .unix_offset_us = UNIX_BEGIN_US},
                          &fault);
    if (w->port == NULL) {
        fail_msg("%s", fault.text);
    }
    w->requests = open_port(MESSAGE_PORT_REQ);
    assert_true(message_port_dial(w->requests, url, &fault));
}

static void close_world(struct world *w)
{
    message_port_close(w->requests);
    control_port_close(w->port);
    message_port_close(w->announcements[0]);
    message_port_close(w->announcements[1]);
    control_decoder_destroy(w->decoder);
    free(w->message);
    loopback_shard_close(&w->shard);
}

static uint64_t now_us(const struct world *w)
{
    return w->held_us != 0 ? w->held_us : clock_now_us() + w->skipped_us;
}

/* One turn of the control loop, of at most `timeout_ms`, while `fd` is watched too. */
static bool serve(struct world *w, int fd, int timeout_ms)
{
    int fds[CONTROL_PORT_FDS];
    struct pollfd wait[CONTROL_PORT_FDS + 1] = {{fd, POLLIN, 0}};
    const size_t count = control_port_want(w->port, fds);
    for (size_t i = 0; i < count; i++) {
        wait[1 + i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    (void)poll(wait, 1 + count, timeout_ms);
    const uint64_t served_us = now_us(w);
    control_port_service(w->port, served_us);
    return wait[0].revents != 0;
}

static struct control_announcement hear_announcement(struct world *w, size_t i)
{
    struct bytes_view message;
    struct control_announcement a;
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    while (!serve(w, message_port_receive_fd(w->announcements[i]), 20) ||
           !message_port_receive(w->announcements[i], &message) ||
           !control_decode_announcement(w->decoder, message, &a)) {
        assert_true(clock_now_us() < until_us);
    }
    return a;
}

/* Until one says so: what was sent before may still come. */
static struct control_announcement hear_until(struct world *w, enum control_state state,
                                              bool backend_up)
{
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    for (;;) {
        const struct control_announcement a = hear_announcement(w, 0);
        if (a.state == state && a.backend_up == backend_up) {
            return a;
        }
        assert_true(clock_now_us() < until_us);
    }
}

static void send_message(struct world *w, struct bytes_view message)
{
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    while (!message_port_send(w->requests, message)) { /* not connected yet */
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 5);
    }
}

static struct control_reply hear_reply(struct world *w)
{
    struct bytes_view message;
    struct control_reply reply;
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    while (!serve(w, message_port_receive_fd(w->requests), 20) ||
           !message_port_receive(w->requests, &message)) {
        assert_true(clock_now_us() < until_us);
    }
    assert_true(control_decode_reply(w->decoder, message, &reply));
    return reply;
}

static struct control_reply ask(struct world *w, const struct control_request *request)
{
    const struct bytes_span room = {w->message, 0, CONTROL_MESSAGE_BYTES_MAX};
    send_message(w, bytes_view_of(w->message, control_encode_request(request, room)));
    const struct control_reply reply = hear_reply(w);
    assert_memory_equal(reply.request_id, request->request_id, CONTROL_REQUEST_ID_BYTES);
    return reply;
}

static void everybody_hears_all_that_placement_needs(void **state)
{
    (void)state;
    struct world w;
    char text[NET_ADDR_TEXT_CAP];
    open_world(&w);
    for (size_t i = 0; i < 2; i++) {
        const struct control_announcement a = hear_announcement(&w, i);
        assert_int_equal(a.cluster_id, LOOPBACK_SHARD_CLUSTER);
        assert_int_equal(a.instance_id, LOOPBACK_SHARD_INSTANCE);
        assert_string_equal(a.name, "tester");
        assert_string_equal(net_addr_format(&a.media_address, text, sizeof(text)),
                            "127.0.0.1:4000");
        assert_int_equal(a.capacity, 8);
        assert_int_equal(a.shard_count, 1);
        assert_int_equal(a.sessions_active, 0);
        assert_int_equal(a.state, CONTROL_STATE_READY);
        assert_false(a.backend_up);
        assert_int_equal(a.key_id_count, 1);
        assert_int_equal(a.key_ids[0], 7);
        assert_int_equal(a.key_id_active, 7);
        assert_true(a.start_time_unix_us == UNIX_BEGIN_US);
        assert_int_equal(a.drain_deadline_unix_ms, 0);
        assert_true(a.sequence > 0);
        (void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", w.shard.config.control_port);
        assert_string_equal(a.control_url, text);
        (void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", w.shard.config.events_port);
        assert_string_equal(a.events_url, text);
    }
    close_world(&w);
}

/* In the test's own time: one announcement each 500 ms, and none between. */
static void it_is_said_again_each_half_second(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    assert_true(control_port_next_timeout(w.port) <= now_us(&w) + 500000);
    uint64_t sequence = hear_announcement(&w, 0).sequence;
    for (int i = 0; i < 20; i++) {
        const uint64_t due_us = control_port_next_timeout(w.port);
        control_port_service(w.port, due_us - 1);
        assert_true(control_port_next_timeout(w.port) == due_us);
        control_port_service(w.port, due_us);
        assert_true(control_port_next_timeout(w.port) == due_us + 500000);
        w.skipped_us = due_us - clock_now_us();
        const uint64_t next = hear_announcement(&w, 0).sequence;
        assert_int_equal(next, sequence + 1);
        sequence = next;
    }
    close_world(&w);
}

static void a_change_is_said_at_once(void **state)
{
    (void)state;
    struct world w;
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {4};
    struct key_ring *other = key_ring_from_secret(12, secret);
    open_world(&w);
    (void)hear_announcement(&w, 0);
    loopback_shard_greet(&w.shard);
    const uint64_t before_us = control_port_next_timeout(w.port);
    (void)serve(&w, -1, 0);
    assert_true(control_port_next_timeout(w.port) > before_us); /* not only when it is due */
    (void)hear_until(&w, CONTROL_STATE_READY, true);
    control_port_set_key_ring(w.port, other);
    control_port_drain(w.port, 77000, now_us(&w));
    const struct control_announcement a = hear_until(&w, CONTROL_STATE_DRAINING, true);
    assert_int_equal(a.drain_deadline_unix_ms, 77);
    assert_int_equal(a.key_id_active, 12);
    key_ring_destroy(other);
    close_world(&w);
}

static void a_full_transceiver_says_so(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    w.shard.config.session_count_max = 0; /* as if all were taken */
    (void)hear_until(&w, CONTROL_STATE_FULL, false);
    close_world(&w);
}

static void a_request_is_answered_by_its_shard(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    struct control_request request = loopback_shard_create_request("rtc_1");
    assert_int_equal(ask(&w, &request).refusal, CONTROL_BACKEND_UNAVAILABLE);
    loopback_shard_greet(&w.shard);
    request.request_id[0] = 2;
    const struct control_reply reply = ask(&w, &request);
    assert_int_equal(reply.refusal, CONTROL_REFUSAL_NONE);
    assert_int_equal(reply.kind, CONTROL_CREATE_SESSION);
    assert_int_equal(reply.instance_id, LOOPBACK_SHARD_INSTANCE);
    assert_true(reply.answer_sdp.len > 100);
    struct control_request end = {.request_id = {3}, .kind = CONTROL_END_SESSION};
    (void)snprintf(end.body.end_session.call.call_id, sizeof(end.body.end_session.call.call_id),
                   "rtc_1");
    assert_int_equal(ask(&w, &end).refusal, CONTROL_REFUSAL_NONE);
    end.request_id[0] = 4;
    assert_int_equal(ask(&w, &end).refusal, CONTROL_NOT_FOUND);
    close_world(&w);
}

/* --- events ----------------------------------------------------------------------------------- */

/* Who hears the events of one call: dialled, and connected. */
static struct message_port *listen_to_call(struct world *w, const char *call_id)
{
    char url[96];
    uint8_t topic[CONTROL_TOPIC_CAP];
    struct fault fault = {0};
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    struct message_port *p = open_port(MESSAGE_PORT_SUB);
    (void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", w->shard.config.events_port);
    assert_true(
        message_port_subscribe(p, bytes_view_of(topic, control_sideband_topic(call_id, topic))));
    assert_true(message_port_dial(p, url, &fault));
    while (message_port_connections(p) == 0) {
        assert_true(clock_now_us() < until_us);
        (void)serve(w, -1, 5);
    }
    return p;
}

static struct control_sideband_event hear_event(struct world *w, struct message_port *p)
{
    struct bytes_view message;
    struct control_sideband_event event;
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    while (!serve(w, message_port_receive_fd(p), 20) || !message_port_receive(p, &message)) {
        assert_true(clock_now_us() < until_us);
    }
    assert_true(control_decode_sideband_event(w->decoder, message, &event));
    return event;
}

static struct control_session_event hear_news(struct world *w)
{
    struct bytes_view message;
    struct control_session_event event;
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    while (!serve(w, message_port_receive_fd(w->announcements[1]), 20) ||
           !message_port_receive(w->announcements[1], &message) ||
           !control_decode_session_event(w->decoder, message, &event)) {
        assert_true(clock_now_us() < until_us);
    }
    return event;
}

static struct control_request attach_request(const char *call_id, uint8_t request_id)
{
    struct control_request attach = {.request_id = {request_id}, .kind = CONTROL_ATTACH_SIDEBAND};
    struct control_attach_sideband *a = &attach.body.attach_sideband;
    (void)snprintf(a->call.call_id, sizeof(a->call.call_id), "%s", call_id);
    a->sideband_id = 7;
    a->lease_ms = 15000;
    return attach;
}

static void a_side_band_and_signaling_hear_that_a_call_is_over(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    (void)hear_announcement(&w, 1); /* it is connected */
    loopback_shard_greet(&w.shard);
    struct control_request create = loopback_shard_create_request("rtc_1");
    assert_int_equal(ask(&w, &create).refusal, CONTROL_REFUSAL_NONE);
    assert_int_equal(hear_news(&w).kind, CONTROL_SESSION_EVENT_CREATED);
    struct message_port *listener = listen_to_call(&w, "rtc_1");
    struct message_port *other = listen_to_call(&w, "rtc_2");
    const struct control_request attach = attach_request("rtc_1", 2);
    assert_true(ask(&w, &attach).is_new_sideband);
    assert_false(ask(&w, &attach).is_new_sideband); /* it is not answered from the store */
    struct control_request end = {.request_id = {3}, .kind = CONTROL_END_SESSION};
    (void)snprintf(end.body.end_session.call.call_id, sizeof(end.body.end_session.call.call_id),
                   "rtc_1");
    assert_int_equal(ask(&w, &end).refusal, CONTROL_REFUSAL_NONE);
    const struct control_sideband_event event = hear_event(&w, listener);
    assert_string_equal(event.call_id, "rtc_1");
    assert_int_equal(event.sequence, 1);
    assert_true(event.is_end);
    assert_true(bytes_equal(event.text, bytes_view_of_text("hangup")));
    const struct control_session_event news = hear_news(&w);
    assert_int_equal(news.kind, CONTROL_SESSION_EVENT_ENDED);
    assert_int_equal(news.instance_id, LOOPBACK_SHARD_INSTANCE);
    assert_string_equal(news.call_id, "rtc_1");
    assert_true(bytes_equal(news.reason, bytes_view_of_text("hangup")));
    assert_true(news.timeline.count > 0);
    assert_true(news.totals.count > 0);
    struct bytes_view message;
    assert_false(message_port_receive(other, &message));
    message_port_close(other);
    message_port_close(listener);
    close_world(&w);
}

/* NNG sends a request again when its answer is late: it must not make a second call. */
static void the_same_request_gets_the_same_reply_for_thirty_seconds(void **state)
{
    (void)state;
    struct world w;
    char first[SDP_ANSWER_BYTES_MAX];
    open_world(&w);
    loopback_shard_greet(&w.shard);
    const struct control_request request = loopback_shard_create_request("rtc_1");
    const struct control_reply created = ask(&w, &request);
    const uint64_t stored_us = now_us(&w);
    const size_t first_bytes = created.answer_sdp.len;
    memcpy(first, created.answer_sdp.data, first_bytes);
    for (int again = 0; again < 2; again++) {
        const struct control_reply reply = ask(&w, &request);
        assert_int_equal(reply.session_id, created.session_id);
        assert_true(bytes_equal(reply.answer_sdp, bytes_view_of(first, first_bytes)));
        assert_int_equal(metric_get(&event_loop_calls(w.shard.loop)->sessions_created), 1);
        w.held_us = stored_us + 29 * US_PER_S;
    }
    w.held_us = stored_us + 31 * US_PER_S;
    assert_int_not_equal(ask(&w, &request).session_id, created.session_id);
    assert_int_equal(metric_get(&event_loop_calls(w.shard.loop)->sessions_created), 2);
    close_world(&w);
}

static struct control_request inject_request(uint8_t request_id)
{
    struct control_request inject = {.request_id = {request_id}, .kind = CONTROL_INJECT_EVENT};
    struct control_inject_event *i = &inject.body.inject_event;
    (void)snprintf(i->call.call_id, sizeof(i->call.call_id), "rtc_1");
    i->sideband_id = 7;
    i->event = bytes_view_of_text("{\"type\":\"response.create\"}");
    return inject;
}

/* The backend accepts the call that it is told of. */
static void accept_call(struct world *w, uint32_t session)
{
    while (far_end_hear(&w->shard.backend) != BACKEND_SESSION_START) {
    }
    far_end_say(&w->shard.backend, BACKEND_SESSION_ACCEPT, session, 0, "{}");
}

static uint64_t injected(const struct world *w)
{
    return metric_get(&event_loop_calls(w->shard.loop)->events_injected);
}

/* And it must not say an event twice. */
static void an_event_that_is_asked_for_again_is_said_once(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    loopback_shard_greet(&w.shard);
    const struct control_request create = loopback_shard_create_request("rtc_1");
    const uint32_t session_id = ask(&w, &create).session_id;
    const struct control_request attach = attach_request("rtc_1", 2);
    assert_true(ask(&w, &attach).is_new_sideband);
    accept_call(&w, session_id);
    struct control_request inject = inject_request(3);
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    while (ask(&w, &inject).refusal == CONTROL_BACKEND_UNAVAILABLE) { /* its ACCEPT is on the way */
        assert_true(clock_now_us() < until_us);
        inject.request_id[1]++;
    }
    assert_int_equal(injected(&w), 1);
    const struct control_reply again = ask(&w, &inject);
    assert_int_equal(again.kind, CONTROL_INJECT_EVENT);
    assert_int_equal(again.refusal, CONTROL_REFUSAL_NONE);
    assert_int_equal(injected(&w), 1);
    close_world(&w);
}

static void what_is_no_request_is_refused_and_the_next_one_is_heard(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    static const char *const junk[] = {"", "nonsense", "\xff\xff\xff\xff\xff\xff\xff\xff"};
    for (size_t i = 0; i < COUNT_OF(junk); i++) {
        send_message(&w, bytes_view_of_text(junk[i]));
        assert_int_equal(hear_reply(&w).refusal, CONTROL_BAD_OFFER);
    }
    const struct control_request unknown = {.request_id = {9}};
    assert_int_equal(ask(&w, &unknown).refusal, CONTROL_NOT_IMPLEMENTED);
    close_world(&w);
}

static void a_port_that_is_taken_is_one_fault_and_the_one_before_goes_on(void **state)
{
    (void)state;
    struct world w;
    struct fault fault = {0};
    open_world(&w);
    const int taken = far_end_bind(SOCK_STREAM);
    assert_int_equal(listen(taken, 1), 0);
    struct net_addr address = far_end_address_of(taken);
    w.shard.config.control_port = address.port;
    address.port = 0;
    assert_null(control_port_open(
        &(struct control_port_config){.config = &w.shard.config, .address = address}, &fault));
    assert_int_equal(fault.code, FAULT_SYSTEM);
    assert_non_null(strstr(fault.text, "listen tcp://127.0.0.1:"));
    (void)close(taken);
    const struct control_request unknown = {.request_id = {9}};
    assert_int_equal(ask(&w, &unknown).refusal, CONTROL_NOT_IMPLEMENTED);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_hears_all_that_placement_needs),
        cmocka_unit_test(it_is_said_again_each_half_second),
        cmocka_unit_test(a_change_is_said_at_once),
        cmocka_unit_test(a_full_transceiver_says_so),
        cmocka_unit_test(a_request_is_answered_by_its_shard),
        cmocka_unit_test(a_side_band_and_signaling_hear_that_a_call_is_over),
        cmocka_unit_test(the_same_request_gets_the_same_reply_for_thirty_seconds),
        cmocka_unit_test(an_event_that_is_asked_for_again_is_said_once),
        cmocka_unit_test(what_is_no_request_is_refused_and_the_next_one_is_heard),
        cmocka_unit_test(a_port_that_is_taken_is_one_fault_and_the_one_before_goes_on),
    };
    return cmocka_run_group_tests(tests, loopback_shard_begin, loopback_shard_end);
}
