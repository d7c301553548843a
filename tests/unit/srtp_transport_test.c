/* srtp_transport_test.c - only the peer's packets come through, each once, from four SSRCs */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/transport/srtp_transport.h"

#define PACKET_CAP      1600
#define OUR_SSRC        0x11223344u
#define PEER_SSRC       0xcafebabeu
#define REPLAY_WINDOW   256
#define PAYLOAD_BYTES   40
#define RTP_TAG(p)      ((p) == SRTP_PROFILE_AEAD_AES_128_GCM ? 16u : 10u)
#define RTCP_TRAILER(p) (RTP_TAG(p) + 4u)

static const enum srtp_profile profiles[] = {SRTP_PROFILE_AES128_CM_SHA1_80,
                                             SRTP_PROFILE_AEAD_AES_128_GCM};

struct packet {
    uint8_t data[PACKET_CAP];
    struct bytes_span span;
};

/* Both ends of one call. The peer sends from as many SSRCs as it likes: one end for each. */
struct call {
    enum srtp_profile profile;
    struct srtp_keys ours;
    struct srtp_keys peers;
    struct srtp_transport *us;
    struct srtp_transport *peer;
};

static struct call call_begin(enum srtp_profile profile)
{
    struct random_generator seed;
    struct call call = {.profile = profile, .ours.profile = profile, .peers.profile = profile};
    random_generator_init(&seed, 7);
    random_fill(random_seeded(&seed), &call.ours.send, sizeof(call.ours.send));
    random_fill(random_seeded(&seed), &call.ours.receive, sizeof(call.ours.receive));
    call.peers.send = call.ours.receive;
    call.peers.receive = call.ours.send;
    call.us = srtp_transport_create(&call.ours, OUR_SSRC);
    call.peer = srtp_transport_create(&call.peers, PEER_SSRC);
    assert_non_null(call.us);
    assert_non_null(call.peer);
    return call;
}

static void call_end(struct call *call)
{
    srtp_transport_destroy(call->us);
    srtp_transport_destroy(call->peer);
}

static void make_rtp(struct packet *p, uint32_t ssrc, uint16_t sequence_number, size_t payload)
{
    struct byte_writer w;
    byte_writer_init(&w, p->data, sizeof(p->data));
    byte_writer_u16(&w, 0x8000 | 111);
    byte_writer_u16(&w, sequence_number);
    byte_writer_u32(&w, 960u * sequence_number);
    byte_writer_u32(&w, ssrc);
    for (size_t i = 0; i < payload; i++) {
        byte_writer_u8(&w, (uint8_t)(i + sequence_number));
    }
    assert_false(w.failed);
    p->span = (struct bytes_span){p->data, w.len, sizeof(p->data)};
}

static void make_rtcp(struct packet *p, uint32_t ssrc, size_t body)
{
    struct byte_writer w;
    byte_writer_init(&w, p->data, sizeof(p->data));
    byte_writer_u16(&w, 0x8000 | 201);
    byte_writer_u16(&w, (uint16_t)(1 + body / 4));
    byte_writer_u32(&w, ssrc);
    byte_writer_zeros(&w, body);
    p->span = (struct bytes_span){p->data, w.len, sizeof(p->data)};
}

static void protected_rtp(struct srtp_transport *sender, struct packet *p, uint32_t ssrc,
                          uint16_t sequence_number)
{
    make_rtp(p, ssrc, sequence_number, PAYLOAD_BYTES);
    assert_int_equal(srtp_transport_protect_rtp(sender, &p->span), SRTP_TRANSPORT_OK);
}

/* A copy, so that a packet can be tried again. */
static enum srtp_transport_result try_rtp(struct srtp_transport *receiver, const struct packet *p,
                                          uint64_t now_us)
{
    struct packet copy = *p;
    bool is_newest = false;
    copy.span.data = copy.data;
    return srtp_transport_unprotect_rtp(receiver, &copy.span, &is_newest, now_us);
}

static enum srtp_transport_result try_rtcp(struct srtp_transport *receiver, const struct packet *p)
{
    struct packet copy = *p;
    bool is_newest = false;
    copy.span.data = copy.data;
    return srtp_transport_unprotect_rtcp(receiver, &copy.span, &is_newest, 0);
}

