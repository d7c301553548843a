/*
 * sim_srtp.h - the SRTP of a simulated client, and an ear on what is sent to it
 *
 * Gives:   nothing before its keys are there.
 * Owns:    a stream for its voice, which another track replaces; one for all else; one that
 *          overhears, so that a packet may be read where it leaves and again where it arrives.
 */
#ifndef EARSHOT_SIM_SRTP_H
#define EARSHOT_SIM_SRTP_H

#include "services/transceiver/core/rtp/rtp_packet.h"
#include "services/transceiver/core/transport/srtp_transport.h"

struct sim_srtp {
    struct srtp_keys keys;
    struct srtp_transport *rest; /* NULL: no keys yet; likewise the others */
    struct srtp_transport *voice;
    struct srtp_transport *overhearing;
};

void sim_srtp_start(struct sim_srtp *s, const struct srtp_keys *keys, uint32_t ssrc);
void sim_srtp_deinit(struct sim_srtp *s);

/* The SSRC of another track. */
void sim_srtp_change_ssrc(struct sim_srtp *s, uint32_t ssrc);

/* In place. */
void sim_srtp_protect_voice(struct sim_srtp *s, struct bytes_span *packet);
void sim_srtp_protect_rtcp(struct sim_srtp *s, struct bytes_span *packet);

/* In place; false for what it can not read. `out` is borrowed from the datagram. */
bool sim_srtp_read_rtp(struct sim_srtp *s, struct bytes_span *datagram, struct rtp_packet *out,
                       uint64_t now_us);
bool sim_srtp_read_rtcp(struct sim_srtp *s, struct bytes_span *datagram, uint64_t now_us);
bool sim_srtp_overhear(struct sim_srtp *s, struct bytes_span *datagram, struct rtp_packet *out,
                       uint64_t now_us);

#endif
