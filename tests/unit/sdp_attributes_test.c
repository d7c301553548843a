/* sdp_attributes_test.c - what each a= line says, and the one line that refuses an offer */
#include "tests/testing.h"

#include "services/transceiver/core/sdp/sdp_attributes.h"

#define TEXT_CAP 320

static const char *take(struct sdp_attributes *a, const char *name, const char *value)
{
    const struct sdp_line line = {'a', bytes_view_of_text(name), bytes_view_of_text(value)};
    return sdp_attributes_take(a, &line);
}

static struct sdp_attributes fresh(void)
{
    struct sdp_attributes a;
    memset(&a, 0xff, sizeof(a));
    sdp_attributes_init(&a);
    return a;
}

/* n times the same character. */
static const char *repeat(char c, size_t n, char text[TEXT_CAP])
{
    assert_true(n < TEXT_CAP);
    memset(text, c, n);
    text[n] = '\0';
    return text;
}

static void without_lines_the_defaults_of_the_rfcs_hold(void **state)
{
    (void)state;
    const struct sdp_attributes a = fresh();
    assert_int_equal(a.sctp_port, 5000);
    assert_int_equal(a.sctpmap_port, 0);
    assert_int_equal(a.max_message_bytes, 65536);
    assert_int_equal(a.mid.len + a.ice_ufrag.len + a.ice_pwd.len, 0);
    assert_false(a.has_setup || a.has_direction || a.has_ssrc || a.has_bundle);
    for (size_t i = 0; i <= SDP_PAYLOAD_TYPE_MAX; i++) {
        assert_int_equal(a.codec[i], i == 0   ? SDP_CODEC_PCMU
                                     : i == 8 ? SDP_CODEC_PCMA
                                              : SDP_CODEC_OTHER);
        assert_false(a.has_nack[i]);
        assert_int_equal(a.red_block[i], SDP_NO_PAYLOAD_TYPE);
    }
}

/* Also the spelling counts, and a name is not the beginning of another. */
static void a_flag_is_set_by_its_own_name_alone(void **state)
{
    (void)state;
    static const char *const name[] = {"bundle-only",        "ice-lite",  "rtcp-mux",
                                       "rtcp-rsize",         "Rtcp-mux",  "rtcp-mux-only",
                                       "extmap-allow-mixed", "rtcp-rsiz", "unknown"};
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        struct sdp_attributes a = fresh();
        assert_null(take(&a, name[i], ""));
        assert_int_equal(a.is_bundle_only, strcmp(name[i], "bundle-only") == 0);
        assert_int_equal(a.is_ice_lite, strcmp(name[i], "ice-lite") == 0);
        assert_int_equal(a.has_rtcp_mux, strcmp(name[i], "rtcp-mux") == 0);
        assert_int_equal(a.has_rtcp_rsize, strcmp(name[i], "rtcp-rsize") == 0);
        assert_int_equal(a.has_extmap_allow_mixed, strcmp(name[i], "extmap-allow-mixed") == 0);
    }
}

static void a_direction_and_a_setup_are_one_of_the_known_words(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *setup;
        int direction; /* -1: not a direction */
        int role;      /* -1: refused */
    } word_case[] = {
        {"sendrecv", "actpass", SDP_SENDRECV, SDP_SETUP_ACTPASS},
        {"sendonly", "ACTIVE", SDP_SENDONLY, SDP_SETUP_ACTIVE},
        {"recvonly", "passive", SDP_RECVONLY, SDP_SETUP_PASSIVE},
        {"inactive", "holdconn", SDP_INACTIVE, -1},
        {"sendreceive", "", -1, -1},
        {"SENDRECV", "active ", -1, -1},
    };
    for (size_t i = 0; i < COUNT_OF(word_case); i++) {
        struct sdp_attributes a = fresh();
        assert_null(take(&a, word_case[i].name, ""));
        assert_int_equal(a.has_direction, word_case[i].direction >= 0);
        assert_true(!a.has_direction || (int)a.direction == word_case[i].direction);
        const char *refusal = take(&a, "setup", word_case[i].setup);
        assert_int_equal(refusal == NULL, word_case[i].role >= 0);
        assert_int_equal(a.has_setup, word_case[i].role >= 0);
        assert_true(!a.has_setup || (int)a.setup == word_case[i].role);
    }
}

