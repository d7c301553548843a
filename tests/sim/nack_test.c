/* nack_test.c - what a client asks for again comes again, if that was agreed */
#include "tests/sim/fleet_world.h"

static struct sim_fleet *lossy_call(bool has_nack)
{
    struct sim_fleet_config config = {
        .seed = 601,
        .link = {.delay_us = 15000, .loss_per_mille = 50},
        .client = {.is_cheap = true, .has_nack = has_nack},
        .cluster.mode = DIALOGUE_ECHO,
    };
    struct sim_fleet *f = sim_fleet_create(&config);
    sim_fleet_run(f, sim_fleet_now(f) + 30 * SECOND);
    return f;
}

/* Of the packets that are lost one in ten stays so: the request, or its answer, is lost too. */
static void nine_of_ten_lost_packets_come_again(void **state)
{
    (void)state;
    struct sim_fleet *f = lossy_call(true);
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    const struct session_stats stats = session_stats(sim_fleet_session(f));
    assert_in_range(stats.sent_again, stats.voice.packets / 30, stats.voice.packets / 15);
    assert_true(heard->missing < stats.sent_again / 5);
    /* SRTP of the client lets each packet through once: what it had already was not sent. */
    assert_true(heard->packets <= stats.voice.packets);
    sim_fleet_destroy(f);
}

static void what_was_not_agreed_is_not_sent_again(void **state)
{
    (void)state;
    struct sim_fleet *f = lossy_call(false);
    assert_int_equal(session_stats(sim_fleet_session(f)).sent_again, 0);
    assert_true(sim_client_heard(sim_fleet_client(f))->missing > 30);
    sim_fleet_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_of_ten_lost_packets_come_again),
        cmocka_unit_test(what_was_not_agreed_is_not_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
