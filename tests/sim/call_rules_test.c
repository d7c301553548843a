/* call_rules_test.c - the rules of a call, watched on the wire of whole calls in virtual time */
#include "tests/sim/fleet_world.h"

#define DELAY_US       15000
#define MAX_UTTERANCES 64

/* The first frame of this type behind `from`; NULL = none. */
static const struct sim_frame *find_frame(const struct sim_fleet *f, enum backend_frame_type type,
                                          const char *what, size_t from)
{
    size_t count = 0;
    const struct sim_frame *frames = sim_fleet_frames(f, &count);
    for (size_t i = from; i < count; i++) {
        if (frames[i].type == type && strstr(frames[i].payload, what) != NULL) {
            return &frames[i];
        }
    }
    return NULL;
}

static size_t index_of(const struct sim_fleet *f, const struct sim_frame *frame)
{
    size_t count = 0;
    assert_non_null(frame);
    return (size_t)(frame - sim_fleet_frames(f, &count));
}

/* --- backend-protocol.md: utterances and credit ----------------------------------------------- */

/* Each utterance that the backend spoke of is started at most once and done once, in the order of
 * ids, and nothing follows the last word of its call. */
static void assert_utterances_are_done_once(const struct sim_fleet *f)
{
    size_t count = 0;
    uint32_t newest = 0;
    uint32_t newest_done = 0;
    unsigned started[MAX_UTTERANCES] = {0};
    bool is_over = false;
    const struct sim_frame *frames = sim_fleet_frames(f, &count);
    assert_in_range(count, 1, SIM_FLEET_FRAMES_MAX - 1);
    for (size_t i = 0; i < count; i++) {
        const struct sim_frame *frame = &frames[i];
        if (frame->is_from_backend) {
            newest = frame->type == BACKEND_AUDIO_OUT && frame->utterance > newest
                         ? frame->utterance
                         : newest;
            continue;
        }
        assert_false(is_over);
        is_over = frame->type == BACKEND_SESSION_END || frame->type == BACKEND_SESSION_ENDED;
        if (frame->type == BACKEND_PLAYBACK) {
            assert_in_range(frame->utterance, 1, MAX_UTTERANCES - 1);
            started[frame->utterance] += strstr(frame->payload, "started") != NULL;
            assert_in_range(started[frame->utterance], 0, 1);
            if (strstr(frame->payload, "\"done\"") != NULL) {
                assert_int_equal(frame->utterance, newest_done + 1);
                newest_done = frame->utterance;
            } else {
                assert_true(frame->utterance > newest_done);
            }
        }
    }
    assert_true(is_over);
    assert_int_equal(newest_done, newest);
}

/* The user speaks over the greeting: the agent flushes, and of the greeting only the ramp and what
 * the encoder held still leave. */
static void speaking_over_the_agent_silences_it_within_the_ramp(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(201);
    config.cluster.mode = DIALOGUE_PARROT;
    config.client.has_voice = true;
    struct sim_fleet *f = sim_fleet_create(&config);
    struct sim_client *client = sim_fleet_client(f);
    sim_client_set_voice(client, false);
    run_for(f, SECOND);
    assert_true(sim_client_tone_share(client, 1000) > 0.4); /* it greets */
    sim_client_set_voice(client, true);
    const uint64_t spoke_us = sim_fleet_now(f);
    while (find_frame(f, BACKEND_FLUSHED, "", 0) == NULL) {
        assert_true(sim_fleet_now(f) < spoke_us + SECOND);
        run_for(f, 1000);
    }
    const struct sim_frame *flush = find_frame(f, BACKEND_FLUSH, "", 0);
    const struct sim_frame *flushed = find_frame(f, BACKEND_FLUSHED, "\"utterance\":1", 0);
    const struct sim_frame *done = find_frame(f, BACKEND_PLAYBACK, "flushed", 0);
    assert_int_equal(flushed->at_us, flush->at_us); /* in the same turn */
    assert_int_equal(index_of(f, flushed), index_of(f, flush) + 1);
    assert_int_equal(index_of(f, done), index_of(f, flushed) + 1);
    const uint64_t speech_before = session_stats(sim_fleet_session(f)).voice.speech_packets;
    run_for(f, 500000);
    const uint64_t speech_after = session_stats(sim_fleet_session(f)).voice.speech_packets;
    assert_in_range(speech_after - speech_before, 1, 2);
    const uint64_t last_sound_us = sim_client_heard(client)->latest_sound_us;
    /* The next slot is the ramp; its end sounds in the packet behind it. */
    assert_in_range(last_sound_us, spoke_us, flushed->at_us + 2 * 20000 + DELAY_US);
    sim_fleet_destroy(f);
}

