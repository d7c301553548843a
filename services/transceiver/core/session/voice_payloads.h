/*
 * voice_payloads.h - what was agreed on about the client's RTP packets
 *
 * Takes:   the offer, as it is answered; packets.
 * Gives:   which packets are of the call's audio section, and what their payloads and header
 *          extensions mean.
 * Owns:    nothing but itself.
 * Units:   timestamp, duration: 48 kHz, also with G.711.
 * Not here: RED's own format (red.h), what becomes of a packet (voice_uplink.h).
 */
#ifndef EARSHOT_VOICE_PAYLOADS_H
#define EARSHOT_VOICE_PAYLOADS_H

#include "services/transceiver/core/media/reorder_buffer.h"
#include "services/transceiver/core/rtp/rtp_packet.h"
#include "services/transceiver/core/sdp/sdp_offer.h"

#define VOICE_PAYLOADS_LEVEL_DBOV_MIN (-127)

struct voice_payloads {
    enum voice_codec codec;
    uint32_t clock_units; /* of 48 kHz in one of the codec's clock */
    uint8_t voice_type;
    uint8_t red_type; /* or one that no packet has, as the next one */
    uint8_t telephone_event_type;
    uint8_t extmap_audio_level; /* 0 = not negotiated, as the next one */
    uint8_t extmap_mid;
    char mid[SDP_MID_CHARS_MAX + 1];
};

void voice_payloads_init(struct voice_payloads *p, const struct sdp_offer *offer);

/* Its MID names another section (RFC 8843). */
bool voice_payloads_is_of_other_section(const struct voice_payloads *p,
                                        const struct rtp_packet *packet);
/* One of the answer, or comfort noise. */
bool voice_payloads_is_known(const struct voice_payloads *p, uint8_t payload_type);
/* RFC 6464: -127..0; *dbov stays as it is when the packet does not say. */
void voice_payloads_read_level(const struct voice_payloads *p, const struct rtp_packet *packet,
                               int32_t *dbov);

/* A payload of voice_type, of at most VOICE_PACKET_BYTES_MAX, in its place; duration 0 when it is
 * empty or not of the codec. */
struct reorder_packet voice_payloads_numbered(const struct voice_payloads *p, uint64_t sequence,
                                              uint64_t timestamp, struct bytes_view payload);

#endif
