/* sdp_offer_world.h - an offer that is parsed, and the verdict on it */
#ifndef EARSHOT_TESTS_SDP_OFFER_WORLD_H
#define EARSHOT_TESTS_SDP_OFFER_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/sdp/sdp_offer.h"
#include "tests/sdp_samples.h"

#define X32   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X256  X32 X32 X32 X32 X32 X32 X32 X32
#define OK    SDP_OFFER_OK
#define BAD   SDP_OFFER_BAD
#define CODEC SDP_OFFER_NO_COMMON_CODEC

static struct sdp_offer offer;
static char reason[SDP_REASON_CAP];
static struct sample_text sample;

static inline enum sdp_offer_result parse(const char *text)
{
    return sdp_offer_parse(bytes_view_of_text(text), true, &offer, reason, sizeof(reason));
}

static inline void assert_good(const char *text)
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
static inline void check_verdicts(const struct verdict_case *table, size_t count)
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

static inline enum sdp_offer_result parse_sample(void)
{
    return sdp_offer_parse(sample_view(&sample), true, &offer, reason, sizeof(reason));
}

static inline void start_sample(const char *text)
{
    sample.len = 0;
    sample_add(&sample, text);
}

#endif