/* After the interruption the agent listens, and says the turn back under the next number. */
static void a_flush_is_no_mode_and_every_utterance_is_done_once(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(202);
    config.cluster.mode = DIALOGUE_PARROT;
    config.client.has_voice = true;
    struct sim_fleet *f = sim_fleet_create(&config);
    struct sim_client *client = sim_fleet_client(f);
    sim_client_set_voice(client, false);
    run_for(f, SECOND);
    for (int turn = 0; turn < 4; turn++) {
        sim_client_set_voice(client, true); /* over the greeting, or over the reply */
        run_for(f, 1500000);
        sim_client_set_voice(client, false);
        run_for(f, 1200000);
    }
    run_for(f, 4 * SECOND);
    const struct sim_frame *flushed = find_frame(f, BACKEND_PLAYBACK, "\"flushed\"", 0);
    const struct sim_frame *next = find_frame(f, BACKEND_PLAYBACK, "started", index_of(f, flushed));
    assert_non_null(next);
    assert_true(next->utterance > flushed->utterance);
    assert_non_null(find_frame(f, BACKEND_PLAYBACK, "\"played\"", 0));
    sim_fleet_hang_up(f);
    run_for(f, SECOND);
    assert_utterances_are_done_once(f);
    sim_fleet_destroy(f);
}

static void an_utterance_that_is_cut_by_the_end_is_done_too(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(203);
    config.cluster.mode = DIALOGUE_TONE;
    config.cluster.tone_hz = 1000;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    sim_fleet_hang_up(f);
    run_for(f, SECOND);
    assert_non_null(find_frame(f, BACKEND_PLAYBACK, "session_end", 0));
    assert_utterances_are_done_once(f);
    sim_fleet_destroy(f);
}

/* A backend that sends all it may: to the sample never more than was told, and never much less. */
static void the_credit_is_used_and_never_exceeded(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(204);
    config.cluster.mode = DIALOGUE_TONE;
    config.cluster.tone_hz = 1000;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 60 * SECOND);
    size_t count = 0;
    const struct sim_frame *frames = sim_fleet_frames(f, &count);
    uint64_t limit_us = 10 * SECOND;
    uint64_t sent_us = 0;
    unsigned raised = 0;
    for (size_t i = 0; i < count; i++) {
        if (frames[i].type == BACKEND_CREDIT) {
            struct byte_reader r;
            byte_reader_init(&r, bytes_view_of(frames[i].payload, 8));
            const uint64_t new_limit_us = byte_reader_u64_le(&r);
            assert_true(new_limit_us > limit_us);
            limit_us = new_limit_us;
            raised++;
        } else if (frames[i].type == BACKEND_AUDIO_OUT) {
            sent_us += frames[i].payload_bytes * SECOND / (2 * 24000);
            assert_true(sent_us <= limit_us);
        }
        assert_int_not_equal(frames[i].type, BACKEND_ERROR);
    }
    assert_in_range(raised, 20, 26); /* each 2.5 s of 60 */
    assert_true(sent_us + SECOND > limit_us);
    sim_fleet_destroy(f);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void a_backend_that_rejects_ends_the_call_before_media(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(205);
    config.cluster.rejects = true;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, SECOND);
    assert_null(sim_fleet_session(f));
    assert_int_equal(ended(f, SESSION_END_BACKEND_UNAVAILABLE), 1);
    assert_non_null(find_frame(f, BACKEND_SESSION_REJECT, "overload", 0));
    assert_null(find_frame(f, BACKEND_SESSION_END, "", 0)); /* the handle is free already */
    assert_int_equal(sim_client_heard(sim_fleet_client(f))->packets, 0);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->sessions_pending), 0);
    sim_fleet_destroy(f);
}

