/* sdp_fragment_test.c - what a PATCH of WHIP may say about ICE, and what we say in return */
#include "tests/testing.h"

#include "services/transceiver/core/sdp/sdp_fragment.h"

#include <stdlib.h>

#define UFRAG   "a=ice-ufrag:EsAw\r\n"
#define PWD     "a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\n"
#define SECTION "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n"
#define CANDIDATE                                                                                  \
    "a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0 ufrag EsAw "    \
    "network-id 1\r\n"

static struct sdp_fragment fragment;

static const char *parse(const char *text)
{
    return sdp_fragment_parse(bytes_view_of_text(text), &fragment);
}

/* As RFC 9725 s.4.3.2 has it. */
static void candidates_are_taken_with_the_credentials_beside_them(void **state)
{
    (void)state;
    assert_null(parse("a=group:BUNDLE 0 1\r\n" SECTION UFRAG PWD CANDIDATE
                      "a=candidate:1387637174 1 tcp 1518280447 192.0.2.1 9 typ host tcptype "
                      "active\r\na=end-of-candidates\r\nm=application 9 x y\r\na=mid:1\r\n"));
    assert_string_equal(fragment.ice_ufrag, "EsAw");
    assert_string_equal(fragment.ice_pwd, "P2uYro0UCOQ4zxjKXaWCBui1");
    assert_string_equal(fragment.section.media_word, "audio");
    assert_string_equal(fragment.section.protocol, "UDP/TLS/RTP/SAVPF");
    assert_string_equal(fragment.section.format, "111");
    assert_string_equal(fragment.section.mid, "0");
}

static void credentials_stand_in_the_first_section_or_at_the_session_level(void **state)
{
    (void)state;
    static const char *const good[] = {
        UFRAG PWD,
        UFRAG PWD SECTION,
        SECTION UFRAG PWD,
        UFRAG SECTION PWD,
        UFRAG PWD "\n",
        "a=ice-ufrag:EsAw\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1",
        /* The first section's count before those of the session and of others. */
        "a=ice-ufrag:other\r\na=ice-pwd:0123456789012345678901\r\n" SECTION UFRAG PWD,
        SECTION UFRAG PWD "m=video 9 a b\r\na=ice-ufrag:other\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_null(parse(good[i]));
        assert_string_equal(fragment.ice_ufrag, "EsAw");
        assert_string_equal(fragment.ice_pwd, "P2uYro0UCOQ4zxjKXaWCBui1");
    }
}

static void a_fragment_may_say_nothing(void **state)
{
    (void)state;
    static const char *const nothing[] = {"", "\r\n", SECTION, CANDIDATE, "a=unknown:x\r\n"};
    for (size_t i = 0; i < COUNT_OF(nothing); i++) {
        assert_null(parse(nothing[i]));
        assert_string_equal(fragment.ice_ufrag, "");
        assert_string_equal(fragment.ice_pwd, "");
    }
}

static void what_is_wrong_is_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *word;
    } bad[] = {
        {UFRAG, "together"},
        {PWD, "together"},
        {SECTION PWD, "together"},
        {UFRAG UFRAG PWD, "two a=ice-ufrag"},
        {PWD UFRAG PWD, "two a=ice-pwd"},
        {"a=ice-ufrag:abc\r\n" PWD, "4 to 256"},
        {"a=ice-ufrag:ab:c\r\n" PWD, "4 to 256"},
        {UFRAG "a=ice-pwd:012345678901234567890\r\n", "22 to 256"},
        {"a=ice-lite\r\n" UFRAG PWD, "ice-lite"},
        {SECTION "a=ice-lite\r\n" UFRAG PWD, "ice-lite"},
        {"m=audio 9 UDP/TLS/RTP/SAVPF\r\n", "m="},
        {"m=\r\n", "m="},
        {"m=audio;x 9 a b\r\n", "m="},
        {"m=a-media-of-16-ch 9 a b\r\n", "m="},
        {SECTION "a=mid:1\r\n", "two a=mid"},
        {UFRAG "a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\rx\r\n", "NUL"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const char *problem = parse(bad[i].text);
        assert_non_null(problem);
        assert_non_null(strstr(problem, bad[i].word));
    }
    assert_non_null(sdp_fragment_parse(bytes_view_of("a=x:\0\r\n", 7), &fragment));
}

static const char *parse_repeated(const char *line, size_t count)
{
    const size_t len = strlen(line);
    char *text = malloc(count * len + 1);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + i * len, line, len + 1);
    }
    const char *problem = sdp_fragment_parse(bytes_view_of(text, count * len), &fragment);
    free(text);
    return problem;
}

