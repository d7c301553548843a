/* worker_sockets_test.c - how a worker waits: asleep, a little longer, or never */
#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "services/relay/worker_sockets.h"
#include "tests/far_end.h"

#include <sys/timerfd.h>

#define FIRST   WORKER_SOCKETS_MAX
#define SECOND  (WORKER_SOCKETS_MAX + 1)
#define WORKERS FORWARDER_INTERNAL_PORTS

static struct {
    struct relay_config config;
    struct relay_keep keep;
    struct worker_sockets sockets;
    int timer[2];
} world;

static void open_world(unsigned gather_us, bool is_busy_polling)
{
    struct fault fault = {0};
    world.config = (struct relay_config){
        .socket_buffer_bytes = 65536, .gather_us = gather_us, .is_busy_polling = is_busy_polling};
    world.config.forwarder.listen[0] = far_end_free_address(SOCK_DGRAM);
    world.config.forwarder.listen_count = 1;
    world.config.forwarder.internal = far_end_free_address(SOCK_DGRAM);
    relay_keep_open(&world.keep, &world.config);
    assert_true(worker_sockets_open(&world.sockets, &world.keep, 0, WORKERS, &fault));
    for (unsigned i = 0; i < 2; i++) {
        world.timer[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        assert_true(world.timer[i] >= 0);
        worker_sockets_watch(&world.sockets, world.timer[i], FIRST + i);
    }
}

static void close_world(void)
{
    (void)close(world.timer[0]);
    (void)close(world.timer[1]);
    worker_sockets_close(&world.sockets);
    relay_keep_close(&world.keep);
}

static void ring_in(unsigned timer, uint64_t after_us)
{
    const struct itimerspec when = {.it_value.tv_nsec = (long)after_us * 1000};
    assert_int_equal(timerfd_settime(world.timer[timer], 0, &when, NULL), 0);
}

static uint64_t waited_us(int timeout_ms)
{
    const uint64_t begin_us = clock_now_us();
    worker_sockets_wait(&world.sockets, timeout_ms);
    return clock_now_us() - begin_us;
}

static void a_wait_ends_with_what_can_be_read_and_says_what(void **state)
{
    (void)state;
    open_world(0, false);
    assert_true(waited_us(1) >= 1000);
    assert_false(worker_sockets_is_ready(&world.sockets, FIRST));
    ring_in(1, 1000);
    worker_sockets_wait(&world.sockets, FAR_END_PATIENCE_MS);
    assert_false(worker_sockets_is_ready(&world.sockets, FIRST));
    assert_true(worker_sockets_is_ready(&world.sockets, SECOND));
    close_world();
}

static void after_a_sleep_it_gathers_what_comes_a_little_later(void **state)
{
    (void)state;
    open_world(RELAY_GATHER_US_MAX, false);
    ring_in(0, 5000);
    ring_in(1, 5000 + RELAY_GATHER_US_MAX / 2);
    assert_true(waited_us(FAR_END_PATIENCE_MS) >= RELAY_GATHER_US_MAX);
    assert_true(worker_sockets_is_ready(&world.sockets, FIRST));
    assert_true(worker_sockets_is_ready(&world.sockets, SECOND));
    close_world();
}

static void a_gathering_worker_without_work_sleeps_as_long_as_it_may(void **state)
{
    (void)state;
    open_world(RELAY_GATHER_US_MAX, false);
    assert_true(waited_us(2) >= 2000);
    assert_false(worker_sockets_is_ready(&world.sockets, FIRST));
    close_world();
}

static void a_polling_worker_does_not_sleep(void **state)
{
    (void)state;
    open_world(0, true);
    assert_true(waited_us(FAR_END_PATIENCE_MS) < FAR_END_PATIENCE_MS * US_PER_MS);
    ring_in(0, 1);
    while (!worker_sockets_is_ready(&world.sockets, FIRST)) {
        worker_sockets_wait(&world.sockets, FAR_END_PATIENCE_MS);
    }
    close_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_ends_with_what_can_be_read_and_says_what),
        cmocka_unit_test(after_a_sleep_it_gathers_what_comes_a_little_later),
        cmocka_unit_test(a_gathering_worker_without_work_sleeps_as_long_as_it_may),
        cmocka_unit_test(a_polling_worker_does_not_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
