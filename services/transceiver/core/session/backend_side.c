/* backend_side.c - see backend_side.h */
#include "services/transceiver/core/session/backend_side.h"

bool backend_side_init(struct backend_side *b, const struct backend_leg_config *config,
                       struct voice_uplink *uplink, struct voice_downlink *downlink,
                       struct sideband_outbox *outbox, uint64_t now_us)
{
    b->uplink = uplink;
    b->downlink = downlink;
    net_stats_init(&b->net_stats);
    if (!backend_leg_init(&b->leg, config, now_us)) {
        return false;
    }
    sidebands_init(&b->sidebands, b->leg.start->call_id, outbox);
    return true;
}

void backend_side_deinit(struct backend_side *b)
{
    backend_leg_deinit(&b->leg);
}

bool backend_side_was_attached(const struct backend_side *b)
{
    return b->was_attached;
}

/* --- side-bands ------------------------------------------------------------------------------- */

/* Who came and who left since a backend was told last. */
static void tell_sidebands(struct backend_side *b, uint64_t now_us)
{
    struct backend_sideband change;
    while (backend_leg_is_listening(&b->leg) &&
           sidebands_poll_change(&b->sidebands, &change, now_us)) {
        backend_leg_sideband(&b->leg, &change, now_us);
    }
}

enum sidebands_result backend_side_attach_sideband(struct backend_side *b, uint32_t id,
                                                   uint64_t lease_us, uint64_t now_us)
{
    const enum sidebands_result result = sidebands_attach(&b->sidebands, id, lease_us, now_us);
    tell_sidebands(b, now_us);
    return result;
}

void backend_side_detach_sideband(struct backend_side *b, uint32_t id, uint64_t now_us)
{
    sidebands_detach(&b->sidebands, id);
    tell_sidebands(b, now_us);
}

enum backend_side_injected backend_side_inject(struct backend_side *b, uint32_t id,
                                               struct bytes_view event, uint64_t now_us)
{
    if (!sidebands_has(&b->sidebands, id)) {
        return BACKEND_SIDE_NO_SIDEBAND;
    }
    if (!backend_leg_is_listening(&b->leg) || !outbox_has_message_room(b->leg.outbox, event.len)) {
        return BACKEND_SIDE_AWAY;
    }
    backend_leg_event(&b->leg, event, now_us);
    return BACKEND_SIDE_INJECTED;
}

/* --- a backend that listens ------------------------------------------------------------------- */

/* The client's voice comes from as far back as it is kept: the first words before an ACCEPT, and
 * what a connection lost on its way. */
static enum backend_side_event attach(struct backend_side *b, const struct backend_frame *accept,
                                      enum backend_side_event event, uint64_t now_us)
{
    const struct voice_uplink_quality quality = voice_uplink_quality(b->uplink);
    const uint64_t from_us = voice_uplink_history_from_us(b->uplink);
    if (!voice_downlink_attach(b->downlink, &b->leg.accept, now_us) ||
        !voice_uplink_attach(b->uplink, b->leg.accept.in, from_us, now_us)) {
        backend_leg_error(&b->leg, "codec", accept, now_us);
        return BACKEND_SIDE_FAILED;
    }
    b->was_attached = true;
    net_stats_begin(&b->net_stats, &quality, now_us);
    sidebands_backend_back(&b->sidebands);
    tell_sidebands(b, now_us);
    return event;
}

/* What comes is of a backend that knows nothing. */
static void restart(struct backend_side *b, uint64_t now_us)
{
    b->audio_out_before_us += voice_downlink_position(b->downlink).received_total_us;
    voice_uplink_restart(b->uplink);
    voice_downlink_restart(b->downlink, now_us);
}

