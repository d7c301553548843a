/* backend_home_test.c - calls that lost their backend are taken back to the one that holds them */
#include "tests/unit/backend_port_world.h"

static void lose_a_call(struct world *w)
{
    start_session(w);
    far_end_hang_up(&w->far_end);
    serve(w);
    assert_session_is_lost(w);
}

static bool was_dialled(const struct far_end *f)
{
    struct pollfd incoming = {.fd = f->listener, .events = POLLIN};
    return poll(&incoming, 1, 0) == 1;
}

/* Each answer of the name begins somewhere in the list, and need not hold that backend any more. */
static void calls_that_wait_are_taken_back_to_the_backend_they_had(void **state)
{
    (void)state;
    for (int is_listed = 0; is_listed <= 1; is_listed++) {
        struct world w;
        open_world(&w);
        const struct net_addr list[] = {far_end_free_address(SOCK_STREAM),
                                        far_end_free_address(SOCK_STREAM),
                                        far_end_free_address(SOCK_STREAM), w.address};
        greet_world(&w);
        for (int loss = 0; loss < 8; loss++) {
            lose_a_call(&w);
            backend_port_set_addresses(w.port, list, is_listed == 1 ? 4 : 3);
            tick_when_due(&w);
            assert_true(was_dialled(&w.far_end));
            finish_greeting(&w);
        }
        close_world(&w);
    }
}

static void after_two_tries_that_failed_the_calls_go_to_another(void **state)
{
    (void)state;
    struct world w;
    struct far_end other;
    open_world(&w);
    greet_world(&w);
    far_end_listen(&other);
    const struct net_addr address = far_end_address_of(other.listener);
    backend_port_set_addresses(w.port, &address, 1);
    (void)close(w.far_end.listener);
    lose_a_call(&w);
    for (int dial = 1; dial <= 3; dial++) {
        tick_when_due(&w);
        assert_int_equal(was_dialled(&other), dial == 3);
        serve(&w);
    }
    w.far_end = other;
    close_world(&w);
}

static void without_calls_the_next_backend_has_its_turn(void **state)
{
    (void)state;
    struct world w;
    struct far_end other;
    open_world(&w);
    greet_world(&w);
    far_end_listen(&other);
    const struct net_addr address = far_end_address_of(other.listener);
    backend_port_set_addresses(w.port, &address, 1);
    far_end_hang_up(&w.far_end);
    serve(&w);
    assert_nothing_is_lost(&w);
    tick_when_due(&w);
    assert_true(was_dialled(&other));
    assert_false(was_dialled(&w.far_end));
    far_end_close(&other);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_wait_are_taken_back_to_the_backend_they_had),
        cmocka_unit_test(after_two_tries_that_failed_the_calls_go_to_another),
        cmocka_unit_test(without_calls_the_next_backend_has_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