static void a_name_of_ice_or_a_mid_has_its_lengths_and_stands_once(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t chars_min;
        size_t chars_max;
        const char *bad;
        size_t offset;
    } name_case[] = {
        {"mid", 1, 32, "a b", offsetof(struct sdp_attributes, mid)},
        {"ice-ufrag", 4, 256, "abc-", offsetof(struct sdp_attributes, ice_ufrag)},
        {"ice-pwd", 22, 256, "0123456789012345678901:", offsetof(struct sdp_attributes, ice_pwd)},
    };
    for (size_t i = 0; i < COUNT_OF(name_case); i++) {
        for (size_t n = 0; n <= name_case[i].chars_max + 1; n++) {
            char text[TEXT_CAP];
            struct sdp_attributes a = fresh();
            const bool is_good = n >= name_case[i].chars_min && n <= name_case[i].chars_max;
            const char *refusal = take(&a, name_case[i].name, repeat('x', n, text));
            const struct bytes_view *taken =
                (const struct bytes_view *)((const char *)&a + name_case[i].offset);
            if ((refusal == NULL) != is_good || taken->len != (is_good ? n : 0)) {
                fail_msg("a=%s of %zu characters", name_case[i].name, n);
            }
            assert_true(!is_good || take(&a, name_case[i].name, text) != NULL);
        }
        struct sdp_attributes a = fresh();
        assert_non_null(take(&a, name_case[i].name, name_case[i].bad));
    }
}

static void one_bundle_group_is_noted_and_a_second_refused(void **state)
{
    (void)state;
    struct sdp_attributes a = fresh();
    assert_null(take(&a, "group", "LS 0 1"));
    assert_false(a.has_bundle);
    assert_null(take(&a, "group", "BUNDLE 0 1"));
    assert_true(a.has_bundle);
    assert_true(bytes_equal(sdp_parser_take_word(&a.bundle), bytes_view_of_text("0")));
    assert_true(bytes_equal(sdp_parser_take_word(&a.bundle), bytes_view_of_text("1")));
    assert_null(take(&a, "group", "LS 0 1"));
    assert_non_null(take(&a, "group", "BUNDLE 2"));
}

static void sped_is_seen_among_the_options_of_ice(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        bool is_sped;
    } option_case[] = {
        {"trickle", false},
        {"sped", true},
        {"trickle sped", true},
        {"trickle,sped", true},
        {"googspedv1 ice2", true},
        {"goog-sped-v1", true},
        {"spedx", false},
        {"SPED", false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT_OF(option_case); i++) {
        struct sdp_attributes a = fresh();
        assert_null(take(&a, "ice-options", option_case[i].options));
        if (a.offers_sped != option_case[i].is_sped) {
            fail_msg("\"%s\"", option_case[i].options);
        }
    }
}

/* "name 00:01:02...", of len bytes, in lower case. */
static void make_fingerprint(char text[TEXT_CAP], const char *name, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    size_t at = strlen(name);
    memcpy(text, name, at);
    for (size_t i = 0; i < len; i++) {
        text[at++] = i == 0 ? ' ' : ':';
        text[at++] = hex[i >> 4];
        text[at++] = hex[i & 15];
    }
    text[at] = '\0';
}

