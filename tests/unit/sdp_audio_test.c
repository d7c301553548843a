/* sdp_audio_test.c - which codec an audio section gets, and what comes with it */
#include "tests/testing.h"

#include "services/transceiver/core/sdp/sdp_audio.h"

#define NONE SDP_NO_PAYLOAD_TYPE

/* What Chromium maps, and one more RED; G.711 has no line of its own. */
static const char *const mapped[][2] = {
    {"rtpmap", "111 opus/48000/2"},
    {"rtpmap", "112 opus/48000/2"},
    {"rtpmap", "63 red/48000/2"},
    {"fmtp", "63 111/111"},
    {"rtpmap", "62 red/48000/2"},
    {"fmtp", "62 0/0"},
    {"rtpmap", "110 telephone-event/48000"},
    {"rtpmap", "126 telephone-event/8000"},
    {"rtpmap", "9 G722/8000"},
    {"rtpmap", "97 PCMU/8000"},
};

static void take(struct sdp_attributes *a, const char *name, const char *value)
{
    const struct sdp_line line = {
        .type = 'a', .name = bytes_view_of_text(name), .value = bytes_view_of_text(value)};
    assert_null(sdp_attributes_take(a, &line));
}

static void map_all(struct sdp_attributes *a)
{
    sdp_attributes_init(a);
    for (size_t i = 0; i < COUNT_OF(mapped); i++) {
        take(a, mapped[i][0], mapped[i][1]);
    }
}

struct choice_case {
    const char *what;
    uint8_t m_line[8];
    size_t count;
    enum voice_codec codec;
    uint8_t payload_type;
    uint8_t red;
    uint8_t telephone_event;
};

static void the_first_codec_of_ours_in_the_m_line_is_chosen_with_what_belongs_to_it(void **state)
{
    (void)state;
    static const struct choice_case choice_case[] = {
        {"as Chromium offers", {111, 63, 9, 0, 8, 13, 110, 126}, 8, VOICE_CODEC_OPUS, 111, 63, 110},
        {"RED before Opus", {63, 111}, 2, VOICE_CODEC_OPUS, 111, 63, NONE},
        {"PCMU first", {0, 111, 63, 110, 126}, 5, VOICE_CODEC_PCMU, 0, NONE, 126},
        {"PCMA first", {8, 0, 111}, 3, VOICE_CODEC_PCMA, 8, NONE, NONE},
        {"what is not ours does not count",
         {9, 13, 126, 8, 111},
         5,
         VOICE_CODEC_PCMA,
         8,
         NONE,
         126},
        {"the second Opus: its RED is another's",
         {112, 63, 111},
         3,
         VOICE_CODEC_OPUS,
         112,
         NONE,
         NONE},
        {"RED of G.711 is none", {0, 62}, 2, VOICE_CODEC_PCMU, 0, NONE, NONE},
        {"G.711 by a free number", {97, 0}, 2, VOICE_CODEC_PCMU, 97, NONE, NONE},
        {"events of another clock", {111, 126}, 2, VOICE_CODEC_OPUS, 111, NONE, NONE},
    };
    struct sdp_attributes a;
    map_all(&a);
    for (size_t i = 0; i < COUNT_OF(choice_case); i++) {
        const struct choice_case *c = &choice_case[i];
        struct sdp_offer offer = {0};
        assert_true(sdp_audio_choose(&a, bytes_view_of(c->m_line, c->count), &offer));
        if (offer.audio_codec != c->codec || offer.audio_payload_type != c->payload_type ||
            offer.red_payload_type != c->red || offer.has_red != (c->red != NONE) ||
            offer.telephone_event_payload_type != c->telephone_event ||
            offer.has_telephone_event != (c->telephone_event != NONE)) {
            fail_msg("%s: codec %d as %u, RED %u, event %u", c->what, offer.audio_codec,
                     offer.audio_payload_type, offer.red_payload_type,
                     offer.telephone_event_payload_type);
        }
    }
}

static void without_a_codec_of_ours_nothing_is_chosen(void **state)
{
    (void)state;
    static const uint8_t others[] = {9, 13, 63, 110, 126};
    struct sdp_attributes a;
    struct sdp_offer offer = {.audio_payload_type = 77};
    map_all(&a);
    assert_false(sdp_audio_choose(&a, bytes_view_of(others, sizeof(others)), &offer));
    assert_false(sdp_audio_choose(&a, (struct bytes_view){0}, &offer));
    assert_int_equal(offer.audio_payload_type, 77);
}

/* RFC 3551 s.6: the static numbers are only defaults. */
static void a_static_number_means_what_its_line_says(void **state)
{
    (void)state;
    static const uint8_t m_line[] = {0, 8};
    struct sdp_attributes a;
    struct sdp_offer offer;
    map_all(&a);
    take(&a, "rtpmap", "0 CN/8000");
    take(&a, "rtpmap", "8 PCMU/8000");
    assert_true(sdp_audio_choose(&a, bytes_view_of(m_line, sizeof(m_line)), &offer));
    assert_int_equal(offer.audio_payload_type, 8);
    assert_int_equal(offer.audio_codec, VOICE_CODEC_PCMU);
}

static void nack_counts_when_it_is_plain_and_of_the_chosen_codec(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool has_nack;
    } nack_case[] = {
        {"111 nack", true},  {"* nack", true},       {"111 nack pli", false},
        {"63 nack", false},  {"111 ccm fir", false}, {"111 transport-cc", false},
        {"128 nack", false}, {"x nack", false},      {"111", false},
        {"", false},
    };
    static const uint8_t m_line[] = {111, 63};
    for (size_t i = 0; i < COUNT_OF(nack_case); i++) {
        struct sdp_attributes a;
        struct sdp_offer offer;
        map_all(&a);
        take(&a, "rtcp-fb", nack_case[i].value);
        assert_true(sdp_audio_choose(&a, bytes_view_of(m_line, sizeof(m_line)), &offer));
        if (offer.has_nack != nack_case[i].has_nack) {
            fail_msg("a=rtcp-fb:%s", nack_case[i].value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_codec_of_ours_in_the_m_line_is_chosen_with_what_belongs_to_it),
        cmocka_unit_test(without_a_codec_of_ours_nothing_is_chosen),
        cmocka_unit_test(a_static_number_means_what_its_line_says),
        cmocka_unit_test(nack_counts_when_it_is_plain_and_of_the_chosen_codec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
