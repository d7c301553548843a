/* sdp_offer_test.c - the twelve rules of offers (tests/corpus/offers-handmade), each at its edge */
#include "tests/testing.h"

#include "services/transceiver/core/sdp/sdp_parser.h"
#include "tests/sdp_samples.h"

#define X32   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X256  X32 X32 X32 X32 X32 X32 X32 X32
#define OK    SDP_OFFER_OK
#define BAD   SDP_OFFER_BAD
#define CODEC SDP_OFFER_NO_COMMON_CODEC

static struct sdp_offer offer;
static char reason[SDP_REASON_CAP];
static struct sample_text sample;

static enum sdp_offer_result parse(const char *text)
{
    return sdp_offer_parse(bytes_view_of_text(text), true, &offer, reason, sizeof(reason));
}

static void assert_good(const char *text)
{
    const enum sdp_offer_result result = parse(text);
    if (result != OK) {
        fail_msg("refused (%s):\n%s", reason, text);
    }
}

struct verdict_case {
    const char *what;
    const char *text;
    enum sdp_offer_result result;
};

/* A refusal has a reason in one line, an accepted offer none. */
static void check_verdicts(const struct verdict_case *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const enum sdp_offer_result result = parse(table[i].text);
        if (result != table[i].result) {
            fail_msg("%s: result %d, \"%s\"", table[i].what, result, reason);
        }
        assert_int_equal(reason[0] == '\0', result == OK);
        assert_null(strpbrk(reason, "\r\n"));
    }
}

#define CHECK_VERDICTS(table) check_verdicts(table, COUNT_OF(table))

static enum sdp_offer_result parse_sample(void)
{
    return sdp_offer_parse(sample_view(&sample), true, &offer, reason, sizeof(reason));
}

static void start_sample(const char *text)
{
    sample.len = 0;
    sample_add(&sample, text);
}

static void rule_1_text(void **state)
{
    (void)state;
    static const struct verdict_case table[] = {
        {"as it should be", SESSION AUDIO, OK},
        {"blank lines", "\r\n \t\r\n" SESSION "\n" AUDIO "   ", OK},
        {"no form at all", SESSION "plain words\r\n=\r\n" AUDIO, OK},
        {"unknown lines and attributes", SESSION "y=1\r\na=x\r\na=\r\na=:\r\n" AUDIO "a=x:y\r\n",
         OK},
        {"no v=0", "o=- 1 1 IN IP4 127.0.0.1\r\n" AUDIO, BAD},
        {"words before v=0", "plain words\r\n" SESSION AUDIO, BAD},
        {"v=1", "v=1\r\n" AUDIO, BAD},
        {"nothing but blanks", "\r\n \r\n", BAD},
        {"nothing", "", BAD},
        {"a lone CR", SESSION "a=x\ry\r\n" AUDIO, BAD},
        {"names are case-sensitive", SESSION AUDIO_M TRANSPORT OPUS "a=RTCP-MUX\r\n", BAD},
    };
    CHECK_VERDICTS(table);
    static const char with_nul[] = SESSION AUDIO "a=x\0\r\n";
    assert_int_equal(sdp_offer_parse(bytes_view_of(with_nul, sizeof(with_nul) - 1), true, &offer,
                                     reason, sizeof(reason)),
                     BAD);
}

static void a_refusal_names_the_line(void **state)
{
    (void)state;
    assert_int_equal(parse(SESSION "a=setup:holdconn\r\n"), BAD);
    assert_string_equal(reason, "line 5: a=setup is not actpass, active or passive");
    assert_int_equal(parse(SESSION AUDIO_M TRANSPORT OPUS), BAD);
    assert_string_equal(reason, "line 5: audio needs a=rtcp-mux");
    assert_int_equal(parse(SESSION), BAD);
    assert_string_equal(reason, "no audio or data section that can be used");
}

