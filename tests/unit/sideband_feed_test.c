/* sideband_feed_test.c - side-bands of a real transceiver over real NNG, with a backend that greets
 *
 * The shard has its thread; signaling and the transceiver's control thread are this one.
 */
#include "tests/testing.h"

#include "services/signaling/sideband_feed.h"
#include "services/transceiver/port/control_port.h"
#include "tests/loopback_shard.h"

#define PATIENCE_US (FAR_END_PATIENCE_MS * US_PER_MS)
#define CALL        "rtc_1"
#define OWNER       99

static struct {
    struct loopback_shard shard;
    struct control_port *port;
    struct http_server *http;
    struct http_server_config http_config;
    struct control_plane *plane;
    struct sideband_feed *feed;
    uint64_t skipped_us; /* time that the test has let pass at once */
    uint32_t session_id;
    uint32_t said; /* frames of the backend */
    struct sideband_news news;
    char text[512]; /* of the last news */
} w;

static uint64_t now_us(void)
{
    return clock_now_us() + w.skipped_us;
}

static void open_transceiver(const struct net_addr *signaling)
{
    char text[NET_ADDR_TEXT_CAP];
    struct fault fault = {0};
    struct net_addr address = far_end_free_address(SOCK_STREAM);
    loopback_shard_open(&w.shard);
    loopback_shard_greet(&w.shard);
    struct transceiver_config *config = &w.shard.config;
    (void)snprintf(config->announce[0], sizeof(config->announce[0]), "%s",
                   net_addr_format(signaling, text, sizeof(text)));
    config->announce_count = 1;
    config->media_port = 4000;
    config->control_port = address.port;
    config->events_port = far_end_free_address(SOCK_STREAM).port;
    address.port = 0;
    const struct control_port_config port = {.config = config,
                                             .address = address,
                                             .instance_id = LOOPBACK_SHARD_INSTANCE,
                                             .loops = &w.shard.loop,
                                             .loop_count = 1,
                                             .key_ring = w.shard.ring};
    w.port = control_port_open(&port, &fault);
    if (w.port == NULL) {
        fail_msg("%s", fault.text);
    }
}

static void turn(void)
{
    struct http_event event;
    struct session_outcome outcome;
    if (w.port != NULL) {
        control_port_service(w.port, now_us());
    }
    http_server_wait(w.http, clock_now_us() + 2 * US_PER_MS);
    while (http_server_take(w.http, &event)) {
        assert_int_equal(event.kind, HTTP_EVENT_READABLE);
        if (event.tag >= SIDEBAND_FEED_TAG_BEGIN) {
            sideband_feed_readable(w.feed, event.tag, now_us());
        } else {
            control_plane_readable(w.plane, event.tag, now_us());
        }
    }
    while (control_plane_next(w.plane, &outcome, now_us())) {
    }
}

static bool has_news(void)
{
    if (!sideband_feed_next(w.feed, &w.news, now_us())) {
        return false;
    }
    assert_int_equal(w.news.owner, OWNER);
    (void)snprintf(w.text, sizeof(w.text), "%.*s", (int)w.news.text.len,
                   (const char *)w.news.text.data);
    return true;
}

static void expect_news(uint64_t handle, enum sideband_news_kind kind, const char *text)
{
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    while (!has_news()) {
        assert_true(clock_now_us() < until_us);
        turn();
    }
    assert_int_equal(w.news.kind, kind);
    assert_true(w.news.handle == handle);
    assert_string_equal(w.text, text);
}

static int open_world(void **state)
{
    (void)state;
    struct fault fault = {0};
    memset(&w, 0, sizeof(w));
    const struct net_addr signaling = far_end_free_address(SOCK_STREAM);
    w.http_config = (struct http_server_config){.listen = far_end_free_address(SOCK_STREAM),
                                                .header_timeout_us = 5 * US_PER_S,
                                                .request_timeout_us = 5 * US_PER_S,
                                                .idle_timeout_us = 5 * US_PER_S,
                                                .connections_max = 8,
                                                .watches_max = 8,
                                                .connections_per_address_max = 8};
    w.http = http_server_create(&w.http_config, &fault);
    assert_non_null(w.http);
    w.plane = control_plane_create(w.http, &signaling, LOOPBACK_SHARD_CLUSTER, &fault);
    w.feed = sideband_feed_create(w.http, w.plane, 2 * US_PER_S);
    if (w.plane == NULL || w.feed == NULL) {
        fail_msg("%s", fault.text);
    }
    open_transceiver(&signaling);
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    while (fleet_find(control_plane_fleet(w.plane), LOOPBACK_SHARD_INSTANCE) ==
           FLEET_INSTANCES_MAX) {
        assert_true(clock_now_us() < until_us);
        turn();
    }
    return 0;
}