static void a_fingerprint_counts_with_a_strong_hash_at_its_exact_length(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t len;
        enum sdp_hash hash;
        bool counts;
    } hash_case[] = {
        {"sha-256", 32, SDP_SHA256, true},  {"SHA-256", 32, SDP_SHA256, true},
        {"sha-256", 31, SDP_SHA256, false}, {"sha-256", 33, SDP_SHA256, false},
        {"sha-384", 48, SDP_SHA384, true},  {"sha-384", 32, SDP_SHA384, false},
        {"sha-512", 64, SDP_SHA512, true},  {"sha-512", 63, SDP_SHA512, false},
        {"sha-512", 65, SDP_SHA512, false}, {"sha-1", 20, SDP_SHA256, false},
        {"md5", 16, SDP_SHA256, false},     {"sha-256", 0, SDP_SHA256, false},
    };
    for (size_t i = 0; i < COUNT_OF(hash_case); i++) {
        char text[TEXT_CAP];
        struct sdp_attributes a = fresh();
        make_fingerprint(text, hash_case[i].name, hash_case[i].len);
        assert_null(take(&a, "fingerprint", text));
        if (a.fingerprint_count != (hash_case[i].counts ? 1U : 0U)) {
            fail_msg("%s of %zu bytes", hash_case[i].name, hash_case[i].len);
        }
        for (size_t k = 0; k < hash_case[i].len && hash_case[i].counts; k++) {
            assert_int_equal(a.fingerprint[0].digest[k], k);
        }
        assert_true(!hash_case[i].counts || a.fingerprint[0].hash == hash_case[i].hash);
    }
}

static void a_digest_with_one_wrong_character_does_not_count(void **state)
{
    (void)state;
    char good[TEXT_CAP];
    make_fingerprint(good, "sha-256", 32);
    for (size_t i = strlen("sha-256 "); good[i] != '\0'; i++) {
        char text[TEXT_CAP];
        struct sdp_attributes a = fresh();
        memcpy(text, good, sizeof(text));
        text[i] = good[i] == ':' ? '0' : 'g';
        assert_null(take(&a, "fingerprint", text));
        assert_int_equal(a.fingerprint_count, 0);
    }
}

static void four_fingerprints_are_kept_and_the_fifth_ignored(void **state)
{
    (void)state;
    char text[TEXT_CAP];
    struct sdp_attributes a = fresh();
    make_fingerprint(text, "sha-256", 32);
    for (size_t i = 1; i <= SDP_FINGERPRINTS_MAX + 1; i++) {
        assert_null(take(&a, "fingerprint", text));
        assert_int_equal(a.fingerprint_count, i < SDP_FINGERPRINTS_MAX ? i : SDP_FINGERPRINTS_MAX);
    }
}

static void sixty_four_entries_are_taken_and_the_next_refuses_the_offer(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
    } entry_case[] = {
        {"candidate", "1 1 udp 1 192.0.2.1 9 typ host"},
        {"extmap", "3 urn:x"},
        {"rtpmap", "0 PCMU/8000"},
    };
    for (size_t i = 0; i < COUNT_OF(entry_case); i++) {
        struct sdp_attributes a = fresh();
        for (size_t n = 0; n < SDP_ENTRIES_MAX; n++) {
            assert_null(take(&a, entry_case[i].name, entry_case[i].value));
        }
        assert_non_null(take(&a, entry_case[i].name, entry_case[i].value));
    }
}

#define LEVEL "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
#define MID   "urn:ietf:params:rtp-hdrext:sdes:mid"

static void an_extension_is_used_when_it_is_for_both_ways_and_fits_a_one_byte_header(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        uint8_t level;
        uint8_t mid;
    } extmap_case[] = {
        {"1 " LEVEL, 1, 0},           {"14 " MID, 0, 14},          {"0 " LEVEL, 0, 0},
        {"15 " LEVEL, 0, 0},          {"1/sendrecv " LEVEL, 1, 0}, {"1/recvonly " LEVEL, 0, 0},
        {"1/sendonly " MID, 0, 0},    {"1/inactive " MID, 0, 0},   {"x " LEVEL, 0, 0},
        {"1 " LEVEL " vad=on", 1, 0}, {"1 " LEVEL "x", 0, 0},      {"1", 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(extmap_case); i++) {
        struct sdp_attributes a = fresh();
        assert_null(take(&a, "extmap", extmap_case[i].value));
        if (a.extmap_audio_level != extmap_case[i].level || a.extmap_mid != extmap_case[i].mid) {
            fail_msg("a=extmap:%s", extmap_case[i].value);
        }
    }
}

