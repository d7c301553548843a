/* sdp_offer_sections_test.c - rules 7 to 12 of offers: which sections, codecs and ways are used */
#include "tests/unit/sdp_offer_world.h"

static void rule_7_fingerprints(void **state)
{
    (void)state;
#define PRINT(text) SESSION AUDIO_M UFRAG PWD "a=fingerprint:" text "\r\n" SETUP MUX OPUS
    static const struct verdict_case table[] = {
        {"sha-256", PRINT("sha-256 " SHA256_DIGEST), OK},
        {"in capitals", PRINT("SHA-256 " SHA256_DIGEST), OK},
        {"31 bytes",
         PRINT("sha-256 0B:30:55:7A:9F:C4:E9:0E:33:58:7D:A2:C7:EC:11:36:5B:80:A5:CA:EF:"
               "14:39:5E:83:A8:CD:F2:17:3C:61"),
         BAD},
        {"33 bytes", PRINT("sha-256 " SHA256_DIGEST ":00"), BAD},
        {"a colon too many", PRINT("sha-256 " SHA256_DIGEST ":"), BAD},
        {"no digit",
         PRINT("sha-256 G"
               "B:30:55:7A:9F:C4:E9:0E:33:58:7D:A2:C7:EC:11:36:5B:80:A5:CA:"
               "EF:14:39:5E:83:A8:CD:F2:17:3C:61:86"),
         BAD},
        {"not a colon",
         PRINT("sha-256 0B-30:55:7A:9F:C4:E9:0E:33:58:7D:A2:C7:EC:11:36:5B:80:A5:CA:"
               "EF:14:39:5E:83:A8:CD:F2:17:3C:61:86"),
         BAD},
        {"sha-384 of 32", PRINT("sha-384 " SHA256_DIGEST), BAD},
        {"sha-1", PRINT("sha-1 0B:30:55:7A:9F:C4:E9:0E:33:58:7D:A2:C7:EC:11:36:5B:80:A5:CA"), BAD},
        {"none", PRINT(""), BAD},
    };
    CHECK_VERDICTS(table);
    assert_good(PRINT("sha-256 " SHA256_DIGEST));
    assert_int_equal(offer.fingerprint[0].digest[0], 0x0b);
    assert_int_equal(offer.fingerprint[0].digest[31], 0x86);
    assert_good(SESSION FINGERPRINT FINGERPRINT AUDIO);
    assert_int_equal(offer.fingerprint_count, 1);
    assert_good(SESSION FINGERPRINT FINGERPRINT AUDIO_M UFRAG PWD SETUP MUX OPUS);
    assert_int_equal(offer.fingerprint_count, 2);
}

static void fingerprints_beyond_four_are_ignored(void **state)
{
    (void)state;
    start_sample(SESSION AUDIO);
    sample_add_times(&sample, FINGERPRINT, 3);
    assert_int_equal(parse_sample(), OK);
    assert_int_equal(offer.fingerprint_count, 4);
    sample_add_times(&sample, FINGERPRINT, 3);
    assert_int_equal(parse_sample(), OK);
    assert_int_equal(offer.fingerprint_count, 4);
}

static void rule_8_setup(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum sdp_setup setup;
    } good[] = {
        {SESSION "a=setup:passive\r\n" AUDIO, SDP_SETUP_ACTPASS},
        {SESSION AUDIO_M UFRAG PWD FINGERPRINT "a=setup:active\r\n" MUX OPUS, SDP_SETUP_ACTIVE},
        {SESSION AUDIO_M UFRAG PWD FINGERPRINT "a=setup:passive\r\n" MUX OPUS, SDP_SETUP_PASSIVE},
        {SESSION "a=setup:passive\r\n" AUDIO_M UFRAG PWD FINGERPRINT MUX OPUS, SDP_SETUP_PASSIVE},
        {SESSION AUDIO_M UFRAG PWD FINGERPRINT MUX OPUS, SDP_SETUP_ACTPASS},
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_good(good[i].text);
        assert_int_equal(offer.setup, good[i].setup);
    }
    static const struct verdict_case bad[] = {
        {"holdconn", SESSION AUDIO_M UFRAG PWD FINGERPRINT MUX OPUS "a=setup:holdconn\r\n", BAD},
        {"unknown", SESSION AUDIO_M UFRAG PWD FINGERPRINT MUX OPUS "a=setup:\r\n", BAD},
    };
    CHECK_VERDICTS(bad);
}

