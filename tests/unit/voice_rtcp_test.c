/* voice_rtcp_test.c - when reports leave, what they say, and what a peer's reports do */
#include "tests/testing.h"

#include "services/transceiver/core/session/voice_rtcp.h"

#define BEGIN_US    UINT64_C(100000000)
#define REMOTE_SSRC 0xcafe0001

struct world {
    struct random_generator random;
    struct rtp_receiver *receiver;
    struct rtp_sender *sender;
    struct rtp_history *history;
    struct voice_rtcp rtcp;
    uint8_t out[VOICE_RTCP_BYTES_MAX];
};

static void open_world(struct world *w)
{
    random_generator_init(&w->random, 1);
    w->receiver = rtp_receiver_create(48000, RTP_RECEIVER_NO_TYPE);
    w->sender = rtp_sender_create(
        &(struct rtp_sender_config){.random = random_seeded(&w->random), .clock_hz = 48000});
    w->history = rtp_history_create();
    voice_rtcp_init(&w->rtcp, &(struct voice_rtcp_config){.receiver = w->receiver,
                                                          .sender = w->sender,
                                                          .history = w->history,
                                                          .seed = 2});
}

static void close_world(struct world *w)
{
    rtp_receiver_destroy(w->receiver);
    rtp_sender_destroy(w->sender);
    rtp_history_destroy(w->history);
}

static void send_packet(struct world *w, uint64_t now_us)
{
    uint8_t header[RTP_PACKET_HEADER_BYTES];
    rtp_sender_next_slot(w->sender, 960, now_us);
    rtp_sender_write_header(w->sender, 111, 40, false, header);
    voice_rtcp_note_sent(&w->rtcp, now_us);
}

static void receive_packet(struct world *w, uint16_t sequence_number, uint64_t now_us)
{
    const struct rtp_packet packet = {.payload_type = 111,
                                      .sequence_number = sequence_number,
                                      .timestamp = 960u * sequence_number,
                                      .ssrc = REMOTE_SSRC};
    struct rtp_arrival arrival;
    (void)rtp_receiver_input(w->receiver, &packet, &arrival, now_us);
    voice_rtcp_note_received(&w->rtcp, now_us);
}

static bool find(const uint8_t *data, size_t len, uint8_t type, struct rtcp_packet *out)
{
    struct byte_reader reader;
    byte_reader_init(&reader, bytes_view_of(data, len));
    while (rtcp_packet_next(&reader, out) == RTCP_PACKET_OK) {
        if (out->type == type) {
            return true;
        }
    }
    return false;
}

static void the_first_report_leaves_half_a_second_after_the_first_packet_of_either_way(void **state)
{
    (void)state;
    for (int way = 0; way <= 1; way++) {
        struct world w;
        open_world(&w);
        assert_true(voice_rtcp_next_timeout(&w.rtcp) == TIME_NEVER);
        assert_int_equal(voice_rtcp_poll_report(&w.rtcp, w.out, BEGIN_US), 0);
        if (way == 0) {
            send_packet(&w, BEGIN_US);
        } else {
            receive_packet(&w, 1, BEGIN_US);
        }
        assert_true(voice_rtcp_next_timeout(&w.rtcp) == BEGIN_US + 500000);
        assert_int_equal(voice_rtcp_poll_report(&w.rtcp, w.out, BEGIN_US + 499999), 0);
        assert_true(voice_rtcp_poll_report(&w.rtcp, w.out, BEGIN_US + 500000) > 0);
        assert_true(voice_rtcp_next_timeout(&w.rtcp) > BEGIN_US + 500000);
        close_world(&w);
    }
}