static void an_id_that_one_extension_has_is_not_given_to_another(void **state)
{
    (void)state;
    struct sdp_attributes a = fresh();
    assert_null(take(&a, "extmap", "1 " LEVEL));
    assert_null(take(&a, "extmap", "1 " MID));
    assert_int_equal(a.extmap_audio_level, 1);
    assert_int_equal(a.extmap_mid, 0);
    assert_null(take(&a, "extmap", "2 " MID));
    assert_int_equal(a.extmap_mid, 2);
}

static void a_codec_is_known_by_name_rate_and_channels(void **state)
{
    (void)state;
    static const struct {
        const char *encoding;
        enum sdp_codec codec;
    } codec_case[] = {
        {"opus/48000/2", SDP_CODEC_OPUS},
        {"OPUS/48000/2", SDP_CODEC_OPUS},
        {"opus/16000/1", SDP_CODEC_OPUS},
        {"opus/8000", SDP_CODEC_OPUS},
        {"opus/12000/2", SDP_CODEC_OPUS},
        {"opus/24000/2", SDP_CODEC_OPUS},
        {"opus/44100/2", SDP_CODEC_OTHER},
        {"opus/48000/3", SDP_CODEC_OTHER},
        {"opus/48000/0", SDP_CODEC_OTHER},
        {"opus/48000/x", SDP_CODEC_OTHER},
        {"opus", SDP_CODEC_OTHER},
        {"opusx/48000/2", SDP_CODEC_OTHER},
        {"red/48000/2", SDP_CODEC_RED},
        {"red/48000", SDP_CODEC_OTHER},
        {"red/8000/2", SDP_CODEC_OTHER},
        {"telephone-event/48000", SDP_CODEC_TELEPHONE_EVENT_48KHZ},
        {"Telephone-Event/8000/1", SDP_CODEC_TELEPHONE_EVENT_8KHZ},
        {"telephone-event/16000", SDP_CODEC_OTHER},
        {"PCMU/8000", SDP_CODEC_PCMU},
        {"pcma/8000/1", SDP_CODEC_PCMA},
        {"PCMU/8000/2", SDP_CODEC_OTHER},
        {"PCMA/16000", SDP_CODEC_OTHER},
        {"G722/8000", SDP_CODEC_OTHER},
        {"", SDP_CODEC_OTHER},
    };
    for (size_t i = 0; i < COUNT_OF(codec_case); i++) {
        char text[TEXT_CAP] = "111 ";
        struct sdp_attributes a = fresh();
        memcpy(text + 4, codec_case[i].encoding, strlen(codec_case[i].encoding));
        assert_null(take(&a, "rtpmap", text));
        if (a.codec[111] != codec_case[i].codec) {
            fail_msg("%s: %d", codec_case[i].encoding, a.codec[111]);
        }
    }
}

static void red_is_noted_when_all_its_blocks_are_of_one_payload_type(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        uint8_t block;
    } fmtp_case[] = {
        {"63 111/111", 111},
        {"63 111/111/111", 111},
        {"63 111/112", SDP_NO_PAYLOAD_TYPE},
        {"63 111/111/112", SDP_NO_PAYLOAD_TYPE},
        {"63 111", SDP_NO_PAYLOAD_TYPE},
        {"63 127/127", 127},
        {"63 128/128", SDP_NO_PAYLOAD_TYPE},
        {"63 minptime=10;useinbandfec=1", SDP_NO_PAYLOAD_TYPE},
        {"128 111/111", SDP_NO_PAYLOAD_TYPE},
        {"63", SDP_NO_PAYLOAD_TYPE},
    };
    for (size_t i = 0; i < COUNT_OF(fmtp_case); i++) {
        struct sdp_attributes a = fresh();
        assert_null(take(&a, "fmtp", fmtp_case[i].value));
        if (a.red_block[63] != fmtp_case[i].block) {
            fail_msg("a=fmtp:%s: %u", fmtp_case[i].value, a.red_block[63]);
        }
    }
}