enum backend_side_event backend_side_input(struct backend_side *b,
                                           const struct backend_frame *frame, uint64_t now_us)
{
    switch (backend_leg_input(&b->leg, frame, now_us)) {
    case BACKEND_LEG_GOT_ACCEPT:
        return attach(b, frame, BACKEND_SIDE_ACCEPTED, now_us);
    case BACKEND_LEG_GOT_RESUMED:
        return attach(b, frame, BACKEND_SIDE_RESUMED, now_us);
    case BACKEND_LEG_STARTED_ANEW:
        restart(b, now_us);
        return BACKEND_SIDE_NOTHING;
    case BACKEND_LEG_GOT_RESTARTED:
        return attach(b, frame, BACKEND_SIDE_RESTARTED, now_us);
    case BACKEND_LEG_GOT_REJECT:
        return BACKEND_SIDE_FAILED;
    case BACKEND_LEG_GOT_END:
        return BACKEND_SIDE_ENDED;
    case BACKEND_LEG_GOT_END_DRAINED:
        voice_downlink_drain(b->downlink, now_us);
        return BACKEND_SIDE_ENDED_DRAINED;
    case BACKEND_LEG_GOT_MESSAGE:
        return BACKEND_SIDE_MESSAGE;
    case BACKEND_LEG_GOT_NONSENSE:
        return BACKEND_SIDE_NONSENSE;
    case BACKEND_LEG_NOTHING:
        break;
    }
    if (backend_leg_is_attached(&b->leg)) {
        (void)voice_downlink_input(b->downlink, frame, now_us); /* counted there */
    }
    return BACKEND_SIDE_NOTHING;
}

void backend_side_connected(struct backend_side *b, bool is_tcp, uint64_t now_us)
{
    backend_leg_connected(&b->leg, is_tcp, now_us);
}

void backend_side_end(struct backend_side *b, const char *reason, bool is_backend_lost,
                      uint64_t now_us)
{
    const struct backend_ended totals = {
        .audio_in_frames = voice_uplink_stats(b->uplink)->frames,
        .audio_out_us =
            b->audio_out_before_us + voice_downlink_position(b->downlink).received_total_us,
    };
    sidebands_end(&b->sidebands, reason);
    voice_downlink_end(b->downlink, is_backend_lost, now_us);
    backend_leg_end(&b->leg, reason, &totals, now_us);
}

/* --- a backend that is away ------------------------------------------------------------------- */

bool backend_side_lost(struct backend_side *b, uint64_t now_us)
{
    const bool was_attached = backend_leg_is_attached(&b->leg);
    backend_leg_lost(&b->leg, now_us);
    voice_uplink_detach(b->uplink);
    voice_downlink_detach(b->downlink);
    net_stats_stop(&b->net_stats);
    return was_attached && backend_leg_is_away(&b->leg);
}

bool backend_side_is_away(const struct backend_side *b)
{
    return backend_leg_is_away(&b->leg);
}

void backend_side_found(struct backend_side *b, bool can_resume, uint64_t now_us)
{
    const struct backend_position position = voice_downlink_position(b->downlink);
    if (backend_leg_reconnect(&b->leg, can_resume, &position,
                              voice_uplink_history_from_us(b->uplink), now_us)) {
        restart(b, now_us);
    }
}

uint64_t backend_side_away_us(const struct backend_side *b, uint64_t now_us)
{
    return time_since(b->leg.lost_us, now_us);
}

/* --- time ------------------------------------------------------------------------------------- */

enum backend_side_event backend_side_tick(struct backend_side *b, uint64_t now_us)
{
    struct backend_net_stats stats;
    if (!backend_leg_tick(&b->leg, now_us)) {
        return BACKEND_SIDE_FAILED;
    }
    sidebands_tick(&b->sidebands, now_us);
    tell_sidebands(b, now_us);
    if (now_us < b->net_stats.next_us) {
        return BACKEND_SIDE_NOTHING;
    }
    const struct voice_uplink_quality quality = voice_uplink_quality(b->uplink);
    const struct rtp_sender *sender = voice_sender_rtp(voice_downlink_sender(b->downlink));
    if (net_stats_poll(&b->net_stats, &quality, rtp_sender_stats(sender).rtt_us, &stats, now_us)) {
        backend_leg_net_stats(&b->leg, &stats, now_us);
    }
    return BACKEND_SIDE_NOTHING;
}

uint64_t backend_side_next_timeout(const struct backend_side *b)
{
    const uint64_t first_us = time_earlier(b->leg.deadline_us, b->net_stats.next_us);
    return time_earlier(first_us, sidebands_next_timeout(&b->sidebands));
}