/* A browser turns its FEC on by the first report about its own packets. */
static void the_first_packet_of_the_peer_is_reported_soon_however_late_it_comes(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    uint64_t now_us = BEGIN_US;
    send_packet(&w, now_us);
    for (int i = 0; i < 20; i++) { /* into the relaxed period */
        now_us = voice_rtcp_next_timeout(&w.rtcp);
        assert_true(voice_rtcp_poll_report(&w.rtcp, w.out, now_us) > 0);
    }
    send_packet(&w, now_us); /* not the first: nothing is hurried */
    assert_true(voice_rtcp_next_timeout(&w.rtcp) - now_us >= 2500000);
    receive_packet(&w, 1, now_us + 1000);
    assert_true(voice_rtcp_next_timeout(&w.rtcp) == now_us + 501000);
    receive_packet(&w, 2, now_us + 2000); /* only the first */
    assert_true(voice_rtcp_next_timeout(&w.rtcp) == now_us + 501000);
    close_world(&w);
}

static void
a_report_is_an_sr_once_something_was_sent_and_has_a_block_once_something_came(void **state)
{
    (void)state;
    static const struct {
        bool sent;
        bool received;
    } c[] = {{true, false}, {false, true}, {true, true}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        struct rtcp_packet packet;
        struct rtcp_report_block block;
        struct bytes_view cname;
        open_world(&w);
        if (c[i].sent) {
            send_packet(&w, BEGIN_US);
        }
        if (c[i].received) {
            receive_packet(&w, 1, BEGIN_US);
        }
        const size_t len = voice_rtcp_poll_report(&w.rtcp, w.out, BEGIN_US + 600000);
        assert_true(
            find(w.out, len, c[i].sent ? RTCP_SENDER_REPORT : RTCP_RECEIVER_REPORT, &packet));
        assert_int_equal(packet.ssrc, rtp_sender_ssrc(w.sender));
        assert_int_equal(packet.count, c[i].received);
        assert_int_equal(rtcp_packet_find_block(&packet, REMOTE_SSRC, &block), c[i].received);
        assert_true(find(w.out, len, RTCP_SOURCE_DESCRIPTION, &packet));
        assert_true(rtcp_packet_find_cname(&packet, rtp_sender_ssrc(w.sender), &cname));
        assert_true(bytes_equal(cname, bytes_view_of_text("earshot")));
        assert_false(find(w.out, len, RTCP_BYE, &packet));
        close_world(&w);
    }
}

static void a_bye_names_us_and_needs_no_schedule(void **state)
{
    (void)state;
    struct world w;
    struct rtcp_packet packet;
    open_world(&w);
    send_packet(&w, BEGIN_US);
    const size_t len = voice_rtcp_bye(&w.rtcp, w.out, BEGIN_US);
    assert_true(find(w.out, len, RTCP_BYE, &packet));
    assert_true(rtcp_packet_is_bye_of(&packet, rtp_sender_ssrc(w.sender)));
    close_world(&w);
}

/* RFC 3550 s.6.3.7 */
static void who_never_sent_anything_says_no_bye(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    receive_packet(&w, 1, BEGIN_US);
    assert_int_equal(voice_rtcp_bye(&w.rtcp, w.out, BEGIN_US), 0);
    assert_true(voice_rtcp_poll_report(&w.rtcp, w.out, BEGIN_US + 500000) > 0);
    assert_true(voice_rtcp_bye(&w.rtcp, w.out, BEGIN_US + 500000) > 0);
    close_world(&w);
}

/* What the peer writes: an SR of its own, with a block about us. */
static size_t write_peer_report(uint8_t *out, uint32_t block_ssrc, uint32_t last_sr, uint32_t delay)
{
    const struct rtcp_report_block block = {.ssrc = block_ssrc,
                                            .fraction_lost = 64,
                                            .cumulative_lost = -5,
                                            .last_sr = last_sr,
                                            .delay_since_last_sr = delay};
    const struct rtcp_report report = {
        .ssrc = REMOTE_SSRC,
        .cname = "peer",
        .has_sender_info = true,
        .sender_info = {.ntp_time = UINT64_C(0x1122334455667788)},
        .block = &block,
        .block_count = 1,
    };
    return rtcp_packet_write(&report, out, VOICE_RTCP_BYTES_MAX);
}

