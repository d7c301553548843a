/* srtp_in_train_test.c - in a train packets lie one behind the other, at any address: what is done
 * to one in place touches neither neighbour, whether it is good or forged */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/transport/srtp_transport.h"

#define SSRC          0xcafebabeu
#define PACKET_CAP    256
#define PAYLOAD_MAX   64
#define NEIGHBOUR     64
#define NEIGHBOUR_SET 0xa5
#define PLACES        8 /* from one multiple of 8 to the next */

static const enum srtp_profile profiles[] = {SRTP_PROFILE_AES128_CM_SHA1_80,
                                             SRTP_PROFILE_AEAD_AES_128_GCM};

struct ends {
    struct srtp_transport *sender;
    struct srtp_transport *receiver;
    uint16_t sequence_number;
};

static struct ends begin(enum srtp_profile profile)
{
    struct random_generator seed;
    struct srtp_keys ours = {.profile = profile};
    struct srtp_keys theirs = {.profile = profile};
    random_generator_init(&seed, 7);
    random_fill(random_seeded(&seed), &ours.send, sizeof(ours.send));
    random_fill(random_seeded(&seed), &ours.receive, sizeof(ours.receive));
    theirs.send = ours.receive;
    theirs.receive = ours.send;
    const struct ends ends = {.sender = srtp_transport_create(&theirs, SSRC),
                              .receiver = srtp_transport_create(&ours, 1)};
    assert_non_null(ends.sender);
    assert_non_null(ends.receiver);
    return ends;
}

static void end(struct ends *ends)
{
    srtp_transport_destroy(ends->sender);
    srtp_transport_destroy(ends->receiver);
}

/* A protected packet; how long it is, and was before. */
static size_t write_packet(struct ends *ends, bool is_rtcp, size_t payload, uint8_t *out,
                           size_t *out_plain)
{
    struct byte_writer w;
    byte_writer_init(&w, out, PACKET_CAP);
    byte_writer_u16(&w, is_rtcp ? 0x8000 | 201 : 0x8000 | 111);
    byte_writer_u16(&w, is_rtcp ? 1 : ends->sequence_number++);
    if (!is_rtcp) {
        byte_writer_u32(&w, 960);
    }
    byte_writer_u32(&w, SSRC);
    byte_writer_zeros(&w, is_rtcp ? payload / 4 * 4 : payload);
    struct bytes_span packet = {out, w.len, PACKET_CAP};
    *out_plain = w.len;
    assert_int_equal(is_rtcp ? srtp_transport_protect_rtcp(ends->sender, &packet)
                             : srtp_transport_protect_rtp(ends->sender, &packet),
                     SRTP_TRANSPORT_OK);
    return packet.len;
}

static enum srtp_transport_result unprotect(struct ends *ends, bool is_rtcp,
                                            struct bytes_span *packet)
{
    bool is_newest = false;
    return is_rtcp ? srtp_transport_unprotect_rtcp(ends->receiver, packet, &is_newest, 0)
                   : srtp_transport_unprotect_rtp(ends->receiver, packet, &is_newest, 0);
}

static void expect_untouched(const uint8_t *neighbour)
{
    for (size_t i = 0; i < NEIGHBOUR; i++) {
        assert_int_equal(neighbour[i], NEIGHBOUR_SET);
    }
}

/* Once forged, then as it was sent. */
static void unprotect_at(struct ends *ends, bool is_rtcp, size_t payload, size_t place)
{
    _Alignas(8) uint8_t train[PLACES + NEIGHBOUR + PACKET_CAP + NEIGHBOUR];
    uint8_t sent[PACKET_CAP];
    size_t plain = 0;
    const size_t len = write_packet(ends, is_rtcp, payload, sent, &plain);
    uint8_t *at = train + place + NEIGHBOUR;
    for (int is_good = 0; is_good <= 1; is_good++) {
        memset(train, NEIGHBOUR_SET, sizeof(train));
        memcpy(at, sent, len);
        at[len - 1] ^= is_good == 0;
        struct bytes_span packet = {at, len, len};
        assert_int_equal(unprotect(ends, is_rtcp, &packet) == SRTP_TRANSPORT_OK, is_good);
        assert_true(is_good == 0 || packet.len == plain);
        expect_untouched(at - NEIGHBOUR);
        expect_untouched(at + len);
    }
}

static void a_packet_is_opened_where_it_lies_and_its_neighbours_stay_as_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct ends ends = begin(profiles[i]);
        for (size_t payload = 0; payload <= PAYLOAD_MAX; payload++) {
            for (size_t place = 0; place < PLACES; place++) {
                unprotect_at(&ends, false, payload, place);
                unprotect_at(&ends, true, payload, place);
            }
        }
        end(&ends);
    }
}

static int start(void **state)
{
    struct fault fault = {0};
    (void)state;
    return srtp_transport_init(&fault) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_is_opened_where_it_lies_and_its_neighbours_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