static void sped_is_found_among_the_ice_options(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        bool is_offered;
    } table[] = {
        {"trickle", false},
        {"trickle sped", true},
        {"sped", true},
        {"ice2,googspedv1", true},
        {"trickle , googspedv1", true},
        {"spedx", false},
        {"goog-sped-v1", true},
        {"", false},
        {",", false},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        start_sample(SESSION AUDIO "a=ice-options:");
        sample_add(&sample, table[i].options);
        assert_int_equal(parse_sample(), OK);
        assert_int_equal(offer.offers_sped, table[i].is_offered);
    }
    assert_good(SESSION "a=ice-options:sped\r\n" AUDIO);
    assert_true(offer.offers_sped);
}

static void rule_9_sections(void **state)
{
    (void)state;
#define BUNDLE_ONLY_AUDIO_MID(mid)                                                                 \
    "m=audio 0 UDP/TLS/RTP/SAVPF 111\r\n" TRANSPORT MUX OPUS "a=bundle-only\r\na=mid:" mid "\r\n"
    static const struct verdict_case table[] = {
        {"both in a group", BOTH, OK},
        {"no group", SESSION AUDIO_MID("0") DATA_MID("1"), BAD},
        {"a group without one", SESSION BUNDLE("0") AUDIO_MID("0") DATA_MID("1"), BAD},
        {"a group without a video", SESSION BUNDLE("0") AUDIO_MID("0") VIDEO_MID("1"), BAD},
        {"two groups", SESSION BUNDLE("0") BUNDLE("1") AUDIO_MID("0") DATA_MID("1"), BAD},
        {"the same group twice", SESSION BUNDLE("0") BUNDLE("0") AUDIO_MID("0"), BAD},
        {"another group", SESSION "a=group:LS 0 x\r\n" BUNDLE("0 1") AUDIO_MID("0") DATA_MID("1"),
         OK},
        {"unknown mid", SESSION BUNDLE("0 1") AUDIO_MID("0"), BAD},
        {"a mid twice in the group", SESSION BUNDLE("0 0") AUDIO_MID("0"), BAD},
        {"the same mid twice", SESSION BUNDLE("0") AUDIO_MID("0") DATA_MID("0"), BAD},
        {"the same mid, rejected", SESSION AUDIO_MID("0") "m=video 0 x x\r\na=mid:0\r\n", BAD},
        {"an empty group", SESSION "a=group:BUNDLE\r\n" AUDIO_MID("0"), OK},
        {"a rejected one outside", SESSION AUDIO "m=video 0 x x\r\n", OK},
        {"rejected with bundle-only", SESSION AUDIO "m=video 0 x x\r\na=bundle-only\r\n", BAD},
        {"bundle-only beside one with a port",
         SESSION BUNDLE("0 1") BUNDLE_ONLY_AUDIO_MID("0") DATA_MID("1"), OK},
        {"bundle-only beside a refused one",
         SESSION BUNDLE("0 1") BUNDLE_ONLY_AUDIO_MID("0") VIDEO_MID("1"), BAD},
        {"bundle-only without a group", SESSION BUNDLE_ONLY_AUDIO_MID("0"), BAD},
        {"nothing but video", SESSION VIDEO_MID("0"), BAD},
        {"nothing but a rejected one",
         SESSION "m=audio 0 UDP/TLS/RTP/SAVPF 111\r\n" TRANSPORT MUX OPUS, BAD},
    };
    CHECK_VERDICTS(table);
}

static void the_first_usable_audio_and_the_first_data_section_are_used(void **state)
{
    (void)state;
#define G722 "m=audio 9 UDP/TLS/RTP/SAVPF 9\r\n" TRANSPORT MUX "a=rtpmap:9 G722/8000\r\n"
    assert_good(SESSION BUNDLE("a b c d e") G722 "a=mid:a\r\n" AUDIO_MID("b") AUDIO_MID("c")
                    DATA_MID("d") DATA_MID("e"));
    static const bool is_accepted[] = {false, true, false, true, false};
    for (size_t i = 0; i < COUNT_OF(is_accepted); i++) {
        assert_int_equal(offer.section[i].is_accepted, is_accepted[i]);
    }
    assert_int_equal(offer.transport_section, 1);
    assert_int_equal(offer.bundle_count, 5);
}