static void a_report_of_the_peer_tells_loss_and_round_trip(void **state)
{
    (void)state;
    struct world w;
    struct rtcp_packet sent;
    struct rtcp_packet answer;
    struct rtcp_report_block block;
    uint8_t peer[VOICE_RTCP_BYTES_MAX];
    open_world(&w);
    send_packet(&w, BEGIN_US);
    receive_packet(&w, 1, BEGIN_US);
    const uint64_t sent_us = BEGIN_US + 500000;
    const size_t sent_len = voice_rtcp_poll_report(&w.rtcp, w.out, sent_us);
    assert_true(find(w.out, sent_len, RTCP_SENDER_REPORT, &sent));
    /* It held the report for half a second, and the way there and back took 80 ms. */
    const size_t len = write_peer_report(peer, rtp_sender_ssrc(w.sender),
                                         (uint32_t)(sent.sender_info.ntp_time >> 16), 0x8000);
    const uint64_t heard_us = sent_us + 580000;
    voice_rtcp_input(&w.rtcp, bytes_view_of(peer, len), heard_us);
    const struct rtp_sender_stats stats = rtp_sender_stats(w.sender);
    assert_int_equal(stats.fraction_lost, 64);
    assert_int_equal(stats.cumulative_lost, -5);
    assert_true(stats.has_rtt);
    assert_in_range(stats.rtt_us, 79950, 80050);
    /* Our next report says when its SR came, so that it can do the same. */
    const uint64_t next_us = voice_rtcp_next_timeout(&w.rtcp);
    const size_t next_len = voice_rtcp_poll_report(&w.rtcp, w.out, next_us);
    assert_true(find(w.out, next_len, RTCP_SENDER_REPORT, &answer));
    assert_true(rtcp_packet_find_block(&answer, REMOTE_SSRC, &block));
    assert_int_equal(block.last_sr, 0x33445566);
    const uint64_t delay = ((next_us - heard_us) << 16) / US_PER_S;
    assert_int_equal(block.delay_since_last_sr, delay);
    close_world(&w);
}

static void a_block_about_somebody_else_changes_nothing(void **state)
{
    (void)state;
    struct world w;
    uint8_t peer[VOICE_RTCP_BYTES_MAX];
    open_world(&w);
    send_packet(&w, BEGIN_US);
    const size_t len = write_peer_report(peer, rtp_sender_ssrc(w.sender) ^ 1, 1, 0);
    voice_rtcp_input(&w.rtcp, bytes_view_of(peer, len), BEGIN_US + 1000);
    assert_int_equal(rtp_sender_stats(w.sender).fraction_lost, 0);
    assert_false(rtp_sender_stats(w.sender).has_rtt);
    close_world(&w);
}

/* Cut at every byte, and with every bit turned: nothing breaks, and the first packet counts when
 * only what is behind it is damaged. */
