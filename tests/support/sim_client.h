/*
 * sim_client.h - a WebRTC client in virtual time: full ICE, DTLS, RTP and RTCP both ways
 *
 * Takes:   our answer, datagrams, time.
 * Gives:   an offer, datagrams, and what it heard: how many packets, what was missing, which tone.
 * Reports: RTCP both ways, as a browser does.
 * Speaks:  from the moment SRTP has keys, unless told otherwise: a sine of SIM_CLIENT_TONE_HZ, a
 *          voice, or fixed packets (sim_voice.h), as sim_speaker.h packs them.
 */
#ifndef EARSHOT_SIM_CLIENT_H
#define EARSHOT_SIM_CLIENT_H

#include "common/base/net_addr.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/rtp/rtp_packet.h"
#include "services/transceiver/core/rtp/rtp_sender.h"
#include "tests/support/sim_data.h"
#include "tests/support/sim_speaker.h"

#define SIM_CLIENT_TONE_HZ    440
#define SIM_CLIENT_OFFER_CAP  2048
#define SIM_CLIENT_PACKET_CAP 1600
#define SIM_CLIENT_SLOT_US    (20 * US_PER_MS)

struct sim_client_config {
    struct net_addr address;
    uint64_t seed;
    bool is_dtls_client;         /* a=setup:active, else actpass */
    bool lies_about_fingerprint; /* the offer names another certificate */
    bool has_voice;              /* speaks as a person would (tests/speech_like.h), not a tone */
    bool is_cheap;               /* speaks fixed packets and decodes nothing */
    bool has_red;                /* offers it, and sends it when the answer prefers it */
    bool has_nack;               /* offers it, and asks again for each gap at once */
    bool has_data;               /* offers a data section: sim_client_data */
    bool uses_dtx;               /* when it is silent */
    bool wraps_soon;             /* its sequence and timestamp numbers wrap within seconds */
    const char *direction;       /* of its audio; NULL: sendrecv */
    unsigned tone_hz;            /* 0: SIM_CLIENT_TONE_HZ */
};

struct sim_client_heard {
    uint64_t packets;
    uint64_t missing;         /* gaps in the sequence numbers */
    uint64_t first_us;        /* of the first packet; 0 = none yet */
    uint64_t latest_us;       /* of the latest packet */
    uint64_t gap_us_max;      /* between two packets */
    uint64_t answered_us;     /* the latest answer to a check of its own */
    uint64_t latest_sound_us; /* of the latest packet that was not silent */
    uint64_t reports;         /* RTCP compounds */
    uint64_t first_report_us;
    bool was_closed; /* by an alert of ours */
    bool said_bye;   /* RTCP BYE came */
};

struct sim_client;

struct sim_client *sim_client_create(const struct sim_client_config *config);
void sim_client_destroy(struct sim_client *c);

/* The offer's text, with a NUL. */
const char *sim_client_offer(const struct sim_client *c);
/* False when the answer lacks something. */
bool sim_client_answer(struct sim_client *c, struct bytes_view sdp, uint64_t now_us);

/* New credentials, in a fragment with a NUL that is good until the next one. They are used when
 * ours are there. */
const char *sim_client_restart_ice(struct sim_client *c);
/* Our fragment: it checks with the new credentials of both at once. False: something lacks. */
bool sim_client_restarted(struct sim_client *c, struct bytes_view fragment, uint64_t now_us);

struct net_addr sim_client_address(const struct sim_client *c);
/* Another address, as after a change of networks: it checks from there at once. */
void sim_client_move(struct sim_client *c, const struct net_addr *address, uint64_t now_us);
/* A NAT gave it another address: it does not know. */
void sim_client_rebind(struct sim_client *c, const struct net_addr *address);
void sim_client_set_voice(struct sim_client *c, bool speaks);
/* Muted without DTX: nothing at all is sent. Its timestamps run on. */
void sim_client_mute(struct sim_client *c, bool is_muted);
/* The next packets are no Opus. */
void sim_client_talk_garbage(struct sim_client *c, unsigned packets);
/* Another track: new SSRC, new numbers. Only when connected. */
void sim_client_change_ssrc(struct sim_client *c);
/* NULL unless it offered a data section. What is said there leaves with the next tick. */
struct sim_data *sim_client_data(const struct sim_client *c);
/* Closes DTLS as a browser does. */
void sim_client_close(struct sim_client *c, uint64_t now_us);

void sim_client_input(struct sim_client *c, struct bytes_view datagram, uint64_t now_us);
void sim_client_tick(struct sim_client *c, uint64_t now_us);
uint64_t sim_client_next_timeout(const struct sim_client *c);
/* A datagram to send; its length, 0 = none. out: SIM_CLIENT_PACKET_CAP. */
size_t sim_client_take(struct sim_client *c, uint8_t *out, struct net_addr *from,
                       struct net_addr *to);

bool sim_client_is_connected(const struct sim_client *c);
const struct sim_client_heard *sim_client_heard(const struct sim_client *c);
/* The latest packet of voice; ssrc 0 before the first. */
const struct sim_said *sim_client_said(const struct sim_client *c);
/* What our reports told about the client's packets. */
struct rtp_sender_stats sim_client_reported(const struct sim_client *c);
/* sim_voice.h, of what it heard. */
double sim_client_tone_share(const struct sim_client *c, double hz);
double sim_client_level(const struct sim_client *c);

/* An RTP packet for this client, read with its keys where it leaves, before a link can lose it;
 * each once. False before the client has keys, and for what it can not read. Borrowed from
 * `datagram`, which becomes plain. */
MUST_USE bool sim_client_overhear(struct sim_client *c, struct bytes_span *datagram,
                                  struct rtp_packet *out, uint64_t now_us);
/* The Opus payloads in a packet for it, plain or RED: the oldest first. */
size_t sim_client_payloads(const struct rtp_packet *packet,
                           struct sim_red_block out[SIM_RED_BLOCKS_MAX]);

#endif