static void each_bound_has_two_sides(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        size_t count_max;
    } bound[] = {
        {"a=candidate:1\r\n", 64},
        {"m=audio 9 a b\r\n", SDP_SECTIONS_MAX},
        {"a=x\r\n", 1000},
        {"a=fifteen-bytes\n", SDP_FRAGMENT_BYTES_MAX / 16},
    };
    for (size_t i = 0; i < COUNT_OF(bound); i++) {
        if (i != 3) { /* 1024 lines are too many, whatever their bytes */
            assert_null(parse_repeated(bound[i].line, bound[i].count_max));
        }
        assert_non_null(parse_repeated(bound[i].line, bound[i].count_max + 1));
    }
    assert_null(parse_repeated("a=this-line-has-thirty-two-byte\n", SDP_FRAGMENT_BYTES_MAX / 32));
    assert_non_null(
        parse_repeated("a=this-line-has-thirty-two-byte\n", SDP_FRAGMENT_BYTES_MAX / 32 + 1));
}

static void a_fragment_can_be_cut_at_every_byte(void **state)
{
    (void)state;
    static const char text[] = SECTION UFRAG PWD CANDIDATE;
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        char *copy = malloc(cut + 1); /* the sanitizer sees a read past the cut */
        memcpy(copy, text, cut);
        (void)sdp_fragment_parse(bytes_view_of(copy, cut), &fragment);
        free(copy);
    }
}

static struct sdp_fragment_reply our_side(void)
{
    struct sdp_fragment_reply ours = {.ice_ufrag = "H5NdZDc2lJmCIcFu0G39oFA",
                                      .ice_pwd = "m8Jt0vQ4yL2cX6nB1rK5sD9f",
                                      .candidate_count = 2};
    assert_true(net_addr_parse("203.0.113.10:3478", &ours.candidate[0].address));
    assert_true(net_addr_parse("203.0.113.10:443", &ours.candidate[1].address));
    ours.candidate[1].is_tcp = true;
    return ours;
}

static void our_side_is_told_for_the_section_that_was_asked_about(void **state)
{
    (void)state;
    static const char wanted[] =
        "a=ice-lite\r\n" SECTION "a=ice-ufrag:H5NdZDc2lJmCIcFu0G39oFA\r\n"
        "a=ice-pwd:m8Jt0vQ4yL2cX6nB1rK5sD9f\r\n"
        "a=candidate:1 1 udp 2130706431 203.0.113.10 3478 typ host\r\n"
        "a=candidate:2 1 tcp 1671430143 203.0.113.10 443 typ host tcptype passive\r\n"
        "a=end-of-candidates\r\n";
    const struct sdp_fragment_reply ours = our_side();
    char text[SDP_FRAGMENT_BYTES_MAX];
    assert_null(parse(SECTION UFRAG PWD));
    const size_t len = sdp_fragment_write(&fragment, &ours, text, sizeof(text));
    assert_int_equal(len, strlen(wanted));
    assert_memory_equal(text, wanted, len);
    assert_int_equal(sdp_fragment_write(&fragment, &ours, text, len), len);
    assert_int_equal(sdp_fragment_write(&fragment, &ours, text, len - 1), 0);
}

/* Who names no section gets none; and what we write can be read back. */
static void a_reply_can_do_without_a_section(void **state)
{
    (void)state;
    const struct sdp_fragment_reply ours = our_side();
    char text[SDP_FRAGMENT_BYTES_MAX + 1];
    assert_null(parse(UFRAG PWD));
    const size_t len = sdp_fragment_write(&fragment, &ours, text, SDP_FRAGMENT_BYTES_MAX);
    text[len] = '\0';
    assert_null(strstr(text, "m="));
    assert_null(parse(strchr(text, '\n') + 1)); /* behind a=ice-lite */
    assert_string_equal(fragment.ice_ufrag, ours.ice_ufrag);
    assert_string_equal(fragment.ice_pwd, ours.ice_pwd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_are_taken_with_the_credentials_beside_them),
        cmocka_unit_test(credentials_stand_in_the_first_section_or_at_the_session_level),
        cmocka_unit_test(a_fragment_may_say_nothing),
        cmocka_unit_test(what_is_wrong_is_refused_in_words),
        cmocka_unit_test(each_bound_has_two_sides),
        cmocka_unit_test(a_fragment_can_be_cut_at_every_byte),
        cmocka_unit_test(our_side_is_told_for_the_section_that_was_asked_about),
        cmocka_unit_test(a_reply_can_do_without_a_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