static void without_data_channels_an_offer_needs_audio(void **state)
{
    (void)state;
    assert_int_equal(
        sdp_offer_parse(bytes_view_of_text(BOTH), false, &offer, reason, sizeof(reason)), OK);
    assert_false(offer.has_data);
    assert_false(offer.section[1].is_accepted);
    assert_int_equal(
        sdp_offer_parse(bytes_view_of_text(SESSION DATA), false, &offer, reason, sizeof(reason)),
        BAD);
}

static void rule_10_transport(void **state)
{
    (void)state;
#define PROTOCOL(protocol) SESSION "m=audio 9 " protocol " 111\r\n" TRANSPORT MUX OPUS
#define LEGACY(protocol, port, map)                                                                \
    SESSION "m=application 9 " protocol " " port "\r\n" TRANSPORT "a=sctpmap:" map "\r\n"
    static const struct verdict_case table[] = {
        {"SAVPF", PROTOCOL("UDP/TLS/RTP/SAVPF"), OK},
        {"SAVP", PROTOCOL("UDP/TLS/RTP/SAVP"), OK},
        {"in lower case", PROTOCOL("udp/tls/rtp/savpf"), OK},
        {"RTP/SAVPF", PROTOCOL("RTP/SAVPF"), BAD},
        {"RTP/AVP", PROTOCOL("RTP/AVP"), BAD},
        {"no rtcp-mux", SESSION AUDIO_M TRANSPORT OPUS, BAD},
        {"no rtcp-mux, but data",
         SESSION BUNDLE("0 1") AUDIO_M TRANSPORT OPUS "a=mid:0\r\n" DATA_MID("1"), BAD},
        {"ice-lite", SESSION "a=ice-lite\r\n" AUDIO, BAD},
        {"ice-lite in a section", SESSION AUDIO "a=ice-lite\r\n", BAD},
        {"data over TCP", SESSION "m=application 9 TCP/DTLS/SCTP webrtc-datachannel\r\n" TRANSPORT,
         BAD},
        {"no data channel", SESSION "m=application 9 UDP/DTLS/SCTP bfcp\r\n" TRANSPORT, BAD},
        {"legacy", LEGACY("DTLS/SCTP", "5000", "5000 webrtc-datachannel 1024"), OK},
        {"legacy, other ports", LEGACY("DTLS/SCTP", "5000", "5001 webrtc-datachannel 1024"), BAD},
        {"legacy, other use", LEGACY("DTLS/SCTP", "5000", "5000 bfcp 1024"), BAD},
        {"legacy, port 0", LEGACY("DTLS/SCTP", "0", "0 webrtc-datachannel"), BAD},
        {"legacy, port 65536", LEGACY("DTLS/SCTP", "65536", "65536 webrtc-datachannel"), BAD},
        {"legacy without map", SESSION "m=application 9 DTLS/SCTP 5000\r\n" TRANSPORT, BAD},
    };
    CHECK_VERDICTS(table);
    assert_good(LEGACY("DTLS/SCTP", "5000", "5000 webrtc-datachannel 1024"));
    assert_true(offer.is_legacy_sctpmap);
    assert_int_equal(offer.sctp_port, 5000);
}

/* RFC 5761 s.4 */
static void a_payload_type_that_would_look_like_rtcp_is_not_used(void **state)
{
    (void)state;
#define OPUS_AS(number)                                                                            \
    SESSION "m=audio 9 UDP/TLS/RTP/SAVPF " number "\r\n" TRANSPORT MUX "a=rtpmap:" number          \
            " opus/48000/2\r\n"
    static const struct verdict_case table[] = {
        {"63", OPUS_AS("63"), OK},
        {"64", OPUS_AS("64"), CODEC},
        {"95", OPUS_AS("95"), CODEC},
        {"96", OPUS_AS("96"), OK},
    };
    CHECK_VERDICTS(table);
    assert_good(SESSION "m=audio 9 UDP/TLS/RTP/SAVPF 72 111\r\n" TRANSPORT MUX OPUS
                        "a=rtpmap:72 opus/48000/2\r\n");
    assert_int_equal(offer.audio_payload_type, 111);
}

