/*
 * client_leg.h - one session's transport to its client: ICE, then DTLS, then SRTP and SCTP
 *
 * Takes:   the client's datagrams, and plain RTP and RTCP of ours to protect and send.
 * Gives:   plain RTP and RTCP of the client (in place), datagrams in the outbox, events.
 * Order:   create; then one change (input, send, tick, close), drain events, sleep until
 *          next_timeout.
 * Safety:  nothing is answered before it is authenticated. No DTLS byte is looked at before its
 *          sender passed an ICE check. What is not authentic neither keeps the leg alive nor ends
 *          it.
 * Data:    with a data section in the offer TLS stays, and the channels are polled by the owner.
 * Bounds:  30 s without anything authentic (RFC 7675 turned round: ICE-lite sends no checks).
 *          A leg that has sent nothing for 500 ms announces the flow to the relay.
 * Not here: what is in the packets (voice_uplink.h, voice_rtcp.h), the shim (port/event_loop.c).
 */
#ifndef EARSHOT_CLIENT_LEG_H
#define EARSHOT_CLIENT_LEG_H

#include "common/base/time_us.h"
#include "common/routing/routing_token.h"
#include "services/transceiver/core/outbox.h"
#include "services/transceiver/core/sdp/sdp_offer.h"
#include "services/transceiver/core/session/client_leg_result.h"
#include "services/transceiver/core/session/data_channels.h"
#include "services/transceiver/core/transport/dtls_identity.h"

/* The ICE password of an answer: 24 characters of 6 random bits (RFC 8445 s.5.3 asks for 128). */
#define CLIENT_LEG_PWD_CHARS 24

/* What the two sides named each other in one ICE generation. Secret: whoever copies it wipes it. */
struct client_leg_ice {
    uint8_t generation; /* 0 = of the offer; then the restarts */
    char ufrag[ROUTING_TOKEN_CHARS + 1];
    char pwd[CLIENT_LEG_PWD_CHARS + 1];
    char client_ufrag[SDP_UFRAG_CHARS_MAX + 1];
    char client_pwd[SDP_PWD_CHARS_MAX + 1];
};

/* How the client is reached. */
struct client_leg_path {
    bool is_tcp;
    uint64_t moves;         /* from one path to another */
    uint64_t last_alive_us; /* when the last new and authentic datagram came */
};

struct client_leg_config {
    uint32_t session_id;
    const struct sdp_offer *offer;        /* read by create only */
    const char *ice_ufrag;                /* ours, a routing token; read by create only */
    const char *ice_pwd;                  /* ours, with a NUL; read by create only */
    const struct dtls_identity *identity; /* read by create only */
    uint32_t ssrc;                        /* of the RTP we send */
    struct outbox *outbox;                /* borrowed */
    struct random_source random;          /* of SCTP */
    const char *event_label;              /* these three as in data_channels.h */
    bool has_event_stream;
    uint16_t event_stream;
};

enum client_leg_event {
    CLIENT_LEG_CHECKED,     /* the first check passed */
    CLIENT_LEG_CONNECTED,   /* SRTP has keys: media can flow */
    CLIENT_LEG_FINGERPRINT, /* failed: the certificate is not that of the offer */
    CLIENT_LEG_DTLS_FAILED, /* failed: the handshake */
    CLIENT_LEG_NO_SRTP,     /* failed: the client negotiated none, or memory ran out */
    CLIENT_LEG_CLOSED,      /* by the client */
    CLIENT_LEG_LOST         /* nothing authentic for 30 s */
};

struct client_leg;

struct client_leg *client_leg_create(const struct client_leg_config *config, uint64_t now_us);
void client_leg_destroy(struct client_leg *leg);

/* datagram is changed in place. */
enum client_leg_result client_leg_input(struct client_leg *leg, struct bytes_span *datagram,
                                        const struct net_path *from, uint64_t now_us);

/* A plain packet of ours, with room for SRTP's trailer behind it; it is protected in place. Lost
 * when the outbox is full; false, and not sent, unless connected. */
bool client_leg_send_rtp(struct client_leg *leg, struct bytes_span *packet, uint64_t now_us);
bool client_leg_send_rtcp(struct client_leg *leg, struct bytes_span *packet, uint64_t now_us);
/* A packet that client_leg_send_rtp protected before, as it was. */
void client_leg_send_again(struct client_leg *leg, struct bytes_view packet, uint64_t now_us);

bool client_leg_is_connected(const struct client_leg *leg);
/* And the client can decrypt what is sent. As the DTLS client it has our last flight to wait for,
 * which may be lost: then only something of its own shows it. */
bool client_leg_can_be_heard(const struct client_leg *leg);
struct client_leg_path client_leg_path(const struct client_leg *leg);

/* The current generation; borrowed until the next restart. */
const struct client_leg_ice *client_leg_ice(const struct client_leg *leg);
/* The next generation (RFC 8445 s.9); the one before it stays good as long as ice_agent.h says.
 * Media and DTLS go on. */
void client_leg_restart_ice(struct client_leg *leg, const struct client_leg_ice *next,
                            uint64_t now_us);

/* NULL without a data section. Borrowed; what is to be sent there leaves with the next change, or
 * with client_leg_send_data. */
struct data_channels *client_leg_data(const struct client_leg *leg);
void client_leg_send_data(struct client_leg *leg, uint64_t now_us);

/* Tells a client that is still there in the way that browsers understand: first its data channels
 * are closed, within 700 ms (data_channels_close), then alerts say it, within 150 ms
 * (dtls_transport_close). No media is taken from now on. */
void client_leg_close(struct client_leg *leg, uint64_t now_us);
/* Closed, and all was said. */
bool client_leg_is_over(const struct client_leg *leg);

void client_leg_tick(struct client_leg *leg, uint64_t now_us);
uint64_t client_leg_next_timeout(const struct client_leg *leg);
MUST_USE bool client_leg_poll_event(struct client_leg *leg, enum client_leg_event *out);

#endif