static void rule_2_body_and_lines(void **state)
{
    (void)state;
    static char padding[SDP_LINE_BYTES_MAX + 2];
    memset(padding, 'x', sizeof(padding) - 1);
    start_sample(SESSION AUDIO);
    padding[SDP_LINE_BYTES_MAX] = '\0';
    sample_add(&sample, padding);
    assert_int_equal(parse_sample(), OK);
    sample_add(&sample, "x");
    assert_int_equal(parse_sample(), BAD);

    start_sample(SESSION AUDIO);
    while (SDP_BYTES_MAX - sample.len > SDP_LINE_BYTES_MAX) {
        sample_add(&sample, padding);
        sample_add(&sample, "\n");
    }
    padding[SDP_BYTES_MAX - sample.len] = '\0';
    sample_add(&sample, padding);
    assert_int_equal(sample.len, SDP_BYTES_MAX);
    assert_int_equal(parse_sample(), OK);
    sample_add(&sample, "\n");
    assert_int_equal(parse_sample(), BAD);

    start_sample(SESSION AUDIO); /* 4 and 7 lines */
    sample_add_times(&sample, "a=x\n", 1000 - 11);
    assert_int_equal(parse_sample(), OK);
    sample_add(&sample, "\n");
    assert_int_equal(parse_sample(), BAD);
}

/* At the limit accepted, one more refused. */
static void assert_at_most(const char *start, const char *line, size_t count_max)
{
    start_sample(start);
    sample_add_times(&sample, line, count_max);
    if (parse_sample() != OK) {
        fail_msg("%zu times %s: %s", count_max, line, reason);
    }
    sample_add(&sample, line);
    assert_int_equal(parse_sample(), BAD);
}

static void rule_2_counts_in_a_section(void **state)
{
    (void)state;
    assert_at_most(SESSION AUDIO, "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n", 64);
    assert_at_most(SESSION AUDIO, "a=extmap:1 urn:x\r\n", 64);
    assert_at_most(SESSION AUDIO, "a=rtpmap:0 PCMU/8000\r\n", 63); /* and Opus */
    assert_at_most(SESSION AUDIO, "m=video 0 UDP/TLS/RTP/SAVPF 96\r\n", 7);
    assert_at_most(SESSION AUDIO "m=video 0 X 96\r\n",
                   "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n", 64);

    for (size_t count = 64; count <= 65; count++) {
        start_sample(SESSION "m=audio 9 UDP/TLS/RTP/SAVPF");
        sample_add_times(&sample, " 0", count - 1);
        sample_add(&sample, " 111\r\n" TRANSPORT MUX OPUS);
        assert_int_equal(parse_sample(), count == 64 ? OK : BAD);
    }
}

static void rule_3_numbers(void **state)
{
    (void)state;
#define AUDIO_PORT(port) SESSION "m=audio " port " UDP/TLS/RTP/SAVPF 111\r\n" TRANSPORT MUX OPUS
#define PAYLOAD_TYPE(n)                                                                            \
    SESSION "m=audio 9 UDP/TLS/RTP/SAVPF " n "\r\n" TRANSPORT MUX "a=rtpmap:" n " opus/48000/"     \
            "2\r\n"
#define SCTP_PORT(port) SESSION DATA_M TRANSPORT "a=sctp-port:" port "\r\n"
    static const struct verdict_case table[] = {
        {"port 1", AUDIO_PORT("1"), OK},
        {"port 65535", AUDIO_PORT("65535"), OK},
        {"port 65536", AUDIO_PORT("65536"), BAD},
        {"port that is 9 in 32 bits", AUDIO_PORT("4294967305"), BAD},
        {"port that is 9 in 64 bits", AUDIO_PORT("18446744073709551625"), BAD},
        {"port -9", AUDIO_PORT("-9"), BAD},
        {"two ports", AUDIO_PORT("9/2"), BAD},
        {"payload type 0", PAYLOAD_TYPE("0"), OK},
        {"payload type 127", PAYLOAD_TYPE("127"), OK},
        {"payload type 128", PAYLOAD_TYPE("128"), BAD},
        {"payload type 65535", PAYLOAD_TYPE("65535"), BAD},
        {"payload type *", PAYLOAD_TYPE("*"), BAD},
        {"rtpmap 128", SESSION AUDIO "a=rtpmap:128 x/1\r\n", BAD},
        {"fmtp *", SESSION AUDIO "a=fmtp:* x\r\n", OK},
        {"sctp-port 1", SCTP_PORT("1"), OK},
        {"sctp-port 65535", SCTP_PORT("65535"), OK},
        {"sctp-port 0", SCTP_PORT("0"), BAD},
        {"sctp-port 65536", SCTP_PORT("65536"), BAD},
        {"sctp-port nothing", SCTP_PORT(""), BAD},
        {"message size negative", SESSION DATA "a=max-message-size:-1\r\n", BAD},
        {"ssrc of 32 bits", SESSION AUDIO "a=ssrc:4294967295 cname:x\r\n", OK},
        {"ssrc beyond", SESSION AUDIO "a=ssrc:4294967296 cname:x\r\n", BAD},
    };
    CHECK_VERDICTS(table);
}

