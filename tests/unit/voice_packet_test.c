/* voice_packet_test.c - every TOC says how long its packet is; a malformed one has no duration */
#include "tests/testing.h"

#include "services/transceiver/core/media/voice_packet.h"

#define CONFIGS    32
#define COUNT_MAX  63 /* six bits, RFC 6716 s.3.2.5 */
#define CODE_CBR_3 3

/* RFC 6716 s.3.1, table 2: the frame of each configuration, at 48 kHz. */
static const uint32_t frame_duration[CONFIGS] = {
    480, 960, 1920, 2880, /* SILK NB */
    480, 960, 1920, 2880, /* SILK MB */
    480, 960, 1920, 2880, /* SILK WB */
    480, 960,             /* hybrid SWB */
    480, 960,             /* hybrid FB */
    120, 240, 480,  960,  /* CELT NB */
    120, 240, 480,  960,  /* CELT WB */
    120, 240, 480,  960,  /* CELT SWB */
    120, 240, 480,  960,  /* CELT FB */
};

static uint8_t toc_of(size_t config, bool is_stereo, unsigned code)
{
    return (uint8_t)(config << 3 | (is_stereo ? 4U : 0U) | code);
}

static void a_packet_of_one_or_two_frames_lasts_as_its_configuration_says(void **state)
{
    (void)state;
    static const struct {
        unsigned code;
        size_t len;
        uint32_t frames;
    } code_case[] = {{0, 4, 1}, {1, 5, 2}, {2, 4, 2}};
    for (size_t config = 0; config < CONFIGS; config++) {
        for (size_t i = 0; i < 2 * COUNT_OF(code_case); i++) {
            const size_t c = i / 2;
            const uint8_t packet[5] = {toc_of(config, i % 2 == 1, code_case[c].code), 1};
            const uint32_t duration =
                voice_packet_duration(VOICE_CODEC_OPUS, bytes_view_of(packet, code_case[c].len));
            if (duration != code_case[c].frames * frame_duration[config]) {
                fail_msg("config %zu, code %u: %u", config, code_case[c].code, duration);
            }
        }
    }
}

static void a_packet_of_many_frames_lasts_their_sum_up_to_120_ms_and_none_is_malformed(void **state)
{
    (void)state;
    for (size_t config = 0; config < CONFIGS; config++) {
        for (uint32_t count = 0; count <= COUNT_MAX; count++) {
            const uint8_t packet[2 + COUNT_MAX] = {toc_of(config, false, CODE_CBR_3),
                                                   (uint8_t)count};
            const uint32_t sum = count * frame_duration[config];
            const uint32_t expected = sum <= VOICE_PACKET_DURATION_MAX ? sum : 0;
            const uint32_t duration =
                voice_packet_duration(VOICE_CODEC_OPUS, bytes_view_of(packet, 2 + count));
            if (duration != expected) {
                fail_msg("config %zu, %u frames: %u, not %u", config, count, duration, expected);
            }
        }
    }
}

/* RFC 6716 s.3.4: the requirements R1 to R7. Config 1 has frames of 960, config 3 of 2,880. */
static void a_packet_is_measured_only_when_it_keeps_every_rule_of_its_code(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const char *hex;
        uint32_t duration;
    } rule_case[] = {
        {"R1: no TOC", "", 0},
        {"a TOC alone: one empty frame (DTX)", "08", 960},
        {"code 1: two empty frames", "09", 1920},
        {"R3: two frames of one byte", "09aabb", 1920},
        {"R3: two frames of a byte and a half", "09aabbcc", 0},
        {"R4: code 2 without a length", "0a", 0},
        {"R4: an empty frame before an empty frame", "0a00", 1920},
        {"R4: a first frame that takes all", "0a02aabb", 1920},
        {"R4: a first frame one byte too long", "0a03aabb", 0},
        {"R4: half of a length of two bytes", "0afc", 0},
        {"R4: a length of two bytes beyond the end", "0afc00aa", 0},
        {"code 3 without a count", "0b", 0},
        {"R5: no frame", "0b00", 0},
        {"R5: two frames of 60 ms", "1b02aabb", 5760},
        {"R5: three frames of 60 ms", "1b03aabbcc", 0},
        {"R6: three equal frames", "0b03aabbcc", 2880},
        {"R6: three frames of a byte and a third", "0b03aabbccdd", 0},
        {"R6: padding without its length", "0b43", 0},
        {"R6: padding of one byte", "0b4301aabbcc00", 2880},
        {"R6: padding that takes all", "0b430100", 2880},
        {"R6: padding one byte too long", "0b430200", 0},
        {"R6: a length of padding that goes on and ends", "0b43ff", 0},
        {"R7: lengths of all frames but the last", "0b830101aabbcc", 2880},
        {"R7: a length is missing", "0b8301", 0},
        {"R7: the lengths take all", "0b830102aabbcc", 2880},
        {"R7: the lengths take a byte too many", "0b830103aabbcc", 0},
        {"R7: padding besides", "0bc3010101aabbcc00", 2880},
        {"R7: padding that eats a frame", "0bc3040101aabbcc00", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rule_case); i++) {
        uint8_t packet[16];
        const size_t len = strlen(rule_case[i].hex) / 2;
        assert_true(bytes_from_hex(bytes_view_of_text(rule_case[i].hex), packet, len));
        const uint32_t duration =
            voice_packet_duration(VOICE_CODEC_OPUS, bytes_view_of(packet, len));
        if (duration != rule_case[i].duration) {
            fail_msg("%s: %u, not %u", rule_case[i].what, duration, rule_case[i].duration);
        }
    }
}

