/* datagram_kind_test.c - RFC 7983 section 7 and RFC 5761 section 4, both sides of each bound */
#include "tests/testing.h"

#include "services/transceiver/core/datagram_kind.h"

static enum datagram_kind kind_of(uint8_t first, uint8_t second)
{
    const uint8_t bytes[2] = {first, second};
    return datagram_kind_of(bytes_view_of(bytes, sizeof(bytes)));
}

static void the_first_byte_tells(void **state)
{
    (void)state;
    static const struct {
        uint8_t from;
        uint8_t to;
        enum datagram_kind kind;
    } range[] = {
        {0, 3, DATAGRAM_STUN},       {4, 19, DATAGRAM_UNKNOWN}, {20, 63, DATAGRAM_DTLS},
        {64, 127, DATAGRAM_UNKNOWN}, {128, 191, DATAGRAM_RTP},  {192, 255, DATAGRAM_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT_OF(range); i++) {
        for (unsigned first = range[i].from; first <= range[i].to; first++) {
            assert_int_equal(kind_of((uint8_t)first, 111), range[i].kind);
        }
    }
}

static void the_payload_type_tells_rtcp_from_rtp(void **state)
{
    (void)state;
    for (unsigned first = 128; first <= 191; first++) {
        for (unsigned second = 0; second <= 255; second++) {
            const bool is_rtcp = second >= 192 && second <= 223;
            assert_int_equal(kind_of((uint8_t)first, (uint8_t)second),
                             is_rtcp ? DATAGRAM_RTCP : DATAGRAM_RTP);
        }
    }
    assert_int_equal(kind_of(22, 200), DATAGRAM_DTLS); /* the second byte counts for these only */
    assert_int_equal(kind_of(0, 200), DATAGRAM_STUN);
}

static void what_is_too_short_to_tell_is_unknown(void **state)
{
    (void)state;
    static const uint8_t first[] = {0, 22, 128, 255};
    assert_int_equal(datagram_kind_of((struct bytes_view){0}), DATAGRAM_UNKNOWN);
    for (size_t i = 0; i < COUNT_OF(first); i++) {
        assert_int_equal(datagram_kind_of(bytes_view_of(&first[i], 1)), DATAGRAM_UNKNOWN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_byte_tells),
        cmocka_unit_test(the_payload_type_tells_rtcp_from_rtp),
        cmocka_unit_test(what_is_too_short_to_tell_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