static void a_backend_that_does_not_accept_in_two_seconds_ends_the_call(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(206);
    config.cluster.accepts_never = true;
    struct sim_fleet *f = sim_fleet_create(&config);
    const uint64_t begin_us = sim_fleet_now(f);
    run_for(f, 2 * SECOND - 1);
    assert_non_null(sim_fleet_session(f));
    assert_true(sim_client_is_connected(sim_fleet_client(f))); /* set-up did not wait for it */
    run_for(f, SECOND);
    const struct sim_frame *end = find_frame(f, BACKEND_SESSION_END, "backend_unavailable", 0);
    assert_non_null(end);
    assert_int_equal(end->at_us - begin_us, 2 * SECOND);
    assert_int_equal(ended(f, SESSION_END_BACKEND_UNAVAILABLE), 1);
    assert_true(sim_client_heard(sim_fleet_client(f))->was_closed);
    assert_null(sim_fleet_session(f));
    sim_fleet_destroy(f);
}

static void a_call_longer_than_it_may_be_is_ended_at_both_ends(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(207);
    config.cluster.duration_max_us = 30 * SECOND;
    struct sim_fleet *f = sim_fleet_create(&config);
    const uint64_t begin_us = sim_fleet_now(f);
    run_for(f, 30 * SECOND - 1);
    assert_int_equal(ended(f, SESSION_END_DURATION), 0);
    run_for(f, SECOND);
    assert_int_equal(ended(f, SESSION_END_DURATION), 1);
    assert_int_equal(find_frame(f, BACKEND_SESSION_END, "duration", 0)->at_us - begin_us,
                     30 * SECOND);
    assert_true(sim_client_heard(sim_fleet_client(f))->said_bye);
    assert_true(sim_client_heard(sim_fleet_client(f))->was_closed);
    sim_fleet_destroy(f);
}

/* --- somebody who listens in ------------------------------------------------------------------ */

struct overheard {
    uint8_t bytes[SIM_CLIENT_PACKET_CAP];
    size_t len;
};

static struct overheard overhear(const struct sim_fleet *f, enum datagram_kind kind)
{
    struct overheard copy = {.len = sim_fleet_overheard(f, kind).len};
    assert_true(copy.len > 0);
    memcpy(copy.bytes, sim_fleet_overheard(f, kind).data, copy.len);
    return copy;
}

/* An eavesdropper sends from his own address what the client sent: its check, so that the relay has
 * a flow for him, then its DTLS and its media, again and again. */
static void what_is_replayed_from_another_address_changes_nothing(void **state)
{
    (void)state;
    static const enum datagram_kind kind[] = {DATAGRAM_STUN, DATAGRAM_DTLS, DATAGRAM_RTP,
                                              DATAGRAM_RTCP};
    const struct sim_fleet_config config = quiet_network(208);
    struct sim_fleet *f = sim_fleet_create(&config);
    struct net_addr eavesdropper;
    assert_true(net_addr_parse("198.51.100.99:9999", &eavesdropper));
    run_for(f, 2 * SECOND);
    for (int i = 0; i < 500; i++) {
        const struct overheard copy = overhear(f, kind[i % 4]);
        run_for(f, 2 * DELAY_US + 7000); /* the client's own was first */
        sim_fleet_inject(f, &eavesdropper, bytes_view_of(copy.bytes, copy.len));
    }
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_int_equal(sim_fleet_strays(f), 0);
    assert_int_equal(heard->missing, 0);
    assert_true(heard->gap_us_max <= 20000);
    assert_true(sim_client_tone_share(sim_fleet_client(f), SIM_CLIENT_TONE_HZ) > 0.95);
    /* It did reach the call, as far as the relay lets a claim through: each kind was refused. */
    assert_int_equal(sim_fleet_verdicts(f, CLIENT_LEG_STUN_REFUSED), 125);
    assert_true(sim_fleet_verdicts(f, CLIENT_LEG_DTLS_UNVALIDATED) > 50);
    assert_true(sim_fleet_verdicts(f, CLIENT_LEG_SRTP_REFUSED) > 100);
    sim_fleet_destroy(f);
}

