/* sdp_answer_test.c - the answer byte for byte, and every form it takes */
#include "tests/testing.h"

#include "tests/sdp_samples.h"
#include "tests/strict_sdp.h"

static struct sdp_offer offer;
static struct strict_sdp strict;
static char text[SDP_ANSWER_BYTES_MAX + 1];

static void parse_offer(const char *sdp, bool accept_data)
{
    char reason[SDP_REASON_CAP];
    if (sdp_offer_parse(bytes_view_of_text(sdp), accept_data, &offer, reason, sizeof(reason)) !=
        SDP_OFFER_OK) {
        fail_msg("refused: %s", reason);
    }
}

static void write_answer(const struct sdp_answer *answer)
{
    const size_t len = sdp_answer_write(&offer, answer, text, SDP_ANSWER_BYTES_MAX);
    assert_in_range(len, 1, SDP_ANSWER_BYTES_MAX);
    text[len] = '\0';
    const char *problem = strict_sdp_read(text, len, &strict);
    if (problem != NULL) {
        fail_msg("%s:\n%s", problem, text);
    }
}

static void answer_to(const char *sdp)
{
    parse_offer(sdp, true);
    const struct sdp_answer answer = sample_answer(&offer);
    write_answer(&answer);
}

static bool has_line(const char *line)
{
    char whole[512];
    const int len = snprintf(whole, sizeof(whole), "\r\n%s\r\n", line);
    return len > 0 && (size_t)len < sizeof(whole) && strstr(text, whole) != NULL;
}

#define CREDENTIALS_ANSWER                                                                         \
    "a=ice-ufrag:H5NdZDc2lJmCIcFu0G39oFA\r\n"                                                      \
    "a=ice-pwd:m8Jt0vQ4yL2cX6nB1rK5sD9f\r\n"                                                       \
    "a=setup:active\r\n"

#define TRANSPORT_ANSWER(candidates)                                                               \
    CREDENTIALS_ANSWER candidates                                                                  \
        "a=fingerprint:sha-256 "                                                                   \
        "5D:88:B3:DE:09:34:5F:8A:B5:E0:0B:36:61:8C:B7:E2:0D:38:63:8E:B9:E4:0F:"                    \
        "3A:65:90:BB:E6:11:3C:67:92\r\n"

#define CANDIDATES                                                                                 \
    "a=candidate:1 1 udp 2130706431 203.0.113.10 3478 typ host\r\n"                                \
    "a=candidate:2 1 udp 2130706175 2001:db8::10 3478 typ host\r\n"                                \
    "a=candidate:3 1 tcp 1671430143 203.0.113.10 443 typ host tcptype passive\r\n"                 \
    "a=candidate:4 1 tcp 1671429887 2001:db8::10 443 typ host tcptype passive\r\n"                 \
    "a=end-of-candidates\r\n"

#define SESSION_ANSWER                                                                             \
    "v=0\r\no=- 4611731400430051336 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=ice-lite\r\n"

static void the_answer_to_audio_and_data_is_this(void **state)
{
    (void)state;
    answer_to(BOTH "a=max-message-size:1073741823\r\n");
    assert_string_equal(
        text, SESSION_ANSWER
        "a=group:BUNDLE 0 1\r\n"
        "a=msid-semantic: WMS earshot\r\n"
        "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"
        "c=IN IP4 0.0.0.0\r\n" TRANSPORT_ANSWER(
            CANDIDATES) "a=mid:0\r\n"
                        "a=sendrecv\r\n"
                        "a=msid:earshot audio0\r\n"
                        "a=rtcp-mux\r\n"
                        "a=rtpmap:111 opus/48000/2\r\n"
                        "a=fmtp:111 minptime=10;useinbandfec=1;stereo=0;sprop-stereo=0;"
                        "maxaveragebitrate=32000;usedtx=0\r\n"
                        "a=ptime:20\r\n"
                        "a=maxptime:60\r\n"
                        "a=ssrc:305441741 cname:earshot\r\n"
                        "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"
                        "c=IN IP4 0.0.0.0\r\n" TRANSPORT_ANSWER(
                            "") "a=mid:1\r\n"
                                "a=sctp-port:5000\r\n"
                                "a=max-message-size:262144\r\n");
}

