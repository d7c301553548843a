/* offer_corpus_test.c - the verdict of every offer in tests/corpus, and what our answer keeps of it
 */
#include "tests/testing.h"

#include "tests/sdp_samples.h"
#include "tests/strict_sdp.h"

#define FILE_BYTES_MAX (512 * 1024)
#define OFFERS_MAX     128

struct corpus_offer {
    char name[96];
    bool is_accepted;
    bool has_no_common_codec; /* of a refusal: else it is a bad offer */
    char *text;
    size_t len;
    size_t section_count;
    char media[SDP_SECTIONS_MAX][16];
    char mid[SDP_SECTIONS_MAX][64];
    bool has_live_audio;
};

static struct corpus_offer corpus[OFFERS_MAX];
static size_t corpus_count;

static char *read_file(const char *path, size_t *out_len)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("cannot open %s", path);
    }
    char *text = malloc(FILE_BYTES_MAX);
    assert_non_null(text);
    *out_len = fread(text, 1, FILE_BYTES_MAX, file);
    (void)fclose(file);
    return text;
}

/* A reading of the m-lines and mids that shares nothing with the sdp room. */
static void scan_sections(struct corpus_offer *o)
{
    for (const char *at = o->text; at != NULL && at < o->text + o->len;) {
        const char *end = memchr(at, '\n', (size_t)(o->text + o->len - at));
        const size_t i = o->section_count;
        unsigned port = 0;
        if (i < SDP_SECTIONS_MAX && sscanf(at, "m=%15[a-z] %u", o->media[i], &port) == 2) {
            o->section_count++;
            o->has_live_audio |= strcmp(o->media[i], "audio") == 0 && port != 0;
        } else if (i > 0 && strncmp(at, "a=mid:", 6) == 0) {
            (void)sscanf(at + 6, "%63[^\r\n]", o->mid[i - 1]);
        }
        at = end == NULL ? NULL : end + 1;
    }
}

static void read_offer(const char *folder, const char *line)
{
    assert_in_range(corpus_count, 0, OFFERS_MAX - 1);
    struct corpus_offer *o = &corpus[corpus_count++];
    char verdict[8];
    char why[32];
    assert_int_equal(sscanf(line, "%95s\t%7s\t%31[^\n\t:]", o->name, verdict, why), 3);
    o->is_accepted = strcmp(verdict, "accept") == 0;
    assert_true(o->is_accepted || strcmp(verdict, "reject") == 0);
    o->has_no_common_codec = strcmp(why, "no_common_codec") == 0;
    assert_true(o->is_accepted || o->has_no_common_codec || strcmp(why, "bad_offer") == 0);
    char path[512];
    (void)snprintf(path, sizeof(path), TEST_DATA "/corpus/%s/%s", folder, o->name);
    o->text = read_file(path, &o->len);
    o->text[o->len] = '\0';
    scan_sections(o);
}

static void read_folder(const char *folder)
{
    char path[512];
    (void)snprintf(path, sizeof(path), TEST_DATA "/corpus/%s/expected.tsv", folder);
    size_t len = 0;
    char *table = read_file(path, &len);
    table[len] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(table, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] != '#') {
            read_offer(folder, line);
        }
    }
    free(table);
}

static int read_corpus(void **state)
{
    (void)state;
    read_folder("offers");
    read_folder("offers-handmade");
    return 0;
}

static int free_corpus(void **state)
{
    (void)state;
    for (size_t i = 0; i < corpus_count; i++) {
        free(corpus[i].text);
    }
    return 0;
}

static enum sdp_offer_result expected_result(const struct corpus_offer *o, bool accept_data)
{
    if (o->has_no_common_codec) {
        return SDP_OFFER_NO_COMMON_CODEC;
    }
    return o->is_accepted && (accept_data || o->has_live_audio) ? SDP_OFFER_OK : SDP_OFFER_BAD;
}

/* NULL, or what is wrong with the answer to that offer. */
static const char *problem_of_answer(const struct sdp_offer *offer, struct strict_sdp *strict)
{
    static char text[SDP_ANSWER_BYTES_MAX];
    const struct sdp_answer answer = sample_answer(offer);
    const size_t len = sdp_answer_write(offer, &answer, text, sizeof(text));
    return len == 0 ? "it does not fit" : strict_sdp_read(text, len, strict);
}

static void check_answer(const struct corpus_offer *o, const struct sdp_offer *offer,
                         bool accept_data)
{
    static struct strict_sdp answer;
    const char *problem = problem_of_answer(offer, &answer);
    if (problem != NULL) {
        fail_msg("the answer to %s: %s", o->name, problem);
    }
    size_t used_audio = 0;
    size_t used_data = 0;
    assert_int_equal(answer.section_count, o->section_count);
    for (size_t i = 0; i < o->section_count; i++) {
        const struct strict_section *s = &answer.section[i];
        assert_string_equal(s->media, o->media[i]);
        assert_string_equal(s->mid, o->mid[i]);
        const bool is_used = s->port != 0;
        const bool is_bundled = strict_is_bundled(&answer, s->mid);
        assert_int_equal(is_bundled, is_used && answer.bundle_count > 0);
        used_audio += is_used && strcmp(s->media, "audio") == 0;
        used_data += is_used && strcmp(s->media, "application") == 0;
        assert_false(is_used && strcmp(s->media, "video") == 0);
    }
    assert_int_equal(used_audio, o->has_live_audio);
    assert_true(accept_data || used_data == 0);
    assert_int_equal(used_data, offer->has_data);
    assert_int_equal(answer.bundle_count > 0, offer->bundle_count > 0);
}

