/* event_mail_test.c - messages between two threads: whole, in order, and none when it is full */
#include "tests/testing.h"

#include "services/transceiver/port/event_mail.h"

#include <poll.h>
#include <pthread.h>

#define RING_BYTES 1024
#define MESSAGES   200000

static bool has_knocked(const struct event_mail *m)
{
    struct pollfd fd = {.fd = event_mail_fd(m), .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

static bool put(struct event_mail *m, enum event_mail_kind kind, const void *data, size_t len)
{
    uint8_t *room = event_mail_reserve(m, len);
    if (room == NULL) {
        return false;
    }
    memcpy(room, data, len);
    event_mail_commit(m, kind, len);
    return true;
}

static void messages_come_whole_in_order_and_with_their_kind(void **state)
{
    (void)state;
    struct event_mail *m = event_mail_create(RING_BYTES);
    enum event_mail_kind kind;
    struct bytes_view view;
    assert_non_null(m);
    assert_false(event_mail_peek(m, &kind, &view));
    assert_true(put(m, EVENT_MAIL_SESSION, "one", 3));
    assert_true(put(m, EVENT_MAIL_SIDEBAND, "", 0));
    assert_true(event_mail_peek(m, &kind, &view));
    assert_true(event_mail_peek(m, &kind, &view)); /* it is there until it is dropped */
    assert_int_equal(kind, EVENT_MAIL_SESSION);
    assert_true(bytes_equal(view, bytes_view_of_text("one")));
    event_mail_drop(m);
    assert_true(event_mail_peek(m, &kind, &view));
    assert_int_equal(kind, EVENT_MAIL_SIDEBAND);
    assert_int_equal(view.len, 0);
    event_mail_drop(m);
    event_mail_drop(m);
    assert_false(event_mail_peek(m, &kind, &view));
    event_mail_destroy(m);
}

static void what_was_reserved_and_not_committed_is_no_message(void **state)
{
    (void)state;
    struct event_mail *m = event_mail_create(RING_BYTES);
    enum event_mail_kind kind;
    struct bytes_view view;
    assert_non_null(event_mail_reserve(m, 100));
    assert_false(event_mail_peek(m, &kind, &view));
    assert_true(put(m, EVENT_MAIL_SIDEBAND, "x", 1));
    assert_true(event_mail_peek(m, &kind, &view));
    assert_int_equal(view.len, 1);
    event_mail_destroy(m);
}

static void a_knock_is_heard_once_and_only_when_there_is_something(void **state)
{
    (void)state;
    struct event_mail *m = event_mail_create(RING_BYTES);
    event_mail_knock(m);
    assert_false(has_knocked(m));
    assert_true(put(m, EVENT_MAIL_SIDEBAND, "x", 1));
    assert_false(has_knocked(m));
    event_mail_knock(m);
    assert_true(has_knocked(m));
    event_mail_hear(m);
    event_mail_hear(m);
    event_mail_knock(m);
    assert_false(has_knocked(m));
    event_mail_destroy(m);
}

/* At every place of the ring, and of every length: what does not fit changes nothing. */
static void a_full_ring_refuses_and_takes_again_when_there_is_room(void **state)
{
    (void)state;
    static uint8_t data[RING_BYTES];
    struct event_mail *m = event_mail_create(RING_BYTES);
    enum event_mail_kind kind;
    struct bytes_view view;
    assert_null(event_mail_reserve(m, RING_BYTES));
    assert_null(event_mail_reserve(m, SIZE_MAX));
    assert_null(event_mail_reserve(m, RING_BYTES - 15));
    assert_true(put(m, EVENT_MAIL_SIDEBAND, data, RING_BYTES - 16));
    assert_false(put(m, EVENT_MAIL_SIDEBAND, data, 0));
    event_mail_drop(m);
    uint8_t next = 0;
    uint8_t expected = 0;
    for (size_t i = 0; i < 5000; i++) {
        const size_t len = 1 + i * 37 % 300;
        memset(data, next, len);
        while (!put(m, EVENT_MAIL_SIDEBAND, data, len)) {
            assert_true(event_mail_peek(m, &kind, &view));
            assert_int_equal(view.data[0], expected);
            assert_int_equal(view.data[view.len - 1], expected);
            event_mail_drop(m);
            expected++;
        }
        next++;
    }
    event_mail_destroy(m);
}

static void *shard(void *context)
{
    struct event_mail *m = context;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        uint32_t message[10];
        const size_t words = 1 + i % 10;
        for (size_t w = 0; w < words; w++) {
            message[w] = i;
        }
        while (!put(m, EVENT_MAIL_SIDEBAND, message, words * sizeof(message[0]))) {
            event_mail_knock(m);
            (void)sched_yield();
        }
        event_mail_knock(m);
    }
    return NULL;
}

static void two_threads_pass_every_message(void **state)
{
    (void)state;
    struct event_mail *m = event_mail_create(RING_BYTES);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, shard, m), 0);
    uint32_t i = 0;
    while (i < MESSAGES) {
        struct pollfd fd = {.fd = event_mail_fd(m), .events = POLLIN};
        (void)poll(&fd, 1, -1);
        event_mail_hear(m);
        enum event_mail_kind kind;
        struct bytes_view view;
        while (event_mail_peek(m, &kind, &view)) {
            uint32_t first = 0;
            uint32_t last = 0;
            assert_int_equal(view.len, (1 + i % 10) * sizeof(first));
            memcpy(&first, view.data, sizeof(first));
            memcpy(&last, view.data + view.len - sizeof(last), sizeof(last));
            assert_int_equal(first, i);
            assert_int_equal(last, i);
            event_mail_drop(m);
            i++;
        }
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    event_mail_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_whole_in_order_and_with_their_kind),
        cmocka_unit_test(what_was_reserved_and_not_committed_is_no_message),
        cmocka_unit_test(a_knock_is_heard_once_and_only_when_there_is_something),
        cmocka_unit_test(a_full_ring_refuses_and_takes_again_when_there_is_room),
        cmocka_unit_test(two_threads_pass_every_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