/* While the handshake runs: a hello that would kill an SSL, and an alert, from an address whose
 * check was somebody else's. */
static void dtls_from_an_address_without_a_check_is_not_looked_at(void **state)
{
    (void)state;
    static const uint8_t alert[] = {21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 2, 40};
    for (int active = 0; active <= 1; active++) {
        struct sim_fleet_config config = quiet_network(209);
        config.client.is_dtls_client = active == 1;
        struct sim_fleet *f = sim_fleet_create(&config);
        struct net_addr forger;
        assert_true(net_addr_parse("198.51.100.99:9999", &forger));
        while (sim_fleet_verdicts(f, CLIENT_LEG_STUN) == 0) {
            run_for(f, 1000);
        }
        const struct overheard check = overhear(f, DATAGRAM_STUN); /* makes him a flow */
        sim_fleet_inject(f, &forger, bytes_view_of(check.bytes, check.len));
        while (!session_is_connected(sim_fleet_session(f))) {
            run_for(f, 1000);
            sim_fleet_inject(f, &forger, bytes_view_of(alert, sizeof(alert)));
            sim_fleet_inject(f, &forger, sim_fleet_overheard(f, DATAGRAM_DTLS));
        }
        run_for(f, 3 * SECOND);
        assert_true(sim_fleet_verdicts(f, CLIENT_LEG_DTLS_UNVALIDATED) > 10);
        assert_int_equal(sim_fleet_strays(f), 0);
        assert_true(sim_client_tone_share(sim_fleet_client(f), SIM_CLIENT_TONE_HZ) > 0.9);
        sim_fleet_destroy(f);
    }
}

/* --- many, and reports ------------------------------------------------------------------------ */

static void ten_calls_of_one_shard_hear_only_themselves(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(210);
    config.client_count = 10;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 5 * SECOND);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->sessions_active), 10);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->sessions_pending), 0);
    for (size_t i = 0; i < config.client_count; i++) {
        struct sim_client *client = sim_fleet_client_at(f, i);
        assert_non_null(sim_fleet_session_at(f, i));
        assert_int_equal(sim_client_heard(client)->missing, 0);
        /* Silence after speech that began early gives up to a slot back. */
        assert_true(sim_client_heard(client)->gap_us_max <= 40000);
        assert_true(sim_client_tone_share(client, SIM_CLIENT_TONE_HZ + 50 * (double)i) > 0.9);
    }
    sim_fleet_hang_up(f); /* one of them: the others go on */
    run_for(f, SECOND);
    assert_null(sim_fleet_session_at(f, 0));
    for (size_t i = 1; i < config.client_count; i++) {
        assert_true(sim_fleet_now(f) - sim_client_heard(sim_fleet_client_at(f, i))->latest_us <
                    40000);
    }
    sim_fleet_destroy(f);
}

