/* client_leg.c - see client_leg.h */
#include "services/transceiver/core/session/client_leg.h"

#include "services/transceiver/core/datagram_kind.h"
#include "services/transceiver/core/session/leg_setup.h"
#include "services/transceiver/core/transport/ice_agent.h"
#include "services/transceiver/core/transport/srtp_transport.h"

#include <assert.h>
#include <stdlib.h>

/* A transceiver that has sent nothing for this long tells the relay where the client is. */
#define ANNOUNCE_US (500 * US_PER_MS)

enum leg_state {
    LEG_CHECKING,  /* waiting for the first check */
    LEG_SHAKING,   /* DTLS runs */
    LEG_CONNECTED, /* SRTP has keys */
    LEG_LEAVING,   /* the data channels are being closed */
    LEG_CLOSING,   /* the closing alert is being said */
    LEG_OVER
};

struct client_leg {
    uint32_t session_id;
    uint32_t ssrc;
    enum leg_state state;
    struct outbox *outbox;
    struct client_leg_ice generation;
    uint64_t moves;
    struct ice_agent *ice;
    struct dtls_transport *dtls;
    struct data_channels *data;  /* NULL without a data section */
    struct srtp_transport *srtp; /* NULL until DTLS is done */
    bool is_dtls_client;         /* we are: the client has keys before us */
    bool has_client_spoken;      /* with the keys of the handshake */
    uint64_t announce_us;
    enum client_leg_event event[4]; /* checked, connected, and one end */
    size_t event_count;
};

struct client_leg *client_leg_create(const struct client_leg_config *config, uint64_t now_us)
{
    struct client_leg *leg = calloc(1, sizeof(*leg));
    if (leg == NULL) {
        return NULL;
    }
    leg->session_id = config->session_id;
    leg->ssrc = config->ssrc;
    leg->outbox = config->outbox;
    leg->announce_us = TIME_NEVER;
    leg->is_dtls_client = leg_setup_role(config) == DTLS_ROLE_ACTIVE;
    leg_setup_generation(config, &leg->generation);
    const struct ice_credentials ice = leg_setup_credentials(&leg->generation);
    leg->ice = ice_agent_create(&ice, now_us);
    leg->dtls = leg_setup_dtls(config);
    bool has_no_data = false;
    leg->data = leg_setup_data(config, &has_no_data, now_us);
    if (leg->ice == NULL || leg->dtls == NULL || has_no_data) {
        client_leg_destroy(leg);
        return NULL;
    }
    return leg;
}

void client_leg_destroy(struct client_leg *leg)
{
    if (leg == NULL) {
        return;
    }
    ice_agent_destroy(leg->ice);
    data_channels_destroy(leg->data);
    dtls_transport_destroy(leg->dtls);
    srtp_transport_destroy(leg->srtp);
    explicit_bzero(&leg->generation, sizeof(leg->generation));
    free(leg);
}

static bool is_open(const struct client_leg *leg)
{
    return leg->state < LEG_CLOSING;
}

bool client_leg_is_connected(const struct client_leg *leg)
{
    return leg->state == LEG_CONNECTED;
}

bool client_leg_can_be_heard(const struct client_leg *leg)
{
    return client_leg_is_connected(leg) && (leg->is_dtls_client || leg->has_client_spoken);
}

struct data_channels *client_leg_data(const struct client_leg *leg)
{
    return leg->data;
}

bool client_leg_is_over(const struct client_leg *leg)
{
    return leg->state == LEG_OVER;
}

struct client_leg_path client_leg_path(const struct client_leg *leg)
{
    struct net_path path;
    return (struct client_leg_path){
        .is_tcp = ice_agent_selected(leg->ice, &path) && path.is_tcp,
        .moves = leg->moves,
        .last_alive_us = ice_agent_last_alive_us(leg->ice),
    };
}

static void push_event(struct client_leg *leg, enum client_leg_event event)
{
    assert(leg->event_count < COUNT_OF(leg->event));
    leg->event[leg->event_count++] = event;
}

bool client_leg_poll_event(struct client_leg *leg, enum client_leg_event *out)
{
    if (leg->event_count == 0) {
        return false;
    }
    *out = leg->event[0];
    leg->event_count--;
    memmove(leg->event, leg->event + 1, leg->event_count * sizeof(leg->event[0]));
    return true;
}