static void the_answer_to_data_alone_in_the_legacy_form_is_this(void **state)
{
    (void)state;
    answer_to(SESSION "m=application 9 DTLS/SCTP 6000\r\n" TRANSPORT
                      "a=sctpmap:6000 webrtc-datachannel 65535\r\n");
    assert_string_equal(text,
                        SESSION_ANSWER "m=application 9 DTLS/SCTP 5000\r\n"
                                       "c=IN IP4 0.0.0.0\r\n" TRANSPORT_ANSWER(
                                           CANDIDATES) "a=sctpmap:5000 webrtc-datachannel 1024\r\n"
                                                       "a=max-message-size:262144\r\n");
}

static void refused_sections_keep_their_place_with_port_0(void **state)
{
    (void)state;
    answer_to(SESSION BUNDLE("v a d a2") VIDEO_MID("v") AUDIO_MID("a") DATA_MID("d")
                  AUDIO_MID("a2") "m=image 0 udptl t38\r\n");
    assert_int_equal(strict.section_count, 5);
    static const struct {
        const char *media;
        unsigned port;
        const char *mid;
    } expected[] = {
        {"video", 0, "v"},  {"audio", 9, "a"}, {"application", 9, "d"},
        {"audio", 0, "a2"}, {"image", 0, ""},
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_string_equal(strict.section[i].media, expected[i].media);
        assert_int_equal(strict.section[i].port, expected[i].port);
        assert_string_equal(strict.section[i].mid, expected[i].mid);
    }
    assert_true(has_line("a=group:BUNDLE a d"));
    assert_true(has_line("m=image 0 udptl t38"));
    assert_true(has_line("m=video 0 UDP/TLS/RTP/SAVPF 96"));
}

/* What aiortc asks of each section, whatever becomes of it. */
static void refused_sections_have_credentials_a_setup_and_rtcp_mux(void **state)
{
    (void)state;
    answer_to(SESSION BUNDLE("a v") AUDIO_MID("a") VIDEO_MID("v") "m=image 0 udptl t38\r\n");
    const char *refused = strstr(text, "m=video 0");
    assert_non_null(refused);
    assert_string_equal(refused, "m=video 0 UDP/TLS/RTP/SAVPF 96\r\n"
                                 "c=IN IP4 0.0.0.0\r\n" CREDENTIALS_ANSWER "a=mid:v\r\n"
                                 "a=inactive\r\n"
                                 "a=rtcp-mux\r\n"
                                 "m=image 0 udptl t38\r\n"
                                 "c=IN IP4 0.0.0.0\r\n" CREDENTIALS_ANSWER "a=inactive\r\n");
}

static void the_group_keeps_the_offers_order_and_its_first_has_the_candidates(void **state)
{
    (void)state;
    answer_to(SESSION BUNDLE("1 0") AUDIO_MID("0") DATA_MID("1"));
    assert_true(has_line("a=group:BUNDLE 1 0"));
    assert_int_equal(strict.section[0].candidate_count, 0);
    assert_int_equal(strict.section[1].candidate_count, 4);
}

static void a_group_of_refused_sections_alone_is_not_answered(void **state)
{
    (void)state;
    answer_to(SESSION BUNDLE("v") AUDIO "m=video 0 UDP/TLS/RTP/SAVPF 96\r\na=mid:v\r\n");
    assert_null(strstr(text, "BUNDLE"));
}

static void without_data_channels_the_data_section_is_refused(void **state)
{
    (void)state;
    parse_offer(BOTH, false);
    const struct sdp_answer answer = sample_answer(&offer);
    write_answer(&answer);
    assert_int_equal(strict.section[0].port, 9);
    assert_int_equal(strict.section[1].port, 0);
    assert_string_equal(strict.section[1].mid, "1");
    assert_true(has_line("a=group:BUNDLE 0"));
    assert_true(has_line("m=application 0 UDP/DTLS/SCTP webrtc-datachannel"));
}

static void directions_are_mirrored_and_only_a_sender_names_its_stream(void **state)
{
    (void)state;
    static const struct {
        const char *offered;
        const char *answered;
        bool is_sending;
    } table[] = {
        {SESSION AUDIO "a=sendrecv\r\n", "sendrecv", true},
        {SESSION AUDIO "a=sendonly\r\n", "recvonly", false},
        {SESSION AUDIO "a=recvonly\r\n", "sendonly", true},
        {SESSION AUDIO "a=inactive\r\n", "inactive", false},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        answer_to(table[i].offered);
        assert_string_equal(strict.section[0].direction, table[i].answered);
        assert_int_equal(has_line("a=msid:earshot audio0"), table[i].is_sending);
        assert_int_equal(has_line("a=ssrc:305441741 cname:earshot"), table[i].is_sending);
    }
}

