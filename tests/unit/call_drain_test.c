/* call_drain_test.c - who hears that the process will stop, and when */
#include "tests/unit/shard_calls_world.h"

#include "services/transceiver/port/call_drain.h"

static uint64_t said_to(const struct world *w, uint32_t session_id)
{
    const struct session *s = session_registry_find(w->calls.registry, session_id);
    return session_stats(s).data.ignored; /* without a data channel nobody hears it */
}

static void a_drain_tells_its_calls_half_a_minute_before_their_end(void **state)
{
    (void)state;
    static const struct {
        uint64_t timeout_us;
        uint64_t told_us;
    } c[] = {{100 * US_PER_S, 70 * US_PER_S}, {30 * US_PER_S, 0}, {US_PER_S, 0}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        const uint32_t id = place(&w, "rtc_a", 1);
        call_drain_tick(&w.calls, NOW_US);
        assert_int_equal(said_to(&w, id), 0);
        call_drain_begin(&w.calls, NOW_US + c[i].timeout_us);
        assert_true(w.calls.is_draining);
        if (c[i].told_us > 0) {
            call_drain_tick(&w.calls, NOW_US + c[i].told_us - 1);
            assert_int_equal(said_to(&w, id), 0);
        }
        for (uint64_t later_us = 0; later_us < 3 * US_PER_S; later_us += US_PER_S) {
            call_drain_tick(&w.calls, NOW_US + c[i].told_us + later_us);
            assert_int_equal(said_to(&w, id), 1);
        }
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drain_tells_its_calls_half_a_minute_before_their_end),
    };
    return cmocka_run_group_tests(tests, make_identity, drop_identity);
}