static void a_number_out_of_its_range_refuses_the_offer(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        bool is_good;
    } number_case[] = {
        {"rtpmap", "127 PCMU/8000", true},
        {"rtpmap", "128 PCMU/8000", false},
        {"rtpmap", "-1 PCMU/8000", false},
        {"ssrc", "4294967295 cname:x", true},
        {"ssrc", "4294967296 cname:x", false},
        {"ssrc", "0", true},
        {"ssrc", "", false},
        {"sctp-port", "1", true},
        {"sctp-port", "65535", true},
        {"sctp-port", "0", false},
        {"sctp-port", "65536", false},
        {"sctpmap", "65535 webrtc-datachannel 1024", true},
        {"sctpmap", "65536 webrtc-datachannel 1024", false},
        {"sctpmap", "0 webrtc-datachannel", false},
        {"max-message-size", "0", true},
        {"max-message-size", "18446744073709551615", true},
        {"max-message-size", "1k", false},
        {"max-message-size", "", false},
    };
    for (size_t i = 0; i < COUNT_OF(number_case); i++) {
        struct sdp_attributes a = fresh();
        if ((take(&a, number_case[i].name, number_case[i].value) == NULL) !=
            number_case[i].is_good) {
            fail_msg("a=%s:%s", number_case[i].name, number_case[i].value);
        }
    }
}

static void numbers_come_out_as_they_stand_and_the_first_ssrc_counts(void **state)
{
    (void)state;
    struct sdp_attributes a = fresh();
    assert_null(take(&a, "ssrc", "4294967295 cname:x"));
    assert_null(take(&a, "ssrc", "7 cname:x"));
    assert_true(a.has_ssrc);
    assert_true(a.ssrc == UINT32_MAX);
    assert_null(take(&a, "sctp-port", "65535"));
    assert_int_equal(a.sctp_port, 65535);
    assert_null(take(&a, "sctpmap", "5001 other 1"));
    assert_int_equal(a.sctpmap_port, 0);
    assert_null(take(&a, "sctpmap", "5001 WebRTC-DataChannel 1024"));
    assert_int_equal(a.sctpmap_port, 5001);
    assert_null(take(&a, "max-message-size", "262144"));
    assert_int_equal(a.max_message_bytes, 262144);
}

/* RFC 4585 s.4.2 */
static void a_plain_nack_is_of_its_payload_type_and_a_star_of_all(void **state)
{
    (void)state;
    struct sdp_attributes a = fresh();
    assert_null(take(&a, "rtcp-fb", "127 nack"));
    assert_true(a.has_nack[127]);
    assert_false(a.has_nack[126]);
    assert_null(take(&a, "rtcp-fb", "* nack rpsi"));
    assert_false(a.has_nack[0]);
    assert_null(take(&a, "rtcp-fb", "* nack"));
    for (size_t i = 0; i <= SDP_PAYLOAD_TYPE_MAX; i++) {
        assert_true(a.has_nack[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_lines_the_defaults_of_the_rfcs_hold),
        cmocka_unit_test(a_flag_is_set_by_its_own_name_alone),
        cmocka_unit_test(a_direction_and_a_setup_are_one_of_the_known_words),
        cmocka_unit_test(a_name_of_ice_or_a_mid_has_its_lengths_and_stands_once),
        cmocka_unit_test(one_bundle_group_is_noted_and_a_second_refused),
        cmocka_unit_test(sped_is_seen_among_the_options_of_ice),
        cmocka_unit_test(a_fingerprint_counts_with_a_strong_hash_at_its_exact_length),
        cmocka_unit_test(a_digest_with_one_wrong_character_does_not_count),
        cmocka_unit_test(four_fingerprints_are_kept_and_the_fifth_ignored),
        cmocka_unit_test(sixty_four_entries_are_taken_and_the_next_refuses_the_offer),
        cmocka_unit_test(an_extension_is_used_when_it_is_for_both_ways_and_fits_a_one_byte_header),
        cmocka_unit_test(an_id_that_one_extension_has_is_not_given_to_another),
        cmocka_unit_test(a_plain_nack_is_of_its_payload_type_and_a_star_of_all),
        cmocka_unit_test(a_codec_is_known_by_name_rate_and_channels),
        cmocka_unit_test(red_is_noted_when_all_its_blocks_are_of_one_payload_type),
        cmocka_unit_test(a_number_out_of_its_range_refuses_the_offer),
        cmocka_unit_test(numbers_come_out_as_they_stand_and_the_first_ssrc_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