static void a_payload_of_1275_bytes_is_measured_and_a_longer_one_is_not(void **state)
{
    (void)state;
    static const uint8_t packet[VOICE_PACKET_BYTES_MAX + 1] = {0x08};
    assert_int_equal(
        voice_packet_duration(VOICE_CODEC_OPUS, bytes_view_of(packet, VOICE_PACKET_BYTES_MAX)),
        960);
    assert_int_equal(
        voice_packet_duration(VOICE_CODEC_OPUS, bytes_view_of(packet, VOICE_PACKET_BYTES_MAX + 1)),
        0);
}

/* RFC 6716 s.4.2.3: a voice bit for each 20 ms, then the bit of FEC. */
static void a_mono_silk_packet_tells_of_voice_and_fec_in_its_first_byte(void **state)
{
    (void)state;
    enum { UNKNOWN = VOICE_PACKET_VOICE_UNKNOWN, NONE = VOICE_PACKET_VOICE_NONE };
    enum { HEARD = VOICE_PACKET_VOICE_HEARD };
    static const struct {
        const char *what;
        const char *hex;
        int voice;
        bool has_fec;
    } peek_case[] = {
        {"10 ms: neither", "003f", NONE, false},
        {"20 ms: neither", "083f", NONE, false},
        {"20 ms: voice", "08bf", HEARD, false},
        {"20 ms: FEC", "087f", NONE, true},
        {"20 ms: both", "08ff", HEARD, true},
        {"40 ms: neither", "101f", NONE, false},
        {"40 ms: voice in the second half", "105f", HEARD, false},
        {"40 ms: FEC", "103f", NONE, true},
        {"60 ms: neither", "180f", NONE, false},
        {"60 ms: voice in the third", "182f", HEARD, false},
        {"60 ms: FEC", "181f", NONE, true},
        {"hybrid 20 ms: both", "78ff", HEARD, true},
        {"two frames: the first counts", "0980ff", HEARD, false},
        {"two frames of told lengths", "0a0140ff", NONE, true},
        {"many frames with padding", "0b4201c0ff00", HEARD, true},
        {"stereo", "0cff", UNKNOWN, false},
        {"CELT", "f8ff", UNKNOWN, false},
        {"a TOC alone (DTX)", "08", UNKNOWN, false},
        {"malformed: an odd half", "09ffffff", UNKNOWN, false},
        {"empty", "", UNKNOWN, false},
    };
    for (size_t i = 0; i < COUNT_OF(peek_case); i++) {
        uint8_t packet[16];
        const size_t len = strlen(peek_case[i].hex) / 2;
        assert_true(bytes_from_hex(bytes_view_of_text(peek_case[i].hex), packet, len));
        const struct bytes_view opus = bytes_view_of(packet, len);
        if ((int)voice_packet_voice(opus) != peek_case[i].voice ||
            voice_packet_has_fec(opus) != peek_case[i].has_fec) {
            fail_msg("%s: voice %d, FEC %d", peek_case[i].what, voice_packet_voice(opus),
                     voice_packet_has_fec(opus));
        }
    }
}

static void a_payload_of_g711_lasts_a_sample_a_byte_in_steps_of_2500_us_up_to_120_ms(void **state)
{
    (void)state;
    static const uint8_t payload[1000];
    static const struct {
        size_t len;
        uint32_t duration;
    } g711_case[] = {{0, 0},     {1, 0},     {19, 0},  {20, 20}, {21, 0},
                     {160, 160}, {960, 960}, {961, 0}, {980, 0}};
    for (size_t i = 0; i < 2 * COUNT_OF(g711_case); i++) {
        assert_int_equal(voice_packet_duration(i % 2 == 0 ? VOICE_CODEC_PCMU : VOICE_CODEC_PCMA,
                                               bytes_view_of(payload, g711_case[i / 2].len)),
                         g711_case[i / 2].duration);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_of_one_or_two_frames_lasts_as_its_configuration_says),
        cmocka_unit_test(
            a_packet_of_many_frames_lasts_their_sum_up_to_120_ms_and_none_is_malformed),
        cmocka_unit_test(a_packet_is_measured_only_when_it_keeps_every_rule_of_its_code),
        cmocka_unit_test(a_mono_silk_packet_tells_of_voice_and_fec_in_its_first_byte),
        cmocka_unit_test(a_payload_of_g711_lasts_a_sample_a_byte_in_steps_of_2500_us_up_to_120_ms),
        cmocka_unit_test(a_payload_of_1275_bytes_is_measured_and_a_longer_one_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
