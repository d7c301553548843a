/* sideband_kill_test.c - side-bands of a transceiver and an agent that are processes of their own
 *
 * Signaling's parts are in this one: they hear announcements, place a call, listen to it and speak,
 * until the transceiver is killed. Argument: the folder of programs.
 */
#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "services/signaling/sideband_feed.h"
#include "tests/far_end.h"
#include "tests/sdp_samples.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PATIENCE_US (20 * US_PER_S)
#define CALL        "rtc_side"
#define ITEMS       50

static const char *programs;

static struct {
    char folder[64];
    pid_t stub;
    pid_t transceiver;
    struct http_server *http;
    struct control_plane *plane;
    struct sideband_feed *feed;
    uint32_t instance_id;
    uint64_t skipped_us; /* time that the test has let pass at once */
    struct sideband_news news;
    char text[16384]; /* of the last news */
} w;

static uint64_t now_us(void)
{
    return clock_now_us() + w.skipped_us;
}

/* --- processes -------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", w.folder, name);
    (void)umask(077); /* keys are not for others */
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static pid_t start(const char *program, const char *config)
{
    char program_path[512];
    char config_path[128];
    (void)snprintf(program_path, sizeof(program_path), "%s/%s", programs, program);
    (void)snprintf(config_path, sizeof(config_path), "%s/%s", w.folder, config);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execl(program_path, program_path, "--config", config_path, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void stop(pid_t *pid)
{
    int status = 0;
    if (*pid > 0) {
        assert_int_equal(kill(*pid, SIGKILL), 0);
        assert_int_equal(waitpid(*pid, &status, 0), *pid);
        *pid = 0;
    }
}

static const char *address_text(const struct net_addr *address)
{
    static char text[NET_ADDR_TEXT_CAP];
    return net_addr_format(address, text, sizeof(text));
}

static void start_processes(const struct net_addr *signaling)
{
    char text[2048];
    char backend[NET_ADDR_TEXT_CAP];
    const struct net_addr stub = far_end_free_address(SOCK_STREAM);
    memcpy(backend, address_text(&stub), sizeof(backend));
    (void)snprintf(text, sizeof(text), "listen: %s\nadmin_listen: 127.0.0.1:%u\nmode: agent\n",
                   backend, free_port(SOCK_STREAM));
    write_file("stub.yaml", text);
    char keys[128];
    (void)snprintf(keys, sizeof(keys), "%s/keys", w.folder);
    assert_int_equal(mkdir(keys, 0700), 0);
    write_file("keys/07.key", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n");
    write_file("keys/active", "07\n");
    (void)snprintf(text, sizeof(text),
                   "address: 127.0.0.1\nkeys: %s\nmedia_port: %u\ncontrol_port: %u\n"
                   "events_port: %u\nannounce: [\"%s\"]\nbackend: %s\n"
                   "admin_listen: 127.0.0.1:%u\nudp_buffer: 64KB\n",
                   keys, free_port(SOCK_DGRAM), free_port(SOCK_STREAM), free_port(SOCK_STREAM),
                   address_text(signaling), backend, free_port(SOCK_STREAM));
    write_file("transceiver.yaml", text);
    w.stub = start("earshot-inference-stub", "stub.yaml");
    w.transceiver = start("earshot-transceiver", "transceiver.yaml");
}

/* --- signaling -------------------------------------------------------------------------------- */

/* True when a request that somebody made has its outcome. */
static bool turn(struct session_outcome *outcome)
{
    struct http_event event;
    http_server_wait(w.http, clock_now_us() + 5 * US_PER_MS);
    while (http_server_take(w.http, &event)) {
        if (event.tag >= SIDEBAND_FEED_TAG_BEGIN) {
            sideband_feed_readable(w.feed, event.tag, now_us());
        } else {
            control_plane_readable(w.plane, event.tag, now_us());
        }
    }
    control_plane_tick(w.plane, now_us());
    return control_plane_next(w.plane, outcome, now_us());
}

static bool has_news(void)
{
    struct session_outcome outcome;
    (void)turn(&outcome);
    if (!sideband_feed_next(w.feed, &w.news, now_us())) {
        return false;
    }
    (void)snprintf(w.text, sizeof(w.text), "%.*s", (int)w.news.text.len,
                   (const char *)w.news.text.data);
    return true;
}

static void expect_news(uint64_t owner, enum sideband_news_kind kind)
{
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    while (!has_news()) {
        assert_true(clock_now_us() < until_us);
    }
    assert_int_equal(w.news.kind, kind);
    assert_int_equal(w.news.owner, owner);
}

/* The next event of that side-band is of this type, and holds the other text. */
static void expect_event(uint64_t owner, const char *type, const char *holds)
{
    char wanted[128];
    (void)snprintf(wanted, sizeof(wanted), "\"type\":\"%s\"", type);
    expect_news(owner, SIDEBAND_EVENT);
    if (strstr(w.text, wanted) == NULL || strstr(w.text, holds) == NULL) {
        fail_msg("no %s with %s, but %s", wanted, holds, w.text);
    }
}

static void open_signaling(const struct net_addr *listen)
{
    struct fault fault = {0};
    const struct http_server_config http = {.listen = far_end_free_address(SOCK_STREAM),
                                            .header_timeout_us = 5 * US_PER_S,
                                            .request_timeout_us = 5 * US_PER_S,
                                            .idle_timeout_us = 5 * US_PER_S,
                                            .connections_max = 8,
                                            .connections_per_address_max = 8,
                                            .watches_max = 8};
    w.http = http_server_create(&http, &fault);
    assert_non_null(w.http);
    w.plane = control_plane_create(w.http, listen, 1, &fault);
    w.feed = sideband_feed_create(w.http, w.plane, 5 * US_PER_S);
    assert_true(w.plane != NULL && w.feed != NULL);
}

/* The transceiver is there, and its voice agent. */
static void wait_for_transceiver(void)
{
    const uint64_t until_us = clock_now_us() + PATIENCE_US;
    const struct fleet *fleet = control_plane_fleet(w.plane);
    struct session_outcome outcome;
    while (fleet_at(fleet, 0) == NULL || !fleet_at(fleet, 0)->said.backend_up) {
        assert_true(clock_now_us() < until_us);
        (void)turn(&outcome);
    }
    w.instance_id = fleet_at(fleet, 0)->said.instance_id;
}

static void place_call(void)
{
    struct session_outcome outcome;
    struct control_request request = {.request_id = {1}, .kind = CONTROL_CREATE_SESSION};
    struct control_create_session *create = &request.body.create_session;
    memcpy(create->call_id, CALL, sizeof(CALL));
    create->offer_sdp = bytes_view_of_text(SESSION AUDIO);
    create->ingress_count = 1;
    assert_true(net_addr_parse("198.51.100.1:3478", &create->ingress[0].address));
    assert_true(control_plane_submit(w.plane, w.instance_id, 1, &request, now_us() + PATIENCE_US));
    while (!turn(&outcome)) {
    }
    assert_int_equal(outcome.kind, SESSION_REPLIED);
    assert_int_equal(outcome.reply.refusal, CONTROL_REFUSAL_NONE);
}

static uint64_t open_sideband(uint64_t owner)
{
    const struct control_call call = {.call_id = CALL};
    const uint64_t handle = sideband_feed_open(w.feed, &call, w.instance_id, owner, now_us());
    assert_true(handle != 0);
    expect_news(owner, SIDEBAND_OPENED);
    expect_event(owner, "session.created", "\"session\"");
    return handle;
}

static void say(uint64_t handle, const char *event)
{
    assert_true(sideband_feed_send(w.feed, handle, bytes_view_of_text(event), now_us()));
}

static int open_world(void **state)
{
    (void)state;
    memset(&w, 0, sizeof(w));
    (void)snprintf(w.folder, sizeof(w.folder), "/tmp/sideband_kill_test.XXXXXX");
    assert_non_null(mkdtemp(w.folder));
    const struct net_addr signaling = far_end_free_address(SOCK_STREAM);
    open_signaling(&signaling);
    start_processes(&signaling);
    wait_for_transceiver();
    place_call();
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    static const char *const file[] = {
        "stub.yaml", "transceiver.yaml", "keys/07.key", "keys/active", "keys", "."};
    char path[128];
    stop(&w.transceiver);
    stop(&w.stub);
    sideband_feed_destroy(w.feed);
    control_plane_destroy(w.plane);
    http_server_destroy(w.http);
    for (size_t i = 0; i < COUNT_OF(file); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", w.folder, file[i]);
        (void)remove(path);
    }
    (void)rmdir(w.folder);
    return 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void what_a_side_band_says_reaches_the_agent_and_both_hear_it_in_order(void **state)
{
    (void)state;
    char event[256];
    const uint64_t first = open_sideband(1);
    (void)open_sideband(2);
    for (int i = 0; i < ITEMS; i++) {
        (void)snprintf(event, sizeof(event),
                       "{\"type\":\"conversation.item.create\",\"item\":{\"id\":\"item_%d\","
                       "\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":"
                       "\"input_text\",\"text\":\"hello\"}]}}",
                       i);
        say(first, event);
    }
    for (int i = 0; i < ITEMS; i++) {
        (void)snprintf(event, sizeof(event), "\"id\":\"item_%d\"", i);
        expect_event(1, "conversation.item.added", event);
        expect_event(2, "conversation.item.added", event);
        expect_event(1, "conversation.item.done", event);
        expect_event(2, "conversation.item.done", event);
    }
}

static void a_transceiver_that_is_killed_is_lost_when_its_route_is_given_up(void **state)
{
    (void)state;
    (void)open_sideband(1);
    stop(&w.transceiver);
    w.skipped_us += FLEET_MEMORY_US - US_PER_S;
    for (int i = 0; i < 20; i++) {
        assert_false(has_news());
    }
    w.skipped_us += 2 * US_PER_S;
    expect_news(1, SIDEBAND_LOST);
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(what_a_side_band_says_reaches_the_agent_and_both_hear_it_in_order),
        IN_A_WORLD(a_transceiver_that_is_killed_is_lost_when_its_route_is_given_up),
    };
    programs = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