static void a_damaged_compound_counts_as_far_as_it_can_be_read(void **state)
{
    (void)state;
    struct world w;
    uint8_t peer[VOICE_RTCP_BYTES_MAX];
    open_world(&w);
    send_packet(&w, BEGIN_US);
    const size_t len = write_peer_report(peer, rtp_sender_ssrc(w.sender), 0, 0);
    enum { SR_BYTES = 52 };
    assert_true(len > SR_BYTES);
    for (size_t cut = 0; cut < SR_BYTES; cut++) {
        voice_rtcp_input(&w.rtcp, bytes_view_of(peer, cut), BEGIN_US);
        assert_int_equal(rtp_sender_stats(w.sender).fraction_lost, 0);
    }
    assert_int_equal(w.rtcp.stats.compounds[RTCP_PACKET_TRUNCATED], SR_BYTES - 1);
    voice_rtcp_input(&w.rtcp, bytes_view_of(peer, len - 1), BEGIN_US);
    assert_int_equal(rtp_sender_stats(w.sender).fraction_lost, 64);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        peer[bit / 8] ^= (uint8_t)(1 << bit % 8);
        voice_rtcp_input(&w.rtcp, bytes_view_of(peer, len), BEGIN_US);
        peer[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    close_world(&w);
}

static void a_report_leaves_early_when_the_loss_moved_by_more_than_two_points(void **state)
{
    (void)state;
    static const struct {
        uint16_t lost; /* of 100 packets since the report before */
        bool is_early;
    } c[] = {{0, false}, {1, false}, {2, false}, {3, true}, {50, true}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        receive_packet(&w, 1, BEGIN_US);
        const uint64_t reported_us = BEGIN_US + 500000;
        assert_true(voice_rtcp_poll_report(&w.rtcp, w.out, reported_us) > 0);
        const uint64_t planned_us = voice_rtcp_next_timeout(&w.rtcp);
        for (uint16_t n = 2; n <= 101; n++) { /* the last ones are lost before the very last */
            if (n == 101 || n < 101 - c[i].lost) {
                receive_packet(&w, n, reported_us + 1000);
            }
        }
        assert_true(voice_rtcp_next_timeout(&w.rtcp) ==
                    (c[i].is_early ? reported_us + 250000 : planned_us));
        close_world(&w);
    }
}

static void a_report_leaves_early_when_the_loss_is_over(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    receive_packet(&w, 1, BEGIN_US);
    receive_packet(&w, 3, BEGIN_US + 40000);
    const uint64_t reported_us = BEGIN_US + 500000;
    assert_true(voice_rtcp_poll_report(&w.rtcp, w.out, reported_us) > 0);
    assert_true(voice_rtcp_next_timeout(&w.rtcp) > reported_us + 250000);
    receive_packet(&w, 4, reported_us + 400000);
    assert_true(voice_rtcp_next_timeout(&w.rtcp) == reported_us + 400000);
    assert_true(voice_rtcp_poll_report(&w.rtcp, w.out, reported_us + 400000) > 0);
    receive_packet(&w, 5, reported_us + 420000);
    assert_true(voice_rtcp_next_timeout(&w.rtcp) > reported_us + 650000);
    close_world(&w);
}

/* RFC 4585 s.6.2.1, about packet `lost` and the one after the next. */
static size_t write_nack(uint8_t out[16], uint32_t ssrc, uint16_t lost)
{
    struct byte_writer w;
    byte_writer_init(&w, out, 16);
    byte_writer_u8(&w, 2 << 6 | RTCP_FORMAT_NACK);
    byte_writer_u8(&w, RTCP_TRANSPORT_FEEDBACK);
    byte_writer_u16(&w, 3);
    byte_writer_u32(&w, REMOTE_SSRC);
    byte_writer_u32(&w, ssrc);
    byte_writer_u16(&w, lost);
    byte_writer_u16(&w, 2);
    return w.len;
}

static void keep(struct world *w, uint16_t sequence_number)
{
    const uint8_t packet[20] = {0x80, 111, (uint8_t)(sequence_number >> 8),
                                (uint8_t)sequence_number};
    rtp_history_keep(w->history, bytes_view_of(packet, sizeof(packet)));
}

static void a_nack_about_us_wants_the_packets_that_it_names_once(void **state)
{
    (void)state;
    struct world w;
    uint8_t nack[16];
    struct bytes_view packet;
    open_world(&w);
    for (uint16_t n = 0; n < 4; n++) {
        keep(&w, (uint16_t)(65534 + n));
    }
    const size_t other = write_nack(nack, rtp_sender_ssrc(w.sender) + 1, 65534);
    voice_rtcp_input(&w.rtcp, bytes_view_of(nack, other), BEGIN_US);
    assert_false(rtp_history_poll(w.history, &packet));
    const size_t len = write_nack(nack, rtp_sender_ssrc(w.sender), 65534);
    voice_rtcp_input(&w.rtcp, bytes_view_of(nack, len), BEGIN_US);
    bool has_first = false;
    bool has_third = false;
    while (rtp_history_poll(w.history, &packet)) {
        has_first = has_first || packet.data[3] == 0xfe;
        has_third = has_third || packet.data[3] == 0;
        assert_true(packet.data[3] == 0xfe || packet.data[3] == 0);
    }
    assert_true(has_first && has_third);
    voice_rtcp_input(&w.rtcp, bytes_view_of(nack, len), BEGIN_US);
    assert_false(rtp_history_poll(w.history, &packet));
    close_world(&w);
}

static void a_nack_that_was_not_agreed_changes_nothing(void **state)
{
    (void)state;
    struct world w;
    uint8_t nack[16];
    open_world(&w);
    w.rtcp.config.history = NULL;
    const size_t len = write_nack(nack, rtp_sender_ssrc(w.sender), 1);
    voice_rtcp_input(&w.rtcp, bytes_view_of(nack, len), BEGIN_US);
    assert_int_equal(w.rtcp.stats.compounds[RTCP_PACKET_END], 1);
    close_world(&w);
}

/* XR (RFC 3611) and APP are stepped over: what stands behind them counts. */
static void what_is_not_understood_is_stepped_over(void **state)
{
    (void)state;
    struct world w;
    uint8_t compound[VOICE_RTCP_BYTES_MAX] = {0x80, 207, 0, 4, 0, 0, 0, 1, 4, 0, 0, 2};
    open_world(&w);
    const size_t xr_bytes = 20;
    uint8_t report[VOICE_RTCP_BYTES_MAX];
    const size_t report_bytes = write_peer_report(report, rtp_sender_ssrc(w.sender), 0, 0);
    memcpy(compound + xr_bytes, report, report_bytes);
    voice_rtcp_input(&w.rtcp, bytes_view_of(compound, xr_bytes + report_bytes), BEGIN_US);
    assert_int_equal(rtp_sender_stats(w.sender).fraction_lost, 64);
    assert_int_equal(w.rtcp.stats.compounds[RTCP_PACKET_END], 1);
    close_world(&w);
}

static void a_damaged_compound_is_counted_by_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        uint8_t data[8];
        enum rtcp_packet_result reason;
    } c[] = {
        {{0x80, 201, 0, 1}, RTCP_PACKET_END},       {{0x40, 201, 0, 1}, RTCP_PACKET_VERSION},
        {{0x80, 201, 0, 2}, RTCP_PACKET_TRUNCATED}, {{0x81, 201, 0, 1}, RTCP_PACKET_COUNT},
        {{0x9f, 203, 0, 1}, RTCP_PACKET_COUNT},     {{0xa0, 201, 0, 1}, RTCP_PACKET_PADDING},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        voice_rtcp_input(&w.rtcp, bytes_view_of(c[i].data, sizeof(c[i].data)), BEGIN_US);
        for (size_t k = 0; k < RTCP_PACKET_RESULT_COUNT; k++) {
            assert_int_equal(w.rtcp.stats.compounds[k], k == (size_t)c[i].reason);
            assert_non_null(rtcp_packet_result_name((enum rtcp_packet_result)k));
        }
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_first_report_leaves_half_a_second_after_the_first_packet_of_either_way),
        cmocka_unit_test(the_first_packet_of_the_peer_is_reported_soon_however_late_it_comes),
        cmocka_unit_test(
            a_report_is_an_sr_once_something_was_sent_and_has_a_block_once_something_came),
        cmocka_unit_test(a_bye_names_us_and_needs_no_schedule),
        cmocka_unit_test(who_never_sent_anything_says_no_bye),
        cmocka_unit_test(a_report_of_the_peer_tells_loss_and_round_trip),
        cmocka_unit_test(a_block_about_somebody_else_changes_nothing),
        cmocka_unit_test(a_report_leaves_early_when_the_loss_moved_by_more_than_two_points),
        cmocka_unit_test(a_report_leaves_early_when_the_loss_is_over),
        cmocka_unit_test(a_nack_about_us_wants_the_packets_that_it_names_once),
        cmocka_unit_test(a_nack_that_was_not_agreed_changes_nothing),
        cmocka_unit_test(what_is_not_understood_is_stepped_over),
        cmocka_unit_test(a_damaged_compound_is_counted_by_what_is_wrong),
        cmocka_unit_test(a_damaged_compound_counts_as_far_as_it_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
