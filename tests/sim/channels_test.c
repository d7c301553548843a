/* channels_test.c - whole calls with data channels, over links that lose, repeat and reorder */
#include "tests/testing.h"

#include "tests/support/sim_fleet.h"
#include "tests/virtual_time.h"

#include <stdlib.h>

#define SECOND US_PER_S

void sim_fleet_set_time(uint64_t now_us)
{
    virtual_time_us = now_us;
}

static struct sim_fleet_config network(uint64_t seed)
{
    return (struct sim_fleet_config){.seed = seed,
                                     .link.delay_us = 15000,
                                     .cluster.mode = DIALOGUE_ECHO,
                                     .client.has_data = true};
}

static void run_for(struct sim_fleet *f, uint64_t us)
{
    sim_fleet_run(f, sim_fleet_now(f) + us);
}

static uint64_t ended(const struct sim_fleet *f, enum session_end_reason reason)
{
    return metric_get(&sim_fleet_counters(f)->sessions_ended[reason]);
}

static void a_client_opens_its_event_channel_and_is_answered(void **state)
{
    (void)state;
    for (int is_dtls_client = 0; is_dtls_client <= 1; is_dtls_client++) {
        struct sim_fleet_config config = network(1);
        struct sim_data_message m;
        config.client.is_dtls_client = is_dtls_client != 0;
        struct sim_fleet *f = sim_fleet_create(&config);
        struct sim_data *data = sim_client_data(sim_fleet_client(f));
        const uint16_t stream = sim_data_open(data, "oai-events", sim_fleet_now(f));
        assert_int_equal(stream, is_dtls_client != 0 ? 0 : 1);
        run_for(f, SECOND);
        assert_false(sim_data_take(data, &m));
        assert_int_equal(sim_data_state(data, stream), SIM_DATA_OPEN);
        assert_true(sim_data_send(data, stream, true,
                                  bytes_view_of_text("{\"type\":\"x\",\"event_id\":\"mine\"}"),
                                  sim_fleet_now(f)));
        run_for(f, SECOND);
        assert_true(sim_data_take(data, &m));
        print_message("%.*s\n", (int)m.data.len, (const char *)m.data.data);
        sim_fleet_hang_up(f);
        run_for(f, SECOND);
        assert_true(sim_client_heard(sim_fleet_client(f))->was_closed);
        assert_int_equal(sim_data_state(data, stream), SIM_DATA_CLOSED);
        assert_null(sim_fleet_session(f));
        assert_int_equal(ended(f, SESSION_END_HANGUP), 1);
        sim_fleet_destroy(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_opens_its_event_channel_and_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
