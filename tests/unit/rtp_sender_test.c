/* rtp_sender_test.c - the grid of what leaves, sender reports, and what the peer reports back */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/rtp_sender.h"

#define START_US  (50 * US_PER_S)
#define SLOT_US   (20 * US_PER_MS)
#define UNIX_S    UINT64_C(1700000000)
#define NTP_S     (UNIX_S + UINT64_C(2208988800))
#define OPUS      111
#define NO_PACKET UINT8_MAX

struct sender_case {
    struct rtp_sender *sender;
    struct random_generator random;
    uint64_t now_us;
};

static struct sender_case the_case;

static int setup(void **state)
{
    struct sender_case *c = &the_case;
    random_generator_init(&c->random, 99);
    const struct rtp_sender_config config = {.random = random_seeded(&c->random),
                                             .unix_offset_us = UNIX_S * US_PER_S - START_US,
                                             .clock_hz = 48000};
    c->sender = rtp_sender_create(&config);
    c->now_us = START_US;
    *state = c;
    return c->sender == NULL;
}

static int teardown(void **state)
{
    struct sender_case *c = *state;
    rtp_sender_destroy(c->sender);
    return 0;
}

static struct rtp_packet send(struct sender_case *c, bool is_silence)
{
    uint8_t data[RTP_PACKET_HEADER_BYTES];
    rtp_sender_write_header(c->sender, OPUS, 100, is_silence, data);
    struct rtp_packet p;
    assert_int_equal(rtp_packet_parse(bytes_view_of(data, sizeof(data)), &p), RTP_PACKET_OK);
    return p;
}

static void next_slot(struct sender_case *c)
{
    c->now_us += SLOT_US;
    rtp_sender_next_slot(c->sender, 960, c->now_us);
}

static void the_timestamp_counts_slots_and_the_sequence_packets(void **state)
{
    struct sender_case *c = *state;
    next_slot(c);
    const struct rtp_packet first = send(c, false);
    assert_int_equal(first.ssrc, rtp_sender_ssrc(c->sender));
    assert_int_equal(first.payload_type, OPUS);
    uint16_t sent = 0;
    for (uint32_t slot = 1; slot < 200000; slot++) { /* both wrap on the way */
        next_slot(c);
        if (slot % 3 == 0) {
            continue;
        }
        const struct rtp_packet p = send(c, true);
        sent++;
        assert_int_equal(p.sequence_number, (uint16_t)(first.sequence_number + sent));
        assert_int_equal(p.timestamp, first.timestamp + slot * 960);
        assert_int_equal(p.ssrc, first.ssrc);
    }
}

static void starts_are_random(void **state)
{
    struct sender_case *c = *state;
    next_slot(c);
    const struct rtp_packet a = send(c, false);
    const struct rtp_sender_config config = {.random = random_seeded(&c->random),
                                             .clock_hz = 48000};
    struct sender_case other = {.sender = rtp_sender_create(&config)};
    next_slot(&other);
    const struct rtp_packet b = send(&other, false);
    assert_int_not_equal(a.ssrc, b.ssrc);
    assert_int_not_equal(a.sequence_number, b.sequence_number);
    assert_int_not_equal(a.timestamp, b.timestamp);
    rtp_sender_destroy(other.sender);
}

static void only_the_first_packet_after_silence_is_marked(void **state)
{
    struct sender_case *c = *state;
    static const struct {
        uint8_t is_silence; /* or NO_PACKET */
        bool marker;
    } slot[] = {
        {1, false}, {0, true},  {0, false},         {0, false}, {1, false}, {1, false},
        {0, true},  {0, false}, {NO_PACKET, false}, {0, false}, {0, false},
    };
    for (size_t i = 0; i < COUNT_OF(slot); i++) {
        next_slot(c);
        if (slot[i].is_silence != NO_PACKET) {
            assert_int_equal(send(c, slot[i].is_silence != 0).marker, slot[i].marker);
        }
    }
}

static void a_sender_report_tells_both_clocks_of_the_same_instant(void **state)
{
    struct sender_case *c = *state;
    struct rtcp_sender_info info;
    assert_false(rtp_sender_report(c->sender, &info, c->now_us));
    next_slot(c);
    const struct rtp_packet p = send(c, false);
    (void)send(c, false);
    assert_true(rtp_sender_report(c->sender, &info, START_US + 520 * US_PER_MS));
    assert_int_equal(info.timestamp, p.timestamp + 24000); /* 500 ms after the slot */
    assert_int_equal(info.ntp_time >> 32, NTP_S);
    assert_in_range(info.ntp_time & UINT32_MAX, 2233382993, 2233382994); /* 0.52 * 2^32 */
    assert_int_equal(info.packet_count, 2);
    assert_int_equal(info.octet_count, 200);
}

/* A packet that leaves before its slot, or after, does not move the clock of the reports. */
static void a_sender_report_counts_from_the_slot_also_when_that_is_still_to_come(void **state)
{
    struct sender_case *c = *state;
    struct rtcp_sender_info info;
    next_slot(c); /* at START + 20 ms */
    const struct rtp_packet p = send(c, false);
    static const struct {
        uint64_t after_start_us;
        int32_t units;
    } t[] = {{0, -960}, {10000, -480}, {20000, 0}, {40000, 960}};
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        assert_true(rtp_sender_report(c->sender, &info, START_US + t[i].after_start_us));
        assert_int_equal(info.timestamp, (uint32_t)(p.timestamp + (uint32_t)t[i].units));
    }
}