static void a_message_size_saturates_and_has_a_default(void **state)
{
    (void)state;
    assert_good(SESSION DATA);
    assert_int_equal(offer.max_message_bytes, 65536);
    assert_int_equal(offer.sctp_port, 5000);
    assert_good(SESSION DATA "a=max-message-size:0\r\n");
    assert_int_equal(offer.max_message_bytes, 0);
    assert_good(SESSION DATA "a=max-message-size:1073741823\r\n");
    assert_int_equal(offer.max_message_bytes, 1073741823);
    assert_good(SESSION DATA "a=max-message-size:99999999999999999999999\r\n");
    assert_true(offer.max_message_bytes == UINT64_MAX);
    assert_good(SESSION DATA_M TRANSPORT "a=sctp-port:6000\r\n");
    assert_int_equal(offer.sctp_port, 6000);
    assert_good(SESSION DATA_M TRANSPORT);
    assert_int_equal(offer.sctp_port, 5000);
}

static void rule_4_values_that_the_answer_repeats(void **state)
{
    (void)state;
    static const struct verdict_case table[] = {
        {"mid of 32", SESSION AUDIO "a=mid:" X32 "\r\n", OK},
        {"mid of 33", SESSION AUDIO "a=mid:" X32 "x\r\n", BAD},
        {"mid empty", SESSION AUDIO "a=mid:\r\n", BAD},
        {"mid of two words", SESSION AUDIO "a=mid:a b\r\n", BAD},
        {"mid with a quote", SESSION AUDIO "a=mid:\"\r\n", BAD},
        {"mid of 8 bits", SESSION AUDIO "a=mid:\xc3\xa9\r\n", BAD},
        {"mid twice", SESSION AUDIO "a=mid:0\r\na=mid:0\r\n", BAD},
        {"media of 15", SESSION AUDIO "m=xxxxxxxxxxxxxxx 0 x x\r\n", OK},
        {"media of 16", SESSION AUDIO "m=xxxxxxxxxxxxxxxx 0 x x\r\n", BAD},
        {"media no token", SESSION AUDIO "m=vi:deo 0 x x\r\n", BAD},
        {"protocol of 31", SESSION AUDIO "m=video 0 /xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx x\r\n", OK},
        {"protocol of 32", SESSION AUDIO "m=video 0 " X32 " x\r\n", BAD},
        {"protocol no token", SESSION AUDIO "m=video 0 a;b x\r\n", BAD},
        {"format of 31", SESSION AUDIO "m=video 0 x xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n", OK},
        {"format of 32", SESSION AUDIO "m=video 0 x " X32 "\r\n", BAD},
        {"format no token", SESSION AUDIO "m=video 0 x a/b\r\n", BAD},
        {"no format", SESSION AUDIO "m=video 0 x\r\n", BAD},
        {"no protocol", SESSION AUDIO "m=video 0\r\n", BAD},
        {"no port", SESSION AUDIO "m=video\r\n", BAD},
        {"nothing", SESSION AUDIO "m=\r\n", BAD},
    };
    CHECK_VERDICTS(table);
}

static void rule_5_candidates_are_advice(void **state)
{
    (void)state;
    static const struct verdict_case table[] = {
        {"nothing", SESSION AUDIO "a=candidate\r\na=candidate:\r\n", OK},
        {"a name", SESSION AUDIO "a=candidate:1 1 udp 1 x.local 1 typ host\r\n", OK},
        {"port -1", SESSION AUDIO "a=candidate:1 1 udp 1 192.0.2.1 -1 typ host\r\n", OK},
        {"words", SESSION AUDIO "a=candidate:\xff ( ) \"\r\na=end-of-candidates\r\n", OK},
    };
    CHECK_VERDICTS(table);
}

