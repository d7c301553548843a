/* relay_control_test.c - signals, keys and announcements, as the workers hear of them */
#include "tests/testing.h"

#include "common/control/control_message.h"
#include "common/runtime/message_port.h"
#include "services/relay/relay_control.h"
#include "tests/loopback_relay.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>

/* A control with its key directory. The workers do not run: the test takes what they are told. */
struct control_world {
    struct loopback_relay relay;
    struct relay_metrics metrics;
    struct relay_control *control;
    int signals[2]; /* a pipe in the place of a signalfd */
};

static void open_world(struct control_world *w)
{
    struct fault fault = {0};
    *w = (struct control_world){0};
    loopback_relay_open(&w->relay);
    struct relay_config *config = &w->relay.config;
    (void)snprintf(config->keys_directory, sizeof(config->keys_directory),
                   "/tmp/relay_control_test.XXXXXX");
    assert_non_null(mkdtemp(config->keys_directory));
    assert_true(key_ring_init_directory(config->keys_directory, &fault));
    (void)snprintf(config->control_url, sizeof(config->control_url), "tcp://127.0.0.1:%u",
                   far_end_free_address(SOCK_STREAM).port);
    memcpy(w->metrics.worker, w->relay.worker, sizeof(w->relay.worker));
    w->metrics.worker_count = LOOPBACK_RELAY_WORKERS;
    struct key_ring *ring = key_ring_load(config->keys_directory, &fault);
    w->control = relay_control_open(config, ring, &w->metrics, NULL, &fault);
    key_ring_destroy(ring);
    if (w->control == NULL) {
        fail_msg("%s", fault.text);
    }
    assert_int_equal(pipe2(w->signals, O_CLOEXEC | O_NONBLOCK), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void close_world(struct control_world *w)
{
    relay_control_close(w->control);
    assert_int_equal(nftw(w->relay.config.keys_directory, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    loopback_relay_close(&w->relay);
    (void)close(w->signals[0]);
    (void)close(w->signals[1]);
}

static void raise_signal(const struct control_world *w, unsigned number)
{
    const struct signalfd_siginfo info = {.ssi_signo = number};
    assert_int_equal(write(w->signals[1], &info, sizeof(info)), sizeof(info));
}

static void stop(const struct control_world *w)
{
    raise_signal(w, SIGTERM);
    raise_signal(w, SIGTERM);
}

static void write_key_file(const struct control_world *w, const char *name, const char *text)
{
    char path[RELAY_TEXT_CAP + 16];
    (void)snprintf(path, sizeof(path), "%s/%s", w->relay.config.keys_directory, name);
    (void)unlink(path);
    const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static bool take(const struct control_world *w, size_t worker, struct inbox_message *out)
{
    return worker_inbox_take(relay_worker_inbox(w->relay.worker[worker]), out);
}

/* --- keys ------------------------------------------------------------------------------------- */

#define OTHER_KEY "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20\n"

static void the_keys_at_the_start_are_told(void **state)
{
    struct control_world w;
    (void)state;
    open_world(&w);
    assert_int_equal(metric_get(&w.metrics.control.key_ids), 1);
    assert_int_equal(metric_get(&w.metrics.control.key_active_id), 0);
    close_world(&w);
}

static void a_sighup_gives_every_worker_the_new_keys(void **state)
{
    struct control_world w;
    struct inbox_message message;
    (void)state;
    open_world(&w);
    write_key_file(&w, "63.key", OTHER_KEY);
    write_key_file(&w, "active", "63\n");
    raise_signal(&w, SIGHUP);
    stop(&w);
    relay_control_run(w.control, w.signals[0]);
    assert_int_equal(metric_get(&w.metrics.control.key_ids), UINT64_C(1) << 63 | 1);
    assert_int_equal(metric_get(&w.metrics.control.key_active_id), 63);
    for (size_t i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        assert_true(take(&w, i, &message));
        assert_int_equal(message.kind, INBOX_RING);
        assert_int_equal(key_ring_active_id(message.body.ring), 63);
        assert_true(key_ring_has(message.body.ring, 0));
        key_ring_destroy(message.body.ring);
        assert_false(take(&w, i, &message));
    }
    close_world(&w);
}

static void keys_that_can_not_be_used_keep_the_old_ring(void **state)
{
    struct control_world w;
    struct inbox_message message;
    (void)state;
    open_world(&w);
    write_key_file(&w, "active", "63\n"); /* which is not there */
    raise_signal(&w, SIGHUP);
    stop(&w);
    relay_control_run(w.control, w.signals[0]);
    assert_int_equal(metric_get(&w.metrics.control.key_reloads_failed), 1);
    assert_int_equal(metric_get(&w.metrics.control.key_ids), 1);
    assert_int_equal(metric_get(&w.metrics.control.key_active_id), 0);
    assert_false(take(&w, 0, &message));
    close_world(&w);
}

static void a_ring_that_an_inbox_has_no_room_for_is_counted(void **state)
{
    const struct inbox_message filler = {.kind = INBOX_LESSON};
    struct control_world w;
    (void)state;
    open_world(&w);
    while (worker_inbox_post(relay_worker_inbox(w.relay.worker[1]), &filler)) {
    }
    raise_signal(&w, SIGHUP);
    stop(&w);
    relay_control_run(w.control, w.signals[0]);
    assert_int_equal(metric_get(&w.metrics.control.messages_lost), 1);
    close_world(&w);
}

/* --- announcements ---------------------------------------------------------------------------- */

static void *run(void *context)
{
    const struct control_world *w = context;
    relay_control_run(w->control, w->signals[0]);
    return NULL;
}

static void say(struct message_port *port, uint16_t cluster_id, uint64_t sequence,
                struct net_addr media)
{
    static uint8_t room[CONTROL_MESSAGE_BYTES_MAX];
    const struct control_announcement a = {.cluster_id = cluster_id,
                                           .instance_id = 0x5eed0001,
                                           .name = "tester",
                                           .media_address = media,
                                           .control_url = "tcp://127.0.0.1:1",
                                           .shard_count = 2,
                                           .state = CONTROL_STATE_READY,
                                           .start_time_unix_us = 1,
                                           .sequence = sequence};
    const size_t len =
        control_encode_announcement(&a, (struct bytes_span){.data = room, .cap = sizeof(room)});
    assert_true(len > 0);
    assert_true(message_port_send(port, bytes_view_of(room, len)));
}

/* A publisher's words are lost until it is connected: they are said until one was heard. */
static void say_until_heard(struct message_port *port, const struct control_world *w,
                            struct net_addr media)
{
    const metric_value *known = &w->metrics.control.announcements[ROUTE_NEW];
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    for (uint64_t sequence = 1; metric_get(known) == 0; sequence++) {
        assert_true(clock_now_us() < until_us);
        say(port, LOOPBACK_RELAY_CLUSTER, sequence, media);
        (void)poll(NULL, 0, 20);
    }
}

static void only_what_was_taken_reaches_the_workers_and_all_is_counted(void **state)
{
    struct control_world w;
    struct inbox_message message;
    struct fault fault = {0};
    pthread_t thread;
    (void)state;
    open_world(&w);
    const struct relay_control_counters *counters = &w.metrics.control;
    const struct net_addr media = far_end_address_of(w.relay.transceiver);
    struct net_addr stranger;
    assert_true(net_addr_parse("203.0.113.9:4000", &stranger));
    struct message_port *port = message_port_open(MESSAGE_PORT_PUB, &fault);
    assert_true(message_port_dial(port, w.relay.config.control_url, &fault));
    assert_int_equal(pthread_create(&thread, NULL, run, &w), 0);
    say_until_heard(port, &w, media);
    say(port, LOOPBACK_RELAY_CLUSTER + 1, 5000, media);
    say(port, LOOPBACK_RELAY_CLUSTER, 5001, stranger);
    assert_true(message_port_send(port, bytes_view_of_text("what is for signaling")));
    assert_true(message_port_send(port, bytes_view_of_text(CONTROL_ANNOUNCEMENT_TOPIC "garbage")));
    loopback_relay_wait_for(&counters->announcements_malformed, 1);
    stop(&w);
    (void)pthread_join(thread, NULL);
    message_port_close(port);

    assert_int_equal(metric_get(&counters->announcements[ROUTE_OTHER_CLUSTER]), 1);
    assert_int_equal(metric_get(&counters->announcements[ROUTE_FORBIDDEN]), 1);
    assert_int_equal(metric_get(&counters->announcements_malformed), 1);
    assert_int_equal(metric_get(&counters->instances_known), 1);
    const uint64_t taken = 1 + metric_get(&counters->announcements[ROUTE_KEPT]);
    for (size_t i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        for (uint64_t n = 0; n < taken; n++) {
            assert_true(take(&w, i, &message));
            assert_int_equal(message.kind, INBOX_ANNOUNCEMENT);
            assert_true(net_addr_equal(&message.body.announcement.media_address, &media));
            assert_int_equal(message.body.announcement.shard_count, 2);
        }
        assert_false(take(&w, i, &message));
    }
    close_world(&w);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void one_sigterm_drains_and_a_second_one_ends(void **state)
{
    struct control_world w;
    pthread_t thread;
    (void)state;
    open_world(&w);
    raise_signal(&w, SIGTERM);
    assert_int_equal(pthread_create(&thread, NULL, run, &w), 0);
    struct timespec soon;
    (void)clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 1;
    assert_int_not_equal(pthread_timedjoin_np(thread, NULL, &soon), 0);
    raise_signal(&w, SIGTERM);
    (void)pthread_join(thread, NULL);
    close_world(&w);
}

static void an_address_that_is_taken_is_a_fault(void **state)
{
    struct control_world w;
    struct fault fault = {0};
    (void)state;
    open_world(&w);
    assert_null(relay_control_open(&w.relay.config, w.relay.ring, &w.metrics, NULL, &fault));
    assert_non_null(strstr(fault.text, w.relay.config.control_url));
    assert_non_null(strstr(fault.text, "Address in use (stop what has it or change the address)"));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keys_at_the_start_are_told),
        cmocka_unit_test(a_sighup_gives_every_worker_the_new_keys),
        cmocka_unit_test(keys_that_can_not_be_used_keep_the_old_ring),
        cmocka_unit_test(a_ring_that_an_inbox_has_no_room_for_is_counted),
        cmocka_unit_test(only_what_was_taken_reaches_the_workers_and_all_is_counted),
        cmocka_unit_test(one_sigterm_drains_and_a_second_one_ends),
        cmocka_unit_test(an_address_that_is_taken_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