/* G.711 (RFC 3551 s.4.5.14), and packets of a length of their own. */
static void a_slot_is_as_long_as_it_says_in_the_clock_of_its_codec(void **state)
{
    struct sender_case *c = *state;
    static const uint32_t units[] = {160, 480, 20, 160};
    const struct rtp_sender_config config = {.random = random_seeded(&c->random), .clock_hz = 8000};
    struct sender_case other = {.sender = rtp_sender_create(&config)};
    struct rtcp_sender_info info;
    uint32_t expected = 0;
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        rtp_sender_next_slot(other.sender, units[i], START_US);
        const struct rtp_packet p = send(&other, false);
        expected = i == 0 ? p.timestamp : expected + units[i - 1];
        assert_int_equal(p.timestamp, expected);
    }
    assert_true(rtp_sender_report(other.sender, &info, START_US + US_PER_S));
    assert_int_equal(info.timestamp, expected + 8000);
    rtp_sender_destroy(other.sender);
}

static void the_round_trip_is_arrival_less_lsr_less_dlsr(void **state)
{
    struct sender_case *c = *state;
    next_slot(c);
    (void)send(c, false);
    struct rtcp_sender_info info;
    assert_true(rtp_sender_report(c->sender, &info, START_US + US_PER_S));
    struct rtcp_report_block b = {.ssrc = rtp_sender_ssrc(c->sender),
                                  .fraction_lost = 26,
                                  .cumulative_lost = -3,
                                  .jitter = 480,
                                  .last_sr = (uint32_t)(info.ntp_time >> 16),
                                  .delay_since_last_sr = 0x8000};
    /* 80 ms on the way, half a second there. */
    rtp_sender_report_block(c->sender, &b, START_US + 1580 * US_PER_MS);
    struct rtp_sender_stats stats = rtp_sender_stats(c->sender);
    assert_true(stats.has_rtt);
    assert_in_range(stats.rtt_us, 79970, 80030);
    assert_int_equal(stats.fraction_lost, 26);
    assert_int_equal(stats.cumulative_lost, -3);
    assert_int_equal(stats.jitter_us, 10000);
}

static void a_round_trip_that_can_not_be_is_ignored(void **state)
{
    struct sender_case *c = *state;
    const uint32_t second = 0x10000;
    const uint32_t now = (uint32_t)(NTP_S << 16);
    const uint32_t ours = rtp_sender_ssrc(c->sender);
    const struct rtcp_report_block block[] = {
        {.ssrc = ours, .last_sr = 0, .delay_since_last_sr = now - second},          /* no SR came */
        {.ssrc = ours, .last_sr = now - second, .delay_since_last_sr = second + 1}, /* negative */
        {.ssrc = ours, .last_sr = now - 31 * second},                               /* > 30 s */
        {.ssrc = ours + 1, .last_sr = now - second},                                /* not ours */
    };
    for (size_t i = 0; i < COUNT_OF(block); i++) {
        rtp_sender_report_block(c->sender, &block[i], START_US);
        assert_false(rtp_sender_stats(c->sender).has_rtt);
    }
    const struct rtcp_report_block good = {
        .ssrc = ours, .last_sr = now - second, .delay_since_last_sr = second};
    rtp_sender_report_block(c->sender, &good, START_US);
    assert_true(rtp_sender_stats(c->sender).has_rtt);
    assert_int_equal(rtp_sender_stats(c->sender).rtt_us, 0);
}

/* A report may take back what the one before it called lost: duplicates count as received. */
static void what_was_told_once_is_no_news(void **state)
{
    struct sender_case *c = *state;
    static const struct {
        int32_t cumulative_lost;
        uint64_t news;
    } report[] = {{7, 0}, {-2, 0}, {5, 5}, {3, 0}, {4, 0}, {9, 4}, {0x7fffff, 0x7fffff - 9}};
    for (size_t i = 0; i < COUNT_OF(report); i++) {
        const uint64_t now_us = START_US + i * US_PER_S; /* reported i times */
        next_slot(c);
        (void)send(c, false);
        for (size_t k = 0; k < i; k++) {
            const struct rtcp_report_block b = {.ssrc = rtp_sender_ssrc(c->sender),
                                                .cumulative_lost = report[i].cumulative_lost};
            rtp_sender_report_block(c->sender, &b, now_us);
        }
        const struct rtp_sender_news news = rtp_sender_take_news(c->sender, now_us);
        assert_int_equal(news.packets, 1);
        assert_int_equal(news.reports, i);
        assert_int_equal(news.lost, report[i].news);
        assert_int_equal(rtp_sender_take_news(c->sender, now_us).packets, 0);
    }
}

static void news_is_due_each_10_s(void **state)
{
    struct sender_case *c = *state;
    assert_true(rtp_sender_is_news_due(c->sender, START_US));
    (void)rtp_sender_take_news(c->sender, START_US);
    assert_false(rtp_sender_is_news_due(c->sender, START_US + RTP_SENDER_NEWS_US - 1));
    assert_true(rtp_sender_is_news_due(c->sender, START_US + RTP_SENDER_NEWS_US));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_timestamp_counts_slots_and_the_sequence_packets),
        TEST(starts_are_random),
        TEST(only_the_first_packet_after_silence_is_marked),
        TEST(a_sender_report_tells_both_clocks_of_the_same_instant),
        TEST(a_sender_report_counts_from_the_slot_also_when_that_is_still_to_come),
        TEST(a_slot_is_as_long_as_it_says_in_the_clock_of_its_codec),
        TEST(the_round_trip_is_arrival_less_lsr_less_dlsr),
        TEST(a_round_trip_that_can_not_be_is_ignored),
        TEST(what_was_told_once_is_no_news),
        TEST(news_is_due_each_10_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
