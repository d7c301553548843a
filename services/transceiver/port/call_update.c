/* call_update.c - see call_update.h */
#include "services/transceiver/port/call_update.h"

#include "services/transceiver/core/sdp/sdp_fragment.h"

static_assert(SDP_FRAGMENT_BYTES_MAX <= SDP_ANSWER_BYTES_MAX, "a fragment fits the answer's place");
static_assert(SDP_FRAGMENT_BYTES_MAX <= CONTROL_SDPFRAG_BYTES_MAX, "and a reply");

static void refuse(struct control_reply *out, enum control_refusal code, const char *message)
{
    out->refusal = code;
    out->message = bytes_view_of_text(message);
}

static bool is_of_client(const struct client_leg_ice *ice, const struct sdp_fragment *theirs)
{
    return strcmp(ice->client_ufrag, theirs->ice_ufrag) == 0 &&
           strcmp(ice->client_pwd, theirs->ice_pwd) == 0;
}

static void restart(struct call_setup *setup, struct session *s, const struct sdp_fragment *theirs,
                    uint64_t now_us)
{
    struct client_leg_ice next = {.generation = (uint8_t)(session_ice(s)->generation + 1)};
    const struct routing_token token = {.cluster_id = setup->config->cluster_id,
                                        .instance_id = setup->instance_id,
                                        .session_id = session_id(s),
                                        .restart = next.generation};
    routing_token_seal(setup->key_ring, &token, next.ufrag);
    random_ice_chars(setup->random, next.pwd, CLIENT_LEG_PWD_CHARS);
    memcpy(next.client_ufrag, theirs->ice_ufrag, sizeof(next.client_ufrag));
    memcpy(next.client_pwd, theirs->ice_pwd, sizeof(next.client_pwd));
    session_restart_ice(s, &next, now_us);
    explicit_bzero(&next, sizeof(next));
}

static void answer(struct call_setup *setup, const struct session *s,
                   const struct sdp_fragment *theirs, const struct control_update_session *request,
                   struct control_reply *out)
{
    const struct client_leg_ice *ice = session_ice(s);
    struct sdp_fragment_reply ours = {
        .ice_ufrag = ice->ufrag, .ice_pwd = ice->pwd, .candidate_count = request->ingress_count};
    call_setup_candidates(request->ingress, request->ingress_count, ours.candidate);
    const size_t len = sdp_fragment_write(theirs, &ours, setup->answer, SDP_FRAGMENT_BYTES_MAX);
    out->kind = CONTROL_UPDATE_SESSION;
    out->ice_generation = ice->generation;
    out->sdpfrag = bytes_view_of(setup->answer, len);
}

/* They are not needed; but whoever sends them must know which answer they belong to. */
static void take_candidates(const struct client_leg_ice *ice, const struct sdp_fragment *theirs,
                            uint32_t ice_generation, struct control_reply *out)
{
    if (ice_generation != ice->generation) {
        refuse(out, CONTROL_OTHER_GENERATION, "ICE was restarted since");
    } else if (theirs->ice_ufrag[0] != '\0' && !is_of_client(ice, theirs)) {
        refuse(out, CONTROL_BAD_OFFER, "new credentials restart ICE, which needs If-Match: *");
    } else {
        out->kind = CONTROL_UPDATE_SESSION;
        out->ice_generation = ice->generation;
    }
}

bool call_update(struct call_setup *setup, struct session *s,
                 const struct control_update_session *request, struct control_reply *out,
                 uint64_t now_us)
{
    const struct client_leg_ice *ice = session_ice(s);
    struct sdp_fragment theirs;
    const char *problem = sdp_fragment_parse(request->sdpfrag, &theirs);
    if (problem != NULL) {
        refuse(out, CONTROL_BAD_OFFER, problem);
        return false;
    }
    if (!request->restarts_ice) {
        take_candidates(ice, &theirs, request->ice_generation, out);
        return false;
    }
    if (theirs.ice_ufrag[0] == '\0') {
        refuse(out, CONTROL_BAD_OFFER, "a restart of ICE needs a=ice-ufrag and a=ice-pwd");
        return false;
    }
    const bool is_new = !is_of_client(ice, &theirs);
    if (is_new && ice->generation == UINT8_MAX) {
        refuse(out, CONTROL_RESTARTS_USED_UP, "ICE was restarted 255 times: make a new call");
        return false;
    }
    if (is_new) {
        restart(setup, s, &theirs, now_us);
    }
    answer(setup, s, &theirs, request, out);
    explicit_bzero(&theirs, sizeof(theirs));
    return is_new;
}