static void rule_11_codecs(void **state)
{
    (void)state;
#define ENCODING(text) SESSION AUDIO_M TRANSPORT MUX "a=rtpmap:111 " text "\r\n"
    static const struct verdict_case table[] = {
        {"opus", ENCODING("opus/48000/2"), OK},
        {"OPUS", ENCODING("OPUS/48000/2"), OK},
        {"16000/1", ENCODING("opus/16000/1"), OK},
        {"no channels", ENCODING("opus/48000"), OK},
        {"no rate", ENCODING("opus"), CODEC},
        {"44100", ENCODING("opus/44100/2"), CODEC},
        {"no channel", ENCODING("opus/48000/0"), CODEC},
        {"3 channels", ENCODING("opus/48000/3"), CODEC},
        {"multiopus", ENCODING("multiopus/48000/6"), CODEC},
        {"red", ENCODING("red/48000/2"), CODEC},
        {"not in the m-line", SESSION "m=audio 9 UDP/TLS/RTP/SAVPF 9\r\n" TRANSPORT MUX OPUS,
         CODEC},
        {"0 that is not G.711",
         SESSION "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n" TRANSPORT MUX "a=rtpmap:0 G722/8000\r\n",
         CODEC},
        {"G.711 of another rate", ENCODING("PCMU/16000"), CODEC},
        {"G.711 of two channels", ENCODING("PCMU/8000/2"), CODEC},
        {"PCMU of a free number", ENCODING("pcmu/8000/1"), OK},
        {"PCMA of a free number", ENCODING("PCMA/8000"), OK},
        {"no rtpmap", SESSION AUDIO_M TRANSPORT MUX, CODEC},
        {"rtpmap of another section",
         SESSION BUNDLE("0 1") AUDIO_M TRANSPORT MUX "a=mid:0\r\n" VIDEO_MID("1") OPUS, CODEC},
        {"G.722, but data", SESSION BUNDLE("0 1") G722 "a=mid:0\r\n" DATA_MID("1"), CODEC},
    };
    CHECK_VERDICTS(table);
}

static void the_first_opus_of_the_m_line_is_used_with_its_red(void **state)
{
    (void)state;
    assert_good(SESSION
                "m=audio 9 UDP/TLS/RTP/SAVPF 9 61 62 63 97 96 0 100 110 126\r\n" TRANSPORT MUX
                "a=fmtp:61 96/96\r\na=fmtp:62 97/96\r\na=fmtp:63 97/97/97\r\n"
                "a=rtpmap:61 red/48000/2\r\na=rtpmap:62 red/48000/2\r\n"
                "a=rtpmap:63 RED/48000/2\r\na=rtpmap:96 opus/48000/2\r\n"
                "a=rtpmap:97 opus/48000/2\r\na=rtpmap:100 telephone-event/8000\r\n"
                "a=rtpmap:110 telephone-event/48000\r\na=rtpmap:126 telephone-event/48000\r\n");
    assert_int_equal(offer.audio_payload_type, 97);
    assert_true(offer.has_red);
    assert_int_equal(offer.red_payload_type, 63);
    assert_true(offer.has_telephone_event);
    assert_int_equal(offer.telephone_event_payload_type, 110);
}

static void red_needs_two_blocks_of_the_same_opus(void **state)
{
    (void)state;
    static const struct {
        const char *fmtp;
        bool has_red;
    } table[] = {
        {"a=fmtp:63 111/111\r\n", true},  {"a=fmtp:63 111\r\n", false},
        {"a=fmtp:63 111/0\r\n", false},   {"a=fmtp:63 111/x\r\n", false},
        {"a=fmtp:62 111/111\r\n", false}, {"", false},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        start_sample(SESSION "m=audio 9 UDP/TLS/RTP/SAVPF 63 111\r\n" TRANSPORT MUX OPUS
                             "a=rtpmap:63 red/48000/2\r\n");
        sample_add(&sample, table[i].fmtp);
        assert_int_equal(parse_sample(), OK);
        assert_int_equal(offer.has_red, table[i].has_red);
    }
}