static void check_verdicts(bool accept_data)
{
    for (size_t i = 0; i < corpus_count; i++) {
        const struct corpus_offer *o = &corpus[i];
        struct sdp_offer offer;
        char reason[SDP_REASON_CAP];
        const enum sdp_offer_result result = sdp_offer_parse(
            bytes_view_of(o->text, o->len), accept_data, &offer, reason, sizeof(reason));
        if (result != expected_result(o, accept_data)) {
            fail_msg("%s: result %d %s", o->name, result, reason);
        }
        if (result == SDP_OFFER_OK) {
            check_answer(o, &offer, accept_data);
        }
    }
}

static void every_offer_gets_its_verdict_and_a_fitting_answer(void **state)
{
    (void)state;
    assert_int_equal(corpus_count, 92);
    check_verdicts(true);
}

static void without_data_channels_every_offer_with_audio_still_does(void **state)
{
    (void)state;
    check_verdicts(false);
}

/* In a block of its own length, so that a sanitizer sees a step beyond it. */
static void check_cut(const struct corpus_offer *o, size_t len)
{
    char *cut = malloc(len + 1);
    assert_non_null(cut);
    memcpy(cut + 1, o->text, len);
    struct sdp_offer offer;
    char reason[SDP_REASON_CAP];
    const enum sdp_offer_result result =
        sdp_offer_parse(bytes_view_of(cut + 1, len), true, &offer, reason, sizeof(reason));
    static struct strict_sdp strict;
    const char *problem = result == SDP_OFFER_OK ? problem_of_answer(&offer, &strict) : NULL;
    if (problem != NULL) {
        fail_msg("the answer to %s cut at %zu: %s", o->name, len, problem);
    }
    free(cut);
}

static void an_offer_cut_at_any_byte_is_refused_or_answered(void **state)
{
    (void)state;
    for (size_t i = 0; i < corpus_count; i++) {
        for (size_t len = 0; len < corpus[i].len && len < 8192; len++) {
            check_cut(&corpus[i], len);
        }
    }
}

static void the_facts_of_some_offers(void **state)
{
    (void)state;
    enum { NO = SDP_NO_PAYLOAD_TYPE };
    static const struct {
        const char *name;
        const char *ufrag;
        enum voice_codec codec;
        uint8_t payload_type;
        uint8_t red;
        uint8_t event;
        bool has_nack;
        uint64_t max_message_bytes;
        bool offers_sped;
    } table[] = {
        {"chromium-156-audio-dc.sdp", "Yaia", VOICE_CODEC_OPUS, 111, 63, 110, false, 262144, false},
        {"chromium-156-sped.sdp", NULL, VOICE_CODEC_OPUS, 111, 63, 110, false, 262144, true},
        {"firefox-153esr-audio-dc.sdp", "b38245b9", VOICE_CODEC_OPUS, 109, NO, NO, false,
         1073741823, false},
        {"gstreamer-1.22.0-audio-dc.sdp", "Od1azm5IL5FMPl2oFrUwpAtOO1fmIUan", VOICE_CODEC_OPUS, 111,
         NO, NO, false, 65536, false},
        {"aiortc-1.4.0-audio-dc.sdp", "FPId", VOICE_CODEC_OPUS, 96, NO, NO, false, 65536, false},
        {"pion-3.1.56-audio-dc.sdp", "QPpbeeOjuzqkafyE", VOICE_CODEC_OPUS, 111, NO, NO, false,
         65536, false},
        {"g711-static.sdp", "Ab3+", VOICE_CODEC_PCMU, 0, NO, NO, false, 0, false},
        {"g711-pcma-only.sdp", "Ab3+", VOICE_CODEC_PCMA, 8, NO, 126, false, 0, false},
        {"g711-before-opus.sdp", "Ab3+", VOICE_CODEC_PCMU, 0, NO, 126, false, 0, false},
        {"red-before-opus.sdp", "Ab3+", VOICE_CODEC_OPUS, 111, 63, 110, true, 0, false},
    };
    size_t found = 0;
    for (size_t i = 0; i < COUNT_OF(table) * corpus_count; i++) {
        const size_t row = i / corpus_count;
        const struct corpus_offer *o = &corpus[i % corpus_count];
        if (strcmp(o->name, table[row].name) != 0) {
            continue;
        }
        found++;
        struct sdp_offer offer;
        char reason[SDP_REASON_CAP];
        assert_int_equal(
            sdp_offer_parse(bytes_view_of(o->text, o->len), true, &offer, reason, sizeof(reason)),
            SDP_OFFER_OK);
        if (table[row].ufrag != NULL) {
            assert_string_equal(offer.ice_ufrag, table[row].ufrag);
        }
        assert_int_equal(offer.audio_codec, table[row].codec);
        assert_int_equal(offer.audio_payload_type, table[row].payload_type);
        assert_int_equal(offer.red_payload_type, table[row].red);
        assert_int_equal(offer.telephone_event_payload_type, table[row].event);
        assert_int_equal(offer.has_nack, table[row].has_nack);
        assert_int_equal(offer.max_message_bytes, table[row].max_message_bytes);
        assert_int_equal(offer.offers_sped, table[row].offers_sped);
        assert_int_equal(offer.fingerprint_count, 1);
    }
    assert_int_equal(found, COUNT_OF(table));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_offer_gets_its_verdict_and_a_fitting_answer),
        cmocka_unit_test(without_data_channels_every_offer_with_audio_still_does),
        cmocka_unit_test(an_offer_cut_at_any_byte_is_refused_or_answered),
        cmocka_unit_test(the_facts_of_some_offers),
    };
    return cmocka_run_group_tests(tests, read_corpus, free_corpus);
}
