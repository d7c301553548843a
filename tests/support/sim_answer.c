/* sim_answer.c - see sim_answer.h */
#include "tests/support/sim_answer.h"

void sim_answer_client(struct sim_answer *a, struct sim_client *client,
                       const struct dtls_identity *identity, struct random_source random,
                       uint64_t now_us)
{
    char text[SDP_ANSWER_BYTES_MAX];
    char reason[SDP_REASON_CAP];
    *a = (struct sim_answer){0};
    random_ice_chars(random, a->ufrag, SIM_ANSWER_UFRAG_CHARS);
    random_ice_chars(random, a->pwd, SIM_ANSWER_PWD_CHARS);
    bool good = sdp_offer_parse(bytes_view_of_text(sim_client_offer(client)), true, &a->offer,
                                reason, sizeof(reason)) == SDP_OFFER_OK;
    struct sdp_answer answer = {
        .ice_ufrag = a->ufrag,
        .ice_pwd = a->pwd,
        .candidate_count = 1,
        .setup_active = a->offer.setup != SDP_SETUP_ACTIVE,
    };
    good = good && net_addr_parse("198.51.100.1:3478", &answer.candidate[0].address);
    memcpy(answer.fingerprint_sha256, dtls_identity_fingerprint(identity),
           sizeof(answer.fingerprint_sha256));
    const size_t len = sdp_answer_write(&a->offer, &answer, text, sizeof(text));
    good = good && sim_client_answer(client, bytes_view_of(text, len), now_us);
    assert(good);
    (void)good;
}