static void packets_of_every_length_survive_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct call call = call_begin(profiles[i]);
        for (uint16_t n = 0; n < 1400; n++) {
            struct packet sent;
            struct packet plain;
            bool is_newest = false;
            make_rtp(&sent, OUR_SSRC, n, n);
            plain = sent;
            assert_int_equal(srtp_transport_protect_rtp(call.us, &sent.span), SRTP_TRANSPORT_OK);
            assert_int_equal(sent.span.len, plain.span.len + RTP_TAG(profiles[i]));
            assert_int_equal(srtp_transport_unprotect_rtp(call.peer, &sent.span, &is_newest, 0),
                             SRTP_TRANSPORT_OK);
            assert_true(is_newest);
            assert_int_equal(sent.span.len, plain.span.len);
            assert_memory_equal(sent.data, plain.data, plain.span.len);
            if (n % 4 == 0) {
                make_rtcp(&sent, PEER_SSRC, n);
                plain = sent;
                assert_int_equal(srtp_transport_protect_rtcp(call.peer, &sent.span),
                                 SRTP_TRANSPORT_OK);
                assert_int_equal(sent.span.len, plain.span.len + RTCP_TRAILER(profiles[i]));
                assert_int_equal(srtp_transport_unprotect_rtcp(call.us, &sent.span, &is_newest, 0),
                                 SRTP_TRANSPORT_OK);
                assert_true(is_newest);
                assert_int_equal(sent.span.len, plain.span.len);
                assert_memory_equal(sent.data, plain.data, plain.span.len);
            }
        }
        call_end(&call);
    }
}

static void a_replayed_or_too_old_packet_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint16_t sequence_number;
        enum srtp_transport_result result;
        bool is_newest;
    } replay_case[] = {
        {1000, SRTP_TRANSPORT_OK, true},
        {1000, SRTP_TRANSPORT_REPLAY, false},
        {1009, SRTP_TRANSPORT_OK, true},
        {1008, SRTP_TRANSPORT_OK, false},
        {1008, SRTP_TRANSPORT_REPLAY, false},
        {1009 + REPLAY_WINDOW, SRTP_TRANSPORT_OK, true},
        {1010, SRTP_TRANSPORT_OK, false},
        {1009, SRTP_TRANSPORT_REPLAY, false},
        {1007, SRTP_TRANSPORT_REPLAY, false},
        {1009 + 2 * REPLAY_WINDOW, SRTP_TRANSPORT_OK, true},
        {1010 + REPLAY_WINDOW, SRTP_TRANSPORT_OK, false},
        {1008 + REPLAY_WINDOW, SRTP_TRANSPORT_REPLAY, false},
    };
    static struct packet sent[2000];
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct call call = call_begin(profiles[i]);
        for (uint16_t n = 1000; n < 2000; n++) {
            protected_rtp(call.peer, &sent[n], PEER_SSRC, n);
        }
        for (size_t k = 0; k < COUNT_OF(replay_case); k++) {
            struct packet copy = sent[replay_case[k].sequence_number];
            bool is_newest = true;
            copy.span.data = copy.data;
            assert_int_equal(srtp_transport_unprotect_rtp(call.us, &copy.span, &is_newest, 0),
                             replay_case[k].result);
            assert_int_equal(is_newest, replay_case[k].is_newest);
        }
        call_end(&call);
    }
}

static void a_replayed_rtcp_packet_is_refused_and_a_late_one_is_not_newest(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct call call = call_begin(profiles[i]);
        struct packet first;
        struct packet second;
        bool is_newest = false;
        make_rtcp(&first, PEER_SSRC, 20);
        make_rtcp(&second, PEER_SSRC, 20);
        assert_int_equal(srtp_transport_protect_rtcp(call.peer, &first.span), SRTP_TRANSPORT_OK);
        assert_int_equal(srtp_transport_protect_rtcp(call.peer, &second.span), SRTP_TRANSPORT_OK);
        const struct packet replayed = first;
        assert_int_equal(srtp_transport_unprotect_rtcp(call.us, &second.span, &is_newest, 0),
                         SRTP_TRANSPORT_OK);
        assert_true(is_newest);
        assert_int_equal(srtp_transport_unprotect_rtcp(call.us, &first.span, &is_newest, 0),
                         SRTP_TRANSPORT_OK);
        assert_false(is_newest);
        assert_int_equal(try_rtcp(call.us, &replayed), SRTP_TRANSPORT_REPLAY);
        call_end(&call);
    }
}