static void the_first_report_comes_after_half_a_second_and_tells_of_the_client(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(211);
    config.link.loss_per_mille = 0;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, SECOND);
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_in_range(heard->first_report_us - heard->first_us, 480000, 520000);
    run_for(f, 10 * SECOND);
    assert_in_range(heard->reports, 7, 22); /* about one a second */
    assert_int_equal(sim_client_reported(sim_fleet_client(f)).fraction_lost, 0);
    sim_fleet_set_loss(f, 300);
    const uint64_t reports = heard->reports;
    run_for(f, 10 * SECOND);
    assert_in_range(sim_client_reported(sim_fleet_client(f)).cumulative_lost, 110,
                    190);                        /* of 500 */
    assert_true(heard->reports - reports >= 10); /* such a loss is told at once */
    sim_fleet_destroy(f);
}

static void the_measured_round_trip_is_that_of_the_link(void **state)
{
    (void)state;
    static const uint64_t delay_us[] = {1000, 15000, 150000};
    for (size_t i = 0; i < COUNT_OF(delay_us); i++) {
        struct sim_fleet_config config = quiet_network(212);
        config.link.delay_us = delay_us[i];
        struct sim_fleet *f = sim_fleet_create(&config);
        run_for(f, 10 * SECOND);
        const struct rtp_sender_stats ours = session_stats(sim_fleet_session(f)).sender;
        const struct rtp_sender_stats its = sim_client_reported(sim_fleet_client(f));
        assert_true(ours.has_rtt && its.has_rtt);
        assert_in_range(ours.rtt_us, 2 * delay_us[i] - 100, 2 * delay_us[i] + 100);
        assert_in_range(its.rtt_us, 2 * delay_us[i] - 100, 2 * delay_us[i] + 100);
        sim_fleet_destroy(f);
    }
}

static uint64_t samples(const struct metric_histogram *h)
{
    uint64_t count = 0;
    for (size_t i = 0; i <= h->bound_count; i++) {
        count += metric_get(&h->bucket[i]);
    }
    return count;
}

static void what_a_client_reports_is_counted_while_its_call_lasts(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(213);
    config.link.loss_per_mille = 50;
    struct sim_fleet *f = sim_fleet_create(&config);
    const struct shard_counters *counters = sim_fleet_counters(f);
    run_for(f, 65 * SECOND);
    const uint64_t count = samples(&counters->client_rtt);
    assert_int_equal(count, 6);
    assert_int_equal(samples(&counters->client_jitter), count);
    assert_in_range(metric_get(&counters->client_rtt.sum_us), count * (2 * DELAY_US - 100),
                    count * (2 * DELAY_US + 2000));
    assert_true(metric_get(&counters->client_jitter.sum_us) < count * 2000);
    assert_in_range(metric_get(&counters->packets_sent), 2900, 3010);
    assert_in_range(metric_get(&counters->packets_lost), 100, 200); /* of 3,000 */
    sim_fleet_hang_up(f);
    run_for(f, SECOND);
    assert_int_equal(samples(&counters->client_rtt), count + 1); /* of the rest */
    assert_in_range(metric_get(&counters->packets_sent), 3200, 3260);
    sim_fleet_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speaking_over_the_agent_silences_it_within_the_ramp),
        cmocka_unit_test(a_flush_is_no_mode_and_every_utterance_is_done_once),
        cmocka_unit_test(an_utterance_that_is_cut_by_the_end_is_done_too),
        cmocka_unit_test(the_credit_is_used_and_never_exceeded),
        cmocka_unit_test(a_backend_that_rejects_ends_the_call_before_media),
        cmocka_unit_test(a_backend_that_does_not_accept_in_two_seconds_ends_the_call),
        cmocka_unit_test(a_call_longer_than_it_may_be_is_ended_at_both_ends),
        cmocka_unit_test(what_is_replayed_from_another_address_changes_nothing),
        cmocka_unit_test(dtls_from_an_address_without_a_check_is_not_looked_at),
        cmocka_unit_test(ten_calls_of_one_shard_hear_only_themselves),
        cmocka_unit_test(the_first_report_comes_after_half_a_second_and_tells_of_the_client),
        cmocka_unit_test(the_measured_round_trip_is_that_of_the_link),
        cmocka_unit_test(what_a_client_reports_is_counted_while_its_call_lasts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
