/* sdp_offer_fuzz.c - any bytes as an offer: refused with a reason, or answered for a strict client
 */
#include "tests/sdp_samples.h"
#include "tests/strict_sdp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0) {
        return 0;
    }
    /* The last byte's bits choose what the server would answer with; so a seed is an offer. */
    const uint8_t choice = data[len - 1];
    struct sdp_offer offer;
    char reason[SDP_REASON_CAP];
    if (sdp_offer_parse(bytes_view_of(data, len - 1), choice % 2 == 0, &offer, reason,
                        sizeof(reason)) != SDP_OFFER_OK) {
        return 0;
    }
    offer.has_red = offer.has_red && (choice & 2) != 0;
    const struct sdp_answer answer = sample_answer(&offer);
    static char text[SDP_ANSWER_BYTES_MAX];
    static struct strict_sdp strict;
    const size_t answer_len = sdp_answer_write(&offer, &answer, text, sizeof(text));
    if (answer_len == 0 || strict_sdp_read(text, answer_len, &strict) != NULL) {
        abort();
    }
    return 0;
}