static void the_sequence_number_may_wrap(void **state)
{
    (void)state;
    struct call call = call_begin(SRTP_PROFILE_AEAD_AES_128_GCM);
    for (uint32_t n = 65500; n < 65600; n++) {
        struct packet sent;
        bool is_newest = false;
        protected_rtp(call.peer, &sent, PEER_SSRC, (uint16_t)n);
        assert_int_equal(srtp_transport_unprotect_rtp(call.us, &sent.span, &is_newest, 0),
                         SRTP_TRANSPORT_OK);
        assert_true(is_newest);
    }
    call_end(&call);
}

static void a_packet_with_any_bit_flipped_is_refused_and_the_genuine_one_still_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct call call = call_begin(profiles[i]);
        struct packet rtp;
        struct packet rtcp;
        protected_rtp(call.peer, &rtp, PEER_SSRC, 1);
        make_rtcp(&rtcp, PEER_SSRC, 20);
        assert_int_equal(srtp_transport_protect_rtcp(call.peer, &rtcp.span), SRTP_TRANSPORT_OK);
        for (size_t bit = 0; bit < 8 * rtp.span.len; bit++) {
            struct packet forged = rtp;
            forged.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_not_equal(try_rtp(call.us, &forged, 0), SRTP_TRANSPORT_OK);
        }
        for (size_t bit = 0; bit < 8 * rtcp.span.len; bit++) {
            struct packet forged = rtcp;
            forged.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_not_equal(try_rtcp(call.us, &forged), SRTP_TRANSPORT_OK);
        }
        assert_int_equal(try_rtp(call.us, &rtp, 0), SRTP_TRANSPORT_OK);
        assert_int_equal(try_rtcp(call.us, &rtcp), SRTP_TRANSPORT_OK);
        call_end(&call);
    }
}

static void a_packet_cut_anywhere_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct call call = call_begin(profiles[i]);
        struct packet rtp;
        struct packet rtcp;
        protected_rtp(call.peer, &rtp, PEER_SSRC, 1);
        make_rtcp(&rtcp, PEER_SSRC, 20);
        assert_int_equal(srtp_transport_protect_rtcp(call.peer, &rtcp.span), SRTP_TRANSPORT_OK);
        const size_t rtp_len = rtp.span.len;
        for (rtp.span.len = 0; rtp.span.len < rtp_len; rtp.span.len++) {
            const bool is_short = rtp.span.len < 12 + RTP_TAG(profiles[i]);
            assert_int_equal(try_rtp(call.us, &rtp, 0),
                             is_short ? SRTP_TRANSPORT_SHORT : SRTP_TRANSPORT_AUTH);
        }
        const size_t rtcp_len = rtcp.span.len;
        for (rtcp.span.len = 0; rtcp.span.len < rtcp_len; rtcp.span.len++) {
            const bool is_short = rtcp.span.len < 8 + RTCP_TRAILER(profiles[i]);
            const enum srtp_transport_result result = try_rtcp(call.us, &rtcp);
            assert_int_not_equal(result, SRTP_TRANSPORT_OK);
            assert_int_equal(result == SRTP_TRANSPORT_SHORT, is_short);
        }
        call_end(&call);
    }
}

static void headers_that_do_not_fit_never_reach_the_ciphers(void **state)
{
    (void)state;
    /* Version 1; 15 CSRCs; an extension whose length field is outside; one that is too long. */
    static const struct {
        uint8_t first;
        size_t payload;
        uint16_t extension_words;
        enum srtp_transport_result result;
    } header_case[] = {
        {0x40, 20, 0, SRTP_TRANSPORT_MALFORMED},      {0xc0, 20, 0, SRTP_TRANSPORT_MALFORMED},
        {0x8f, 59, 0, SRTP_TRANSPORT_MALFORMED},      {0x8f, 60, 0, SRTP_TRANSPORT_AUTH},
        {0x90, 3, 0, SRTP_TRANSPORT_MALFORMED},       {0x90, 4, 0, SRTP_TRANSPORT_AUTH},
        {0x90, 7, 1, SRTP_TRANSPORT_MALFORMED},       {0x90, 8, 1, SRTP_TRANSPORT_AUTH},
        {0x90, 20, 0xffff, SRTP_TRANSPORT_MALFORMED},
    };
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct call call = call_begin(profiles[i]);
        for (size_t k = 0; k < COUNT_OF(header_case); k++) {
            struct packet p;
            make_rtp(&p, PEER_SSRC, 1, header_case[k].payload + RTP_TAG(profiles[i]));
            p.data[0] = header_case[k].first;
            p.data[14] = (uint8_t)(header_case[k].extension_words >> 8);
            p.data[15] = (uint8_t)header_case[k].extension_words;
            assert_int_equal(try_rtp(call.us, &p, 0), header_case[k].result);
        }
        call_end(&call);
    }
}