static void rule_6_credentials(void **state)
{
    (void)state;
#define WITH_UFRAG(ufrag) SESSION AUDIO_M "a=ice-ufrag:" ufrag "\r\n" PWD FINGERPRINT SETUP MUX OPUS
#define WITH_PWD(pwd)     SESSION AUDIO_M UFRAG "a=ice-pwd:" pwd "\r\n" FINGERPRINT SETUP MUX OPUS
    static const struct verdict_case table[] = {
        {"ufrag of 3", WITH_UFRAG("abc"), BAD},
        {"ufrag of 4", WITH_UFRAG("aZ+/"), OK},
        {"ufrag of 256", WITH_UFRAG(X256), OK},
        {"ufrag of 257", WITH_UFRAG(X256 "x"), BAD},
        {"ufrag with a colon", WITH_UFRAG("ab:cd"), BAD},
        {"ufrag with a blank", WITH_UFRAG("ab cd"), BAD},
        {"pwd of 21", WITH_PWD("0123456789abcdefghij0"), BAD},
        {"pwd of 22", WITH_PWD("0123456789abcdefghij01"), OK},
        {"pwd of 256", WITH_PWD(X256), OK},
        {"pwd of 257", WITH_PWD(X256 "x"), BAD},
        {"pwd with a minus", WITH_PWD("0123456789abcdefghij-01"), BAD},
        {"two ufrags", SESSION AUDIO UFRAG, BAD},
        {"two pwds", SESSION AUDIO PWD, BAD},
        {"two ufrags in a session", SESSION UFRAG UFRAG AUDIO, BAD},
        {"no ufrag", SESSION AUDIO_M PWD FINGERPRINT SETUP MUX OPUS, BAD},
        {"no pwd", SESSION AUDIO_M UFRAG FINGERPRINT SETUP MUX OPUS, BAD},
        {"ufrag of the session", SESSION UFRAG AUDIO_M PWD FINGERPRINT SETUP MUX OPUS, OK},
    };
    CHECK_VERDICTS(table);
    assert_good(SESSION "a=ice-ufrag:session\r\na=ice-pwd:sessionsessionsessions\r\n" AUDIO);
    assert_string_equal(offer.ice_ufrag, "Ab3+");
    assert_string_equal(offer.ice_pwd, "0123456789abcdefghij+/");
}

static void the_transport_is_that_of_the_first_accepted_in_the_groups_order(void **state)
{
    (void)state;
#define DATA_OTHER DATA_M "a=ice-ufrag:Ef4/\r\n" PWD FINGERPRINT "a=setup:passive\r\na=mid:1\r\n"
    assert_good(SESSION BUNDLE("0 1") AUDIO_MID("0") DATA_OTHER);
    assert_string_equal(offer.ice_ufrag, "Ab3+");
    assert_int_equal(offer.transport_section, 0);
    assert_int_equal(offer.setup, SDP_SETUP_ACTPASS);
    assert_good(SESSION BUNDLE("1 0") AUDIO_MID("0") DATA_OTHER);
    assert_string_equal(offer.ice_ufrag, "Ef4/");
    assert_int_equal(offer.transport_section, 1);
    assert_int_equal(offer.setup, SDP_SETUP_PASSIVE);
    assert_good(SESSION BUNDLE("2 1 0") AUDIO_MID("0") DATA_OTHER VIDEO_MID("2"));
    assert_string_equal(offer.ice_ufrag, "Ef4/");
    assert_good(SESSION BUNDLE("0 1") "m=audio 0 UDP/TLS/RTP/SAVPF 111\r\n" MUX OPUS
                                      "a=bundle-only\r\na=mid:0\r\n" DATA_OTHER);
    assert_int_equal(offer.transport_section, 1);
}

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
        cmocka_unit_test(rule_1_text),
        cmocka_unit_test(a_refusal_names_the_line),
        cmocka_unit_test(rule_2_body_and_lines),
        cmocka_unit_test(rule_2_counts_in_a_section),
        cmocka_unit_test(rule_3_numbers),
        cmocka_unit_test(a_message_size_saturates_and_has_a_default),
        cmocka_unit_test(rule_4_values_that_the_answer_repeats),
        cmocka_unit_test(rule_5_candidates_are_advice),
        cmocka_unit_test(rule_6_credentials),
        cmocka_unit_test(the_transport_is_that_of_the_first_accepted_in_the_groups_order),
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
