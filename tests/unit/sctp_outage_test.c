/* sctp_outage_test.c - what was given up while the line was cut does not stop what comes after */
#include "tests/testing.h"

#include "tests/support/sctp_pair.h"

#define UNRELIABLE 3
#define RELIABLE   1

static bool is_cut;
static size_t arrived; /* of RELIABLE */

static void count_message(void *context, int end, const struct sctp_message *message)
{
    (void)context;
    arrived += end == 1 && message->stream == RELIABLE;
}

static bool pass_packet(void *context, int end, struct bytes_view packet)
{
    (void)context;
    (void)packet;
    return !is_cut || end == 1;
}

static enum sctp_send_result send_to(struct sctp_pair *p, uint16_t stream)
{
    static const uint8_t text[20];
    const struct sctp_reliability once = {.kind = SCTP_MAX_RETRANSMITS};
    const struct sctp_message message = {
        .stream = stream, .is_unordered = true, .data = bytes_view_of(text, sizeof(text))};
    return sctp_association_send(p->end[0], &message, stream == RELIABLE ? NULL : &once, p->now_us);
}

/* Small messages fill the congestion window: thousands of TSNs are given up at once, more than the
 * other end would take ahead of a gap. */
static void thousands_of_messages_that_were_given_up_are_passed(void **state)
{
    (void)state;
    const struct sctp_pair_config config = {
        .link = {.seed = 1, .delay_us = 10 * US_PER_MS, .keeps_order = true},
        .hooks = {.message = count_message, .packet = pass_packet},
        .first_tsn = {1000, 2000},
        .begin_us = US_PER_S};
    struct sctp_pair *p = sctp_pair_create(&config);
    is_cut = false;
    arrived = 0;
    sctp_pair_connect(p, true, true);
    for (int i = 0; i < 300; i++) { /* the congestion window grows, then the line is cut */
        is_cut = i >= 280;
        while (i <= 280 && send_to(p, UNRELIABLE) == SCTP_SEND_OK) {
        }
        sctp_pair_run_until(p, p->now_us + 5 * US_PER_MS);
    }
    sctp_pair_run_until(p, p->now_us + 500 * US_PER_MS);
    is_cut = false;
    assert_int_equal(send_to(p, RELIABLE), SCTP_SEND_OK);
    sctp_pair_run_until(p, p->now_us + 5 * US_PER_S);
    assert_int_equal(arrived, 1);
    assert_int_equal(sctp_association_buffered_bytes(p->end[0]), 0);
    sctp_pair_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_messages_that_were_given_up_are_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
