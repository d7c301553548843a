/* dtls_release_test.c - a call without data: TLS is gone, its end is heard and said all the same */
#include "tests/dtls_pair.h"

/* As soon as both have their keys, the one or both let TLS go. */
static struct pair *released_pair(bool releases_0, bool releases_1)
{
    struct pair *p = connected_pair();
    const bool releases[] = {releases_0, releases_1};
    for (int i = 0; i < 2; i++) {
        if (releases[i]) {
            dtls_transport_release(p->end[i].dtls);
            dtls_transport_release(p->end[i].dtls); /* a second one changes nothing */
        }
        assert_int_equal(dtls_transport_next_timeout(p->end[i].dtls), TIME_NEVER);
    }
    return p;
}

static void closing_is_said_and_heard_without_tls(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        const int closer = i % 2;
        struct pair *p = released_pair(i / 2 != 1, i / 2 != 2);
        const unsigned sent_before = p->end[closer].datagrams_sent;
        const uint64_t start_us = p->now_us;
        dtls_transport_close(p->end[closer].dtls, p->now_us);
        run_for(p, US_PER_S);
        assert_int_equal(p->end[closer].datagrams_sent - sent_before, 3);
        assert_int_equal(p->end[closer].closed + p->end[closer].failed, 0);
        assert_int_equal(p->end[1 - closer].closed, 1);
        assert_int_equal(p->end[1 - closer].last_event.alert, ALERT_INTERNAL);
        assert_int_equal(p->end[1 - closer].ended_us - start_us, 25000);
        assert_int_equal(dtls_transport_next_timeout(p->end[closer].dtls), TIME_NEVER);
        pair_free(p);
    }
}

/* One datagram with a byte of data. */
static struct bytes_view data_of(struct pair *p, int which, uint8_t bytes[PACKET_CAP])
{
    struct bytes_view out;
    const uint8_t byte = 7;
    assert_true(dtls_transport_send(p->end[which].dtls, bytes_view_of(&byte, 1)));
    assert_true(dtls_transport_poll_datagram(p->end[which].dtls, &out));
    memcpy(bytes, out.data, out.len);
    return bytes_view_of(bytes, out.len);
}

static void only_what_is_new_and_the_peers_is_a_sign_of_life(void **state)
{
    (void)state;
    struct pair *p = released_pair(true, false);
    struct dtls_transport *us = p->end[0].dtls;
    uint8_t bytes[4][PACKET_CAP];
    struct bytes_view sent[4];
    for (size_t i = 0; i < COUNT_OF(sent); i++) {
        sent[i] = data_of(p, 1, bytes[i]);
    }
    static const struct {
        size_t which;
        enum dtls_input_result result;
    } row[] = {
        {1, DTLS_INPUT_AUTHENTIC_NEWEST},
        {1, DTLS_INPUT_TAKEN},
        {0, DTLS_INPUT_TAKEN}, /* late: nobody needs it */
        {3, DTLS_INPUT_AUTHENTIC_NEWEST},
        {2, DTLS_INPUT_TAKEN},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_int_equal(dtls_transport_input(us, sent[row[i].which], p->now_us), row[i].result);
    }
    drain(p, 0);
    assert_int_equal(p->end[0].packets_received, 0);
    assert_int_equal(p->end[0].closed, 0);
    pair_free(p);
}

/* What was read before the release is not new after it. */
static void a_record_from_before_the_release_is_no_sign_of_life(void **state)
{
    (void)state;
    struct pair *p = connected_pair();
    uint8_t bytes[PACKET_CAP];
    const struct bytes_view sent = data_of(p, 1, bytes);
    assert_int_equal(dtls_transport_input(p->end[0].dtls, sent, p->now_us),
                     DTLS_INPUT_AUTHENTIC_NEWEST);
    drain(p, 0);
    dtls_transport_release(p->end[0].dtls);
    assert_int_equal(dtls_transport_input(p->end[0].dtls, sent, p->now_us), DTLS_INPUT_TAKEN);
    pair_free(p);
}

static void an_alert_with_any_flipped_bit_ends_nothing(void **state)
{
    (void)state;
    struct pair *p = released_pair(true, true);
    struct dtls_transport *us = p->end[0].dtls;
    struct bytes_view out;
    uint8_t alert[PACKET_CAP];
    dtls_transport_close(p->end[1].dtls, p->now_us);
    assert_true(dtls_transport_poll_datagram(p->end[1].dtls, &out));
    const size_t len = out.len;
    memcpy(alert, out.data, len);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        alert[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(dtls_transport_input(us, bytes_view_of(alert, len), p->now_us),
                         DTLS_INPUT_TAKEN);
        alert[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t cut = 0; cut < len; cut++) {
        assert_int_equal(dtls_transport_input(us, bytes_view_of(alert, cut), p->now_us),
                         DTLS_INPUT_TAKEN);
    }
    drain(p, 0);
    assert_int_equal(p->end[0].closed, 0);
    assert_int_equal(dtls_transport_input(us, bytes_view_of(alert, len), p->now_us),
                     DTLS_INPUT_AUTHENTIC_NEWEST);
    drain(p, 0);
    assert_int_equal(p->end[0].closed, 1);
    pair_free(p);
}

static void plaintext_records_mean_nothing(void **state)
{
    (void)state;
    static const uint8_t record[][15] = {
        {21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 2, 2, 40}, /* an alert of epoch 0 */
        {21, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0xff, 0, 0, 2, 2, 40}, /* one without a seal */
        {22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 2, 1, 0},
    };
    struct pair *p = released_pair(true, true);
    for (size_t i = 0; i < COUNT_OF(record); i++) {
        assert_int_equal(dtls_transport_input(p->end[0].dtls,
                                              bytes_view_of(record[i], sizeof(record[i])),
                                              p->now_us),
                         DTLS_INPUT_TAKEN);
    }
    drain(p, 0);
    assert_int_equal(p->end[0].closed + p->end[0].failed, 0);
    pair_free(p);
}

static void nothing_is_sent_after_it_and_nothing_released_before_the_keys(void **state)
{
    (void)state;
    const uint8_t byte = 1;
    struct pair *p = pair_make(1);
    dtls_transport_release(p->end[0].dtls); /* not started */
    start_both(p, 0);
    dtls_transport_release(p->end[0].dtls); /* not connected */
    run_for(p, US_PER_S);
    assert_int_equal(p->end[0].connected, 1);
    dtls_transport_release(p->end[0].dtls);
    assert_false(dtls_transport_send(p->end[0].dtls, bytes_view_of(&byte, 1)));
    assert_int_equal(dtls_transport_dropped(p->end[0].dtls), 0);
    dtls_transport_tick(p->end[0].dtls, p->now_us);
    pair_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_is_said_and_heard_without_tls),
        cmocka_unit_test(only_what_is_new_and_the_peers_is_a_sign_of_life),
        cmocka_unit_test(a_record_from_before_the_release_is_no_sign_of_life),
        cmocka_unit_test(an_alert_with_any_flipped_bit_ends_nothing),
        cmocka_unit_test(plaintext_records_mean_nothing),
        cmocka_unit_test(nothing_is_sent_after_it_and_nothing_released_before_the_keys),
    };
    return cmocka_run_group_tests(tests, make_identities, free_identities);
}
