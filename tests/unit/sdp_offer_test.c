/* sdp_offer_test.c - rules 1 to 6 of offers (tests/corpus/offers-handmade): numbers, credentials */
#include "tests/unit/sdp_offer_world.h"

#include "services/transceiver/core/sdp/sdp_parser.h"

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