static void protect_needs_exactly_the_room_of_the_trailer(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct call call = call_begin(profiles[i]);
        struct packet p;
        make_rtp(&p, OUR_SSRC, 1, PAYLOAD_BYTES);
        const size_t rtp_need = p.span.len + RTP_TAG(profiles[i]);
        p.span.cap = rtp_need - 1;
        assert_int_equal(srtp_transport_protect_rtp(call.us, &p.span), SRTP_TRANSPORT_NO_ROOM);
        p.span.cap = rtp_need;
        p.data[rtp_need] = 0x5a;
        assert_int_equal(srtp_transport_protect_rtp(call.us, &p.span), SRTP_TRANSPORT_OK);
        assert_int_equal(p.data[rtp_need], 0x5a);
        make_rtcp(&p, OUR_SSRC, 20);
        const size_t rtcp_need = p.span.len + RTCP_TRAILER(profiles[i]);
        p.span.cap = rtcp_need - 1;
        assert_int_equal(srtp_transport_protect_rtcp(call.us, &p.span), SRTP_TRANSPORT_NO_ROOM);
        p.span.cap = rtcp_need;
        p.data[rtcp_need] = 0x5a;
        assert_int_equal(srtp_transport_protect_rtcp(call.us, &p.span), SRTP_TRANSPORT_OK);
        assert_int_equal(p.data[rtcp_need], 0x5a);
        assert_true(RTCP_TRAILER(profiles[i]) <= SRTP_TRANSPORT_TRAILER_BYTES);
        call_end(&call);
    }
}

static void a_sequence_number_is_never_protected_twice(void **state)
{
    (void)state;
    struct call call = call_begin(SRTP_PROFILE_AES128_CM_SHA1_80);
    struct packet p;
    protected_rtp(call.us, &p, OUR_SSRC, 9);
    make_rtp(&p, OUR_SSRC, 9, PAYLOAD_BYTES);
    assert_int_equal(srtp_transport_protect_rtp(call.us, &p.span), SRTP_TRANSPORT_REPLAY);
    make_rtp(&p, OUR_SSRC + 1, 10, PAYLOAD_BYTES);
    assert_int_equal(srtp_transport_protect_rtp(call.us, &p.span), SRTP_TRANSPORT_FAILED);
    call_end(&call);
}

/* A packet that the peer sends from another SSRC. */
static void packet_from(const struct call *call, uint32_t ssrc, uint16_t sequence_number,
                        struct packet *p)
{
    struct srtp_transport *sender = srtp_transport_create(&call->peers, ssrc);
    protected_rtp(sender, p, ssrc, sequence_number);
    srtp_transport_destroy(sender);
}

static void the_fifth_ssrc_is_refused_until_one_has_been_silent(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct call call = call_begin(profiles[i]);
        struct packet first;
        struct packet fifth;
        struct packet p;
        packet_from(&call, 1, 1, &first);
        assert_int_equal(try_rtp(call.us, &first, 1 * US_PER_S), SRTP_TRANSPORT_OK);
        for (uint32_t ssrc = 2; ssrc <= 4; ssrc++) {
            packet_from(&call, ssrc, 1, &p);
            assert_int_equal(try_rtp(call.us, &p, 2 * US_PER_S), SRTP_TRANSPORT_OK);
        }
        packet_from(&call, 5, 1, &fifth);
        assert_int_equal(try_rtp(call.us, &fifth, 31 * US_PER_S - 1), SRTP_TRANSPORT_SSRC_LIMIT);

        /* A forged fifth retires nobody. */
        struct packet forged = fifth;
        forged.data[20] ^= 1;
        assert_int_equal(try_rtp(call.us, &forged, 31 * US_PER_S), SRTP_TRANSPORT_AUTH);
        assert_int_equal(try_rtp(call.us, &first, 31 * US_PER_S), SRTP_TRANSPORT_REPLAY);

        assert_int_equal(try_rtp(call.us, &fifth, 31 * US_PER_S), SRTP_TRANSPORT_OK);
        assert_int_equal(try_rtp(call.us, &fifth, 31 * US_PER_S), SRTP_TRANSPORT_REPLAY);
        /* The retired one's replay window is gone: its packets must stay out for good. */
        assert_int_equal(try_rtp(call.us, &first, 99 * US_PER_S), SRTP_TRANSPORT_SSRC_LIMIT);
        packet_from(&call, 1, 2, &p);
        assert_int_equal(try_rtp(call.us, &p, 99 * US_PER_S), SRTP_TRANSPORT_SSRC_LIMIT);
        call_end(&call);
    }
}