/* The leg ended by itself: the client is gone, or never was the right one. */
static void fail(struct client_leg *leg, enum client_leg_event event)
{
    leg->state = LEG_OVER;
    push_event(leg, event);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void send_datagram(struct client_leg *leg, struct bytes_view datagram,
                          const struct net_path *path, uint64_t now_us)
{
    uint8_t *room = outbox_reserve(leg->outbox);
    if (room != NULL) {
        memcpy(room, datagram.data, datagram.len);
        outbox_commit(leg->outbox, datagram.len, leg->session_id, path);
        leg->announce_us = now_us + ANNOUNCE_US;
    }
}

typedef enum srtp_transport_result protect(struct srtp_transport *t, struct bytes_span *packet);

static bool protect_and_send(struct client_leg *leg, struct bytes_span *packet,
                             protect *protect_packet, uint64_t now_us)
{
    struct net_path path;
    if (!client_leg_is_connected(leg) || !ice_agent_selected(leg->ice, &path) ||
        protect_packet(leg->srtp, packet) != SRTP_TRANSPORT_OK) {
        return false;
    }
    send_datagram(leg, bytes_view_of(packet->data, packet->len), &path, now_us);
    return true;
}

bool client_leg_send_rtp(struct client_leg *leg, struct bytes_span *packet, uint64_t now_us)
{
    return protect_and_send(leg, packet, srtp_transport_protect_rtp, now_us);
}

bool client_leg_send_rtcp(struct client_leg *leg, struct bytes_span *packet, uint64_t now_us)
{
    return protect_and_send(leg, packet, srtp_transport_protect_rtcp, now_us);
}

void client_leg_send_again(struct client_leg *leg, struct bytes_view packet, uint64_t now_us)
{
    struct net_path path;
    if (client_leg_is_connected(leg) && ice_agent_selected(leg->ice, &path)) {
        send_datagram(leg, packet, &path, now_us);
    }
}

static void send_dtls(struct client_leg *leg, uint64_t now_us)
{
    struct bytes_view datagram;
    struct net_path path;
    const bool has_path = ice_agent_selected(leg->ice, &path);
    while (dtls_transport_poll_datagram(leg->dtls, &datagram)) {
        if (has_path) {
            send_datagram(leg, datagram, &path, now_us);
        }
    }
}

/* --- DTLS, and SCTP in it --------------------------------------------------------------------- */

void client_leg_send_data(struct client_leg *leg, uint64_t now_us)
{
    struct bytes_view packet;
    while (leg->data != NULL && is_open(leg) &&
           data_channels_poll_packet(leg->data, &packet, now_us) &&
           dtls_transport_send(leg->dtls, packet)) {
        send_dtls(leg, now_us); /* so that DTLS has room for the next one */
    }
}

static void take_data(struct client_leg *leg, uint64_t now_us)
{
    struct bytes_view packet;
    while (leg->data != NULL && dtls_transport_poll_data(leg->dtls, &packet)) {
        leg->has_client_spoken = true;
        data_channels_input(leg->data, packet, now_us);
    }
}

static void take_keys(struct client_leg *leg, struct srtp_keys *keys, uint64_t now_us)
{
    if (keys->profile != SRTP_PROFILE_NONE) {
        leg->srtp = srtp_transport_create(keys, leg->ssrc);
    }
    explicit_bzero(keys, sizeof(*keys));
    if (leg->srtp == NULL) {
        fail(leg, CLIENT_LEG_NO_SRTP);
        return;
    }
    leg->state = LEG_CONNECTED;
    if (leg->data != NULL) {
        data_channels_start(leg->data, now_us);
    }
    push_event(leg, CLIENT_LEG_CONNECTED);
}

static void drain_dtls(struct client_leg *leg, uint64_t now_us)
{
    struct dtls_event event;
    send_dtls(leg, now_us);
    while (is_open(leg) && dtls_transport_poll_event(leg->dtls, &event)) {
        switch (event.kind) {
        case DTLS_EVENT_CONNECTED:
            take_keys(leg, &event.srtp, now_us);
            break;
        case DTLS_EVENT_FAILED:
            fail(leg, event.failure == DTLS_FAILURE_FINGERPRINT ? CLIENT_LEG_FINGERPRINT
                                                                : CLIENT_LEG_DTLS_FAILED);
            break;
        case DTLS_EVENT_CLOSED:
            fail(leg, CLIENT_LEG_CLOSED);
            break;
        }
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static void finish_if_said(struct client_leg *leg)
{
    if (dtls_transport_next_timeout(leg->dtls) == TIME_NEVER) {
        leg->state = LEG_OVER;
    }
}

static void say_alerts(struct client_leg *leg, uint64_t now_us)
{
    leg->state = LEG_CLOSING;
    dtls_transport_close(leg->dtls, now_us);
    send_dtls(leg, now_us);
    finish_if_said(leg);
}

static void finish_if_left(struct client_leg *leg, uint64_t now_us)
{
    if (leg->state == LEG_LEAVING && data_channels_is_over(leg->data)) {
        say_alerts(leg, now_us);
    }
}

void client_leg_close(struct client_leg *leg, uint64_t now_us)
{
    if (!is_open(leg) || leg->state == LEG_LEAVING) {
        return;
    }
    if (leg->state != LEG_CONNECTED) {
        leg->state = LEG_OVER;
        return;
    }
    if (leg->data == NULL) {
        say_alerts(leg, now_us);
        return;
    }
    leg->state = LEG_LEAVING;
    data_channels_close(leg->data, now_us);
    client_leg_send_data(leg, now_us);
    finish_if_left(leg, now_us);
}

/* --- DTLS from the client --------------------------------------------------------------------- */

static enum client_leg_result input_dtls(struct client_leg *leg, struct bytes_view datagram,
                                         const struct net_path *from, uint64_t now_us)
{
    if (leg->state == LEG_CHECKING || !ice_agent_is_validated(leg->ice, from)) {
        return CLIENT_LEG_DTLS_UNVALIDATED;
    }
    const enum dtls_input_result result = dtls_transport_input(leg->dtls, datagram, now_us);
    const bool is_newest = result == DTLS_INPUT_AUTHENTIC_NEWEST;
    const bool is_authentic = is_newest || result == DTLS_INPUT_AUTHENTIC;
    if (is_authentic) {
        ice_agent_note_authenticated(leg->ice, from, is_newest, now_us);
    }
    drain_dtls(leg, now_us);
    take_data(leg, now_us);
    client_leg_send_data(leg, now_us);
    finish_if_left(leg, now_us);
    return is_authentic || result == DTLS_INPUT_TAKEN ? CLIENT_LEG_DTLS : CLIENT_LEG_DTLS_REFUSED;
}

/* --- ICE -------------------------------------------------------------------------------------- */

static void drain_ice(struct client_leg *leg, uint64_t now_us)
{
    enum ice_event event;
    while (is_open(leg) && ice_agent_poll_event(leg->ice, &event)) {
        switch (event) {
        case ICE_EVENT_CONNECTED:
            leg->state = LEG_SHAKING;
            push_event(leg, CLIENT_LEG_CHECKED);
            dtls_transport_start(leg->dtls, 0, now_us);
            drain_dtls(leg, now_us);
            break;
        case ICE_EVENT_MOVED:
            leg->moves++;
            break;
        case ICE_EVENT_EXPIRED:
            fail(leg, CLIENT_LEG_LOST);
            break;
        }
    }
}

const struct client_leg_ice *client_leg_ice(const struct client_leg *leg)
{
    return &leg->generation;
}

void client_leg_restart_ice(struct client_leg *leg, const struct client_leg_ice *next,
                            uint64_t now_us)
{
    assert(next->generation == leg->generation.generation + 1);
    leg->generation = *next;
    const struct ice_credentials ice = leg_setup_credentials(&leg->generation);
    ice_agent_restart(leg->ice, &ice, now_us);
}

static void answer_check(struct client_leg *leg, const struct ice_check *check, uint64_t now_us)
{
    uint8_t bytes[OUTBOX_DATAGRAM_BYTES];
    struct byte_writer answer;
    byte_writer_init(&answer, bytes, sizeof(bytes));
    ice_agent_begin_answer(check, &answer);
    ice_agent_finish_answer(check, &answer);
    assert(!answer.failed);
    send_datagram(leg, bytes_view_of(bytes, answer.len), &check->from, now_us);
}

static enum client_leg_result input_stun(struct client_leg *leg, struct bytes_view datagram,
                                         const struct net_path *from, uint64_t now_us)
{
    struct ice_check check;
    switch (ice_agent_input(leg->ice, datagram, from, &check, now_us)) {
    case ICE_INPUT_ANSWER:
    case ICE_INPUT_ANSWER_AGAIN:
        answer_check(leg, &check, now_us);
        drain_ice(leg, now_us);
        return CLIENT_LEG_STUN;
    case ICE_INPUT_KEEPALIVE:
        return CLIENT_LEG_STUN;
    default:
        return CLIENT_LEG_STUN_REFUSED;
    }
}

/* --- SRTP ------------------------------------------------------------------------------------- */

static enum client_leg_result input_srtp(struct client_leg *leg, struct bytes_span *packet,
                                         bool is_rtcp, const struct net_path *from, uint64_t now_us)
{
    bool is_newest = false;
    if (leg->srtp == NULL) {
        return CLIENT_LEG_SRTP_TOO_EARLY;
    }
    if (leg->state == LEG_LEAVING) {
        return CLIENT_LEG_ENDED;
    }
    const enum srtp_transport_result result =
        is_rtcp ? srtp_transport_unprotect_rtcp(leg->srtp, packet, &is_newest, now_us)
                : srtp_transport_unprotect_rtp(leg->srtp, packet, &is_newest, now_us);
    if (result != SRTP_TRANSPORT_OK) {
        return CLIENT_LEG_SRTP_REFUSED;
    }
    leg->has_client_spoken = true;
    ice_agent_note_authenticated(leg->ice, from, is_newest, now_us);
    if (leg->data == NULL) {
        /* Who sends SRTP has our Finished: no flight of the handshake is asked for again. */
        dtls_transport_release(leg->dtls);
    }
    return is_rtcp ? CLIENT_LEG_RTCP : CLIENT_LEG_RTP;
}

enum client_leg_result client_leg_input(struct client_leg *leg, struct bytes_span *datagram,
                                        const struct net_path *from, uint64_t now_us)
{
    const struct bytes_view view = bytes_view_of(datagram->data, datagram->len);
    if (!is_open(leg)) {
        return CLIENT_LEG_ENDED;
    }
    switch (datagram_kind_of(view)) {
    case DATAGRAM_STUN:
        return input_stun(leg, view, from, now_us);
    case DATAGRAM_DTLS:
        return input_dtls(leg, view, from, now_us);
    case DATAGRAM_RTP:
        return input_srtp(leg, datagram, false, from, now_us);
    case DATAGRAM_RTCP:
        return input_srtp(leg, datagram, true, from, now_us);
    default:
        return CLIENT_LEG_UNKNOWN_KIND;
    }
}

/* --- time ------------------------------------------------------------------------------------- */

/* Something can have been sent although no path is selected: the answer to a refused check. */
static void announce_if_due(struct client_leg *leg, uint64_t now_us)
{
    struct net_path path;
    if (now_us < leg->announce_us) {
        return;
    }
    if (ice_agent_selected(leg->ice, &path)) {
        outbox_announce(leg->outbox, leg->session_id, &path);
    }
    leg->announce_us = now_us + ANNOUNCE_US;
}

static void tick_data(struct client_leg *leg, uint64_t now_us)
{
    if (leg->data != NULL && is_open(leg)) {
        data_channels_tick(leg->data, now_us);
        client_leg_send_data(leg, now_us);
        finish_if_left(leg, now_us);
    }
}

void client_leg_tick(struct client_leg *leg, uint64_t now_us)
{
    if (leg->state == LEG_OVER) {
        return;
    }
    dtls_transport_tick(leg->dtls, now_us);
    if (leg->state == LEG_CLOSING) {
        send_dtls(leg, now_us);
        finish_if_said(leg);
        return;
    }
    drain_dtls(leg, now_us);
    ice_agent_tick(leg->ice, now_us);
    drain_ice(leg, now_us);
    tick_data(leg, now_us);
    if (is_open(leg)) {
        announce_if_due(leg, now_us);
    }
}

uint64_t client_leg_next_timeout(const struct client_leg *leg)
{
    if (leg->state == LEG_OVER) {
        return TIME_NEVER;
    }
    const uint64_t dtls_us = dtls_transport_next_timeout(leg->dtls);
    if (leg->state == LEG_CLOSING) {
        return dtls_us;
    }
    const uint64_t data_us = leg->data == NULL ? TIME_NEVER : data_channels_next_timeout(leg->data);
    return time_earlier(time_earlier(dtls_us, leg->announce_us),
                        time_earlier(ice_agent_next_timeout(leg->ice), data_us));
}