static void protocol_words_and_payload_types_are_the_offers(void **state)
{
    (void)state;
    answer_to(SESSION "m=audio 9 UDP/TLS/RTP/SAVP 9 96\r\n" TRANSPORT MUX
                      "a=rtpmap:9 G722/8000\r\na=rtpmap:96 OPUS/16000/1\r\na=rtcp-rsize\r\n");
    assert_true(has_line("m=audio 9 UDP/TLS/RTP/SAVP 96"));
    assert_true(has_line("a=rtpmap:96 opus/48000/2"));
    assert_true(has_line("a=rtcp-rsize"));
}

#define FULL_AUDIO                                                                                 \
    SESSION                                                                                        \
    "a=extmap-allow-mixed\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111 63 110\r\n" TRANSPORT MUX OPUS        \
    "a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\na=rtpmap:110 telephone-event/48000\r\n"       \
    "a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level\r\n"                                   \
    "a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid\r\n"

static void assert_lines(const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!has_line(lines[i])) {
            fail_msg("no line %s in:\n%s", lines[i], text);
        }
    }
}

static void what_is_not_offered_is_not_answered(void **state)
{
    (void)state;
    answer_to(SESSION AUDIO);
    assert_true(has_line("m=audio 9 UDP/TLS/RTP/SAVPF 111"));
    static const char *const absent[] = {"red/", "telephone-event", "extmap", "rtcp-fb", "rsize"};
    for (size_t i = 0; i < COUNT_OF(absent); i++) {
        assert_null(strstr(text, absent[i]));
    }
}

static void what_is_offered_of_ours_is_answered_with_the_offers_numbers(void **state)
{
    (void)state;
    answer_to(FULL_AUDIO "a=rtcp-fb:111 transport-cc\r\na=rtcp-fb:111 nack\r\n"
                         "a=extmap:3 http://www.ietf.org/id/"
                         "draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n");
    static const char *const line[] = {
        "m=audio 9 UDP/TLS/RTP/SAVPF 63 111 110",
        "a=rtpmap:63 red/48000/2",
        "a=fmtp:63 111/111",
        "a=rtpmap:111 opus/48000/2",
        ("a=fmtp:111 minptime=10;useinbandfec=1;stereo=0;sprop-stereo=0;maxaveragebitrate=32000;"
         "usedtx=0"),
        "a=rtcp-fb:111 nack",
        "a=rtpmap:110 telephone-event/48000",
        "a=ptime:20",
        "a=maxptime:60",
        "a=extmap-allow-mixed",
        "a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
        "a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid",
    };
    assert_lines(line, COUNT_OF(line));
    /* The feedback is never sent, so it is never promised. */
    assert_null(strstr(text, "transport"));
}

static void red_that_was_taken_out_of_the_offer_is_not_answered(void **state)
{
    (void)state;
    parse_offer(FULL_AUDIO, true);
    offer.has_red = false;
    const struct sdp_answer answer = sample_answer(&offer);
    write_answer(&answer);
    assert_true(has_line("m=audio 9 UDP/TLS/RTP/SAVPF 111 110"));
    assert_null(strstr(text, "red/"));
    assert_null(strstr(text, ":63 "));
}

static void g711_that_is_offered_first_is_answered_with_the_events_of_its_clock(void **state)
{
    (void)state;
    answer_to(SESSION "m=audio 9 UDP/TLS/RTP/SAVPF 8 0 111 63 110 126\r\n" TRANSPORT MUX OPUS
                      "a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\n"
                      "a=rtpmap:110 telephone-event/48000\r\n"
                      "a=rtpmap:126 telephone-event/8000\r\n");
    static const char *const line[] = {
        "m=audio 9 UDP/TLS/RTP/SAVPF 8 126",
        "a=rtpmap:8 PCMA/8000",
        "a=rtpmap:126 telephone-event/8000",
        "a=ptime:20",
    };
    assert_lines(line, COUNT_OF(line));
    assert_null(strstr(text, "fmtp"));
    answer_to(SESSION "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n" TRANSPORT MUX);
    assert_true(has_line("m=audio 9 UDP/TLS/RTP/SAVPF 0"));
    assert_true(has_line("a=rtpmap:0 PCMU/8000"));
}