static void close_transceiver(void)
{
    control_port_close(w.port);
    w.port = NULL;
}

static int close_world(void **state)
{
    (void)state;
    sideband_feed_destroy(w.feed);
    control_plane_destroy(w.plane);
    http_server_destroy(w.http);
    close_transceiver();
    loopback_shard_close(&w.shard);
    return 0;
}

static void backend_says(unsigned type, unsigned flags, uint32_t utterance, const char *payload)
{
    uint8_t bytes[BACKEND_FRAME_HEADER_BYTES + 512];
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .flags = (uint16_t)flags,
                                        .session = w.session_id,
                                        .sequence = w.said++,
                                        .utterance = utterance,
                                        .payload = bytes_view_of_text(payload)};
    backend_frame_encode_header(&frame, bytes);
    memcpy(bytes + BACKEND_FRAME_HEADER_BYTES, payload, frame.payload.len);
    const size_t len = BACKEND_FRAME_HEADER_BYTES + frame.payload.len;
    assert_int_equal(send(w.shard.backend.link, bytes, len, MSG_NOSIGNAL), len);
}

/* The next frame of that type; signaling and the transceiver go on meanwhile. */
static const char *backend_hears(unsigned type)
{
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    struct pollfd fd = {.fd = w.shard.backend.link, .events = POLLIN};
    while (poll(&fd, 1, 0) == 0 || far_end_hear(&w.shard.backend) != type) {
        assert_true(clock_now_us() < until_us);
        assert_false(has_news());
        turn();
    }
    return (const char *)w.shard.backend.payload;
}

/* A call that its backend has accepted. */
static void place_call(void)
{
    struct control_reply reply;
    const struct control_request request = loopback_shard_create_request(CALL);
    event_loop_call(w.shard.loop, &request, &reply);
    assert_int_equal(reply.refusal, CONTROL_REFUSAL_NONE);
    w.session_id = reply.session_id;
    (void)backend_hears(BACKEND_SESSION_START);
    backend_says(BACKEND_SESSION_ACCEPT, 0, 0, "{}");
}

static uint64_t open_sideband(const char *call_id)
{
    struct control_call call = {0};
    (void)snprintf(call.call_id, sizeof(call.call_id), "%s", call_id);
    const uint64_t handle =
        sideband_feed_open(w.feed, &call, LOOPBACK_SHARD_INSTANCE, OWNER, now_us());
    assert_true(handle != 0);
    return handle;
}

/* Attached, and greeted by the backend. Returns its handle. */
static uint64_t join(const char *greeting)
{
    const uint64_t handle = open_sideband(CALL);
    unsigned id = 0;
    expect_news(handle, SIDEBAND_OPENED, "");
    assert_int_equal(
        sscanf(backend_hears(BACKEND_SIDEBAND), "{\"id\":%u,\"state\":\"attached\"}", &id), 1);
    backend_says(BACKEND_EVENT, BACKEND_FLAG_LAST | BACKEND_EVENT_SIDEBAND, id, greeting);
    expect_news(handle, SIDEBAND_EVENT, greeting);
    return handle;
}