static void only_so_many_ssrcs_are_retired(void **state)
{
    (void)state;
    struct call call = call_begin(SRTP_PROFILE_AEAD_AES_128_GCM);
    const uint32_t total = SRTP_TRANSPORT_SSRC_MAX + SRTP_TRANSPORT_RETIRED_MAX;
    struct packet p;
    for (uint32_t ssrc = 1; ssrc <= total; ssrc++) {
        packet_from(&call, ssrc, 1, &p);
        assert_int_equal(try_rtp(call.us, &p, ssrc * SRTP_TRANSPORT_SILENCE_US), SRTP_TRANSPORT_OK);
    }
    packet_from(&call, total + 1, 1, &p);
    assert_int_equal(try_rtp(call.us, &p, 999 * SRTP_TRANSPORT_SILENCE_US),
                     SRTP_TRANSPORT_SSRC_LIMIT);
    packet_from(&call, total, 2, &p);
    assert_int_equal(try_rtp(call.us, &p, 999 * SRTP_TRANSPORT_SILENCE_US), SRTP_TRANSPORT_OK);
    call_end(&call);
}

static void forged_ssrcs_take_no_place(void **state)
{
    (void)state;
    struct call call = call_begin(SRTP_PROFILE_AES128_CM_SHA1_80);
    struct packet p;
    for (uint32_t ssrc = 100; ssrc < 1100; ssrc++) {
        make_rtp(&p, ssrc, 1, PAYLOAD_BYTES);
        assert_int_equal(try_rtp(call.us, &p, 0), SRTP_TRANSPORT_AUTH);
        make_rtcp(&p, ssrc, 40);
        p.data[p.span.len - 14] = 0x80; /* says it is encrypted */
        assert_int_equal(try_rtcp(call.us, &p), SRTP_TRANSPORT_AUTH);
    }
    for (uint32_t ssrc = 1; ssrc <= SRTP_TRANSPORT_SSRC_MAX; ssrc++) {
        packet_from(&call, ssrc, 1, &p);
        assert_int_equal(try_rtp(call.us, &p, 0), SRTP_TRANSPORT_OK);
    }
    call_end(&call);
}

static void our_own_packets_come_back_as_forgeries(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct call call = call_begin(profiles[i]);
        struct packet p;
        protected_rtp(call.us, &p, OUR_SSRC, 1);
        assert_int_equal(try_rtp(call.us, &p, 0), SRTP_TRANSPORT_AUTH);
        call_end(&call);
    }
}

static int start(void **state)
{
    (void)state;
    struct fault fault;
    return srtp_transport_init(&fault) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_of_every_length_survive_both_ways),
        cmocka_unit_test(a_replayed_or_too_old_packet_is_refused),
        cmocka_unit_test(a_replayed_rtcp_packet_is_refused_and_a_late_one_is_not_newest),
        cmocka_unit_test(the_sequence_number_may_wrap),
        cmocka_unit_test(a_packet_with_any_bit_flipped_is_refused_and_the_genuine_one_still_taken),
        cmocka_unit_test(a_packet_cut_anywhere_is_refused),
        cmocka_unit_test(headers_that_do_not_fit_never_reach_the_ciphers),
        cmocka_unit_test(protect_needs_exactly_the_room_of_the_trailer),
        cmocka_unit_test(a_sequence_number_is_never_protected_twice),
        cmocka_unit_test(the_fifth_ssrc_is_refused_until_one_has_been_silent),
        cmocka_unit_test(only_so_many_ssrcs_are_retired),
        cmocka_unit_test(forged_ssrcs_take_no_place),
        cmocka_unit_test(our_own_packets_come_back_as_forgeries),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
