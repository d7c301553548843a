/* worker_inbox_test.c - whole messages, a bound, and rings that are not leaked */
#include "tests/testing.h"

#include "services/relay/worker_inbox.h"

#include <poll.h>
#include <pthread.h>

static struct inbox_message lesson(uint32_t session_id)
{
    return (struct inbox_message){.kind = INBOX_LESSON, .body.lesson.owner.session_id = session_id};
}

static bool is_readable(const struct worker_inbox *inbox)
{
    struct pollfd ready = {.fd = inbox->read_fd, .events = POLLIN};
    return poll(&ready, 1, 0) == 1;
}

static void messages_come_out_in_order_and_wake_the_reader(void **state)
{
    (void)state;
    struct worker_inbox inbox;
    struct inbox_message out;
    assert_true(worker_inbox_open(&inbox, NULL));
    assert_false(is_readable(&inbox));
    assert_false(worker_inbox_take(&inbox, &out));
    for (uint32_t i = 0; i < 3; i++) {
        const struct inbox_message message = lesson(i);
        assert_true(worker_inbox_post(&inbox, &message));
    }
    assert_true(is_readable(&inbox));
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(worker_inbox_take(&inbox, &out));
        assert_int_equal(out.kind, INBOX_LESSON);
        assert_int_equal(out.body.lesson.owner.session_id, i);
    }
    assert_false(is_readable(&inbox));
    worker_inbox_close(&inbox);
    worker_inbox_close(&inbox);
}

static void a_full_inbox_refuses_and_never_blocks(void **state)
{
    (void)state;
    struct worker_inbox inbox;
    struct inbox_message out;
    assert_true(worker_inbox_open(&inbox, NULL));
    uint32_t posted = 0;
    for (;; posted++) {
        const struct inbox_message message = lesson(posted);
        if (!worker_inbox_post(&inbox, &message)) {
            break;
        }
        assert_true(posted < 1u << 20);
    }
    assert_true(posted >= 1000);
    for (uint32_t i = 0; i < posted; i++) {
        assert_true(worker_inbox_take(&inbox, &out));
        assert_int_equal(out.body.lesson.owner.session_id, i);
    }
    assert_false(worker_inbox_take(&inbox, &out));
    worker_inbox_close(&inbox);
}

/* LeakSanitizer is the judge. */
static void a_ring_that_nobody_took_is_destroyed(void **state)
{
    (void)state;
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1};
    struct worker_inbox inbox;
    assert_true(worker_inbox_open(&inbox, NULL));
    const struct inbox_message message = {.kind = INBOX_RING,
                                          .body.ring = key_ring_from_secret(1, secret)};
    assert_true(worker_inbox_post(&inbox, &message));
    worker_inbox_close(&inbox);
}

enum { WRITERS = 4, MESSAGES_EACH = 20000 };

struct writer {
    const struct worker_inbox *inbox;
    uint32_t instance_id;
};

static void *write_many(void *context)
{
    const struct writer *writer = context;
    for (uint32_t i = 0; i < MESSAGES_EACH;) {
        struct inbox_message message = lesson(i);
        message.body.lesson.owner.instance_id = writer->instance_id;
        i += worker_inbox_post(writer->inbox, &message);
    }
    return NULL;
}

static void writers_do_not_tear_each_others_messages(void **state)
{
    (void)state;
    struct worker_inbox inbox;
    struct writer writer[WRITERS];
    pthread_t thread[WRITERS];
    uint32_t next[WRITERS] = {0};
    assert_true(worker_inbox_open(&inbox, NULL));
    for (uint32_t i = 0; i < WRITERS; i++) {
        writer[i] = (struct writer){&inbox, i};
        assert_int_equal(pthread_create(&thread[i], NULL, write_many, &writer[i]), 0);
    }
    for (uint32_t taken = 0; taken < WRITERS * MESSAGES_EACH;) {
        struct inbox_message out;
        if (worker_inbox_take(&inbox, &out)) {
            assert_true(out.body.lesson.owner.instance_id < WRITERS);
            assert_int_equal(out.body.lesson.owner.session_id,
                             next[out.body.lesson.owner.instance_id]++);
            taken++;
        }
    }
    for (uint32_t i = 0; i < WRITERS; i++) {
        (void)pthread_join(thread[i], NULL);
    }
    worker_inbox_close(&inbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_in_order_and_wake_the_reader),
        cmocka_unit_test(a_full_inbox_refuses_and_never_blocks),
        cmocka_unit_test(a_ring_that_nobody_took_is_destroyed),
        cmocka_unit_test(writers_do_not_tear_each_others_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