static void end_call(void)
{
    struct control_reply reply;
    struct control_request end = {.request_id = {3}, .kind = CONTROL_END_SESSION};
    (void)snprintf(end.body.end_session.call.call_id, sizeof(end.body.end_session.call.call_id),
                   CALL);
    event_loop_call(w.shard.loop, &end, &reply);
    assert_int_equal(reply.refusal, CONTROL_REFUSAL_NONE);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_side_band_is_greeted_hears_in_order_and_speaks_until_the_call_ends(void **state)
{
    (void)state;
    char event[32];
    place_call();
    const uint64_t handle = join("{\"type\":\"session.created\"}");
    for (int i = 0; i < 100; i++) {
        (void)snprintf(event, sizeof(event), "{\"number\":%d}", i);
        backend_says(BACKEND_EVENT, BACKEND_FLAG_LAST, 0, event);
    }
    for (int i = 0; i < 100; i++) {
        (void)snprintf(event, sizeof(event), "{\"number\":%d}", i);
        expect_news(handle, SIDEBAND_EVENT, event);
    }
    for (int i = 0; i < 20; i++) {
        (void)snprintf(event, sizeof(event), "{\"said\":%d}", i);
        assert_true(sideband_feed_send(w.feed, handle, bytes_view_of_text(event), now_us()));
    }
    for (int i = 0; i < 20; i++) {
        (void)snprintf(event, sizeof(event), "{\"said\":%d}", i);
        assert_string_equal(backend_hears(BACKEND_EVENT), event);
    }
    end_call();
    expect_news(handle, SIDEBAND_CALL_ENDED, "hangup");
    sideband_feed_close(w.feed, handle, now_us());
    assert_true(sideband_feed_send(w.feed, handle, bytes_view_of_text("late"), now_us()));
}

static void two_side_bands_hear_the_same_and_one_that_closes_leaves_the_other(void **state)
{
    (void)state;
    place_call();
    const uint64_t first = join("\"first\"");
    const uint64_t second = join("\"second\"");
    backend_says(BACKEND_EVENT, BACKEND_FLAG_LAST, 0, "\"both\"");
    expect_news(first, SIDEBAND_EVENT, "\"both\"");
    expect_news(second, SIDEBAND_EVENT, "\"both\"");
    assert_int_equal(metric_get(&sideband_feed_counts(w.feed)->sidebands), 2);
    assert_true(sideband_feed_send(w.feed, first, bytes_view_of_text("\"last\""), now_us()));
    sideband_feed_close(w.feed, first, now_us());
    assert_string_equal(backend_hears(BACKEND_EVENT), "\"last\"");
    assert_non_null(strstr(backend_hears(BACKEND_SIDEBAND), "\"gone\""));
    backend_says(BACKEND_EVENT, BACKEND_FLAG_LAST, 0, "\"one\"");
    expect_news(second, SIDEBAND_EVENT, "\"one\"");
    assert_int_equal(metric_get(&sideband_feed_counts(w.feed)->sidebands), 1);
}

static void a_call_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    struct control_call foreign = {.call_id = CALL, .tenant = {1}};
    place_call();
    expect_news(open_sideband("rtc_2"), SIDEBAND_NOT_FOUND, "");
    const uint64_t handle =
        sideband_feed_open(w.feed, &foreign, LOOPBACK_SHARD_INSTANCE, OWNER, now_us());
    expect_news(handle, SIDEBAND_NOT_FOUND, "");
    assert_true(sideband_feed_open(w.feed, &foreign, 4711, OWNER, now_us()) == 0);
}

static void a_transceiver_that_is_gone_is_lost_when_its_route_is_given_up(void **state)
{
    (void)state;
    place_call();
    const uint64_t handle = join("\"hello\"");
    close_transceiver(); /* as a kill looks from here: nobody answers, nobody announces */
    w.skipped_us += FLEET_MEMORY_US - US_PER_S;
    control_plane_tick(w.plane, now_us());
    assert_false(has_news());
    w.skipped_us += 2 * US_PER_S;
    control_plane_tick(w.plane, now_us());
    expect_news(handle, SIDEBAND_LOST, "");
}

static void a_link_without_side_bands_is_closed_and_opened_again(void **state)
{
    (void)state;
    place_call();
    for (int i = 0; i < 3; i++) {
        const uint64_t handle = join("\"hello\"");
        sideband_feed_close(w.feed, handle, now_us());
        assert_non_null(strstr(backend_hears(BACKEND_SIDEBAND), "\"gone\""));
        const uint64_t until_us = clock_now_us() + PATIENCE_US;
        while (sideband_feed_next_timeout(w.feed) != TIME_NEVER) {
            assert_true(clock_now_us() < until_us);
            assert_false(has_news());
            turn();
        }
    }
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(a_side_band_is_greeted_hears_in_order_and_speaks_until_the_call_ends),
        IN_A_WORLD(two_side_bands_hear_the_same_and_one_that_closes_leaves_the_other),
        IN_A_WORLD(a_call_that_is_not_there_is_not_found),
        IN_A_WORLD(a_transceiver_that_is_gone_is_lost_when_its_route_is_given_up),
        IN_A_WORLD(a_link_without_side_bands_is_closed_and_opened_again),
    };
    return cmocka_run_group_tests(tests, loopback_shard_begin, loopback_shard_end);
}