static void rule_12_directions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum sdp_direction direction;
    } table[] = {
        {SESSION AUDIO, SDP_SENDRECV},
        {SESSION AUDIO "a=sendrecv\r\n", SDP_SENDRECV},
        {SESSION AUDIO "a=sendonly\r\n", SDP_SENDONLY},
        {SESSION AUDIO "a=recvonly\r\n", SDP_RECVONLY},
        {SESSION AUDIO "a=inactive\r\n", SDP_INACTIVE},
        {SESSION "a=recvonly\r\n" AUDIO, SDP_RECVONLY},
        {SESSION "a=recvonly\r\n" AUDIO "a=sendrecv\r\n", SDP_SENDRECV},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_good(table[i].text);
        assert_int_equal(offer.section[0].direction, table[i].direction);
    }
}

static void extmaps_count_when_they_are_for_both_ways_and_fit_one_byte(void **state)
{
    (void)state;
#define LEVEL_URI "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
#define MID_URI   "urn:ietf:params:rtp-hdrext:sdes:mid"
    static const struct {
        const char *text;
        uint8_t audio_level;
        uint8_t mid;
    } table[] = {
        {SESSION AUDIO, 0, 0},
        {SESSION AUDIO "a=extmap:1 " LEVEL_URI "\r\na=extmap:14 " MID_URI "\r\n", 1, 14},
        {SESSION AUDIO "a=extmap:1/sendrecv " LEVEL_URI " vad=on\r\n", 1, 0},
        {SESSION AUDIO "a=extmap:1/recvonly " LEVEL_URI "\r\na=extmap:0 " MID_URI "\r\n", 0, 0},
        {SESSION AUDIO "a=extmap:15 " LEVEL_URI "\r\na=extmap:4096 " MID_URI "\r\n", 0, 0},
        {SESSION AUDIO "a=extmap:3 " LEVEL_URI "\r\na=extmap:3 " MID_URI "\r\n", 3, 0},
        {SESSION AUDIO "a=extmap\r\na=extmap:x\r\na=extmap:1 urn:x\r\n", 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_good(table[i].text);
        assert_int_equal(offer.extmap_audio_level, table[i].audio_level);
        assert_int_equal(offer.extmap_mid, table[i].mid);
    }
}

static void the_audio_section_tells_of_its_rtp(void **state)
{
    (void)state;
    assert_good(SESSION "a=extmap-allow-mixed\r\n" AUDIO
                        "a=rtcp-rsize\r\na=ssrc:4294967295 cname:x\r\na=ssrc:2 cname:y\r\n");
    assert_true(offer.has_extmap_allow_mixed);
    assert_true(offer.has_rtcp_rsize);
    assert_true(offer.has_ssrc);
    assert_int_equal(offer.ssrc, UINT32_MAX);
    assert_good(SESSION AUDIO);
    assert_false(offer.has_extmap_allow_mixed);
    assert_false(offer.has_rtcp_rsize);
    assert_false(offer.has_ssrc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_7_fingerprints),
        cmocka_unit_test(fingerprints_beyond_four_are_ignored),
        cmocka_unit_test(rule_8_setup),
        cmocka_unit_test(sped_is_found_among_the_ice_options),
        cmocka_unit_test(rule_9_sections),
        cmocka_unit_test(the_first_usable_audio_and_the_first_data_section_are_used),
        cmocka_unit_test(without_data_channels_an_offer_needs_audio),
        cmocka_unit_test(rule_10_transport),
        cmocka_unit_test(a_payload_type_that_would_look_like_rtcp_is_not_used),
        cmocka_unit_test(rule_11_codecs),
        cmocka_unit_test(the_first_opus_of_the_m_line_is_used_with_its_red),
        cmocka_unit_test(red_needs_two_blocks_of_the_same_opus),
        cmocka_unit_test(rule_12_directions),
        cmocka_unit_test(extmaps_count_when_they_are_for_both_ways_and_fit_one_byte),
        cmocka_unit_test(the_audio_section_tells_of_its_rtp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