static void the_setup_is_the_callers(void **state)
{
    (void)state;
    parse_offer(SESSION AUDIO, true);
    struct sdp_answer answer = sample_answer(&offer);
    answer.setup_active = false;
    write_answer(&answer);
    assert_string_equal(strict.section[0].setup, "passive");
    answer_to(SESSION AUDIO_M UFRAG PWD FINGERPRINT "a=setup:active\r\n" MUX OPUS);
    assert_string_equal(strict.section[0].setup, "passive");
    answer_to(SESSION AUDIO_M UFRAG PWD FINGERPRINT "a=setup:passive\r\n" MUX OPUS);
    assert_string_equal(strict.section[0].setup, "active");
}

/* RFC 8445 s.5.1.1.3 */
static void candidates_of_one_address_and_protocol_have_one_foundation(void **state)
{
    (void)state;
    parse_offer(SESSION AUDIO, true);
    struct sdp_answer answer = sample_answer(&offer);
    assert_true(net_addr_parse("203.0.113.10:443", &answer.candidate[1].address));
    write_answer(&answer);
    assert_true(has_line("a=candidate:1 1 udp 2130706431 203.0.113.10 3478 typ host"));
    assert_true(has_line("a=candidate:1 1 udp 2130706175 203.0.113.10 443 typ host"));
    assert_true(has_line("a=candidate:3 1 tcp 1671430143 203.0.113.10 443 typ host "
                         "tcptype passive"));
}

static void a_scope_never_stands_in_a_candidate(void **state)
{
    (void)state;
    parse_offer(SESSION AUDIO, true);
    struct sdp_answer answer = sample_answer(&offer);
    assert_true(net_addr_parse("[fe80::1]:3478", &answer.candidate[0].address));
    answer.candidate[0].address.scope = 2;
    write_answer(&answer);
    assert_true(has_line("a=candidate:1 1 udp 2130706431 fe80::1 3478 typ host"));
}

static void the_largest_answer_fits_and_a_smaller_room_gives_nothing(void **state)
{
    (void)state;
    static const char full_section[] =
        "m=xxxxxxxxxxxxxxx 0 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n";
    static struct sample_text sample;
    sample.len = 0;
    sample_add(&sample, BOTH);
    sample_add_times(&sample, full_section, SDP_SECTIONS_MAX - 2);
    parse_offer(sample.text, true);
    struct sdp_answer answer = sample_answer(&offer);
    answer.origin_id = UINT64_MAX;
    answer.max_message_bytes = UINT64_MAX;
    answer.candidate_count = SDP_CANDIDATES_MAX;
    for (size_t i = 0; i < SDP_CANDIDATES_MAX; i++) {
        struct sdp_candidate *c = &answer.candidate[i];
        c->is_tcp = true;
        assert_true(net_addr_parse("[2001:db8:1111:2222:3333:4444:5555:6666]:65535", &c->address));
    }
    write_answer(&answer);
    const size_t len = strlen(text);
    for (size_t cap = 0; cap <= len; cap++) {
        assert_int_equal(sdp_answer_write(&offer, &answer, text, cap), cap == len ? len : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_to_audio_and_data_is_this),
        cmocka_unit_test(the_answer_to_data_alone_in_the_legacy_form_is_this),
        cmocka_unit_test(refused_sections_keep_their_place_with_port_0),
        cmocka_unit_test(refused_sections_have_credentials_a_setup_and_rtcp_mux),
        cmocka_unit_test(the_group_keeps_the_offers_order_and_its_first_has_the_candidates),
        cmocka_unit_test(a_group_of_refused_sections_alone_is_not_answered),
        cmocka_unit_test(without_data_channels_the_data_section_is_refused),
        cmocka_unit_test(directions_are_mirrored_and_only_a_sender_names_its_stream),
        cmocka_unit_test(protocol_words_and_payload_types_are_the_offers),
        cmocka_unit_test(what_is_not_offered_is_not_answered),
        cmocka_unit_test(what_is_offered_of_ours_is_answered_with_the_offers_numbers),
        cmocka_unit_test(red_that_was_taken_out_of_the_offer_is_not_answered),
        cmocka_unit_test(g711_that_is_offered_first_is_answered_with_the_events_of_its_clock),
        cmocka_unit_test(the_setup_is_the_callers),
        cmocka_unit_test(candidates_of_one_address_and_protocol_have_one_foundation),
        cmocka_unit_test(a_scope_never_stands_in_a_candidate),
        cmocka_unit_test(the_largest_answer_fits_and_a_smaller_room_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
