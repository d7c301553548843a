/* voice_payloads.c - see voice_payloads.h */
#include "services/transceiver/core/session/voice_payloads.h"

#include "services/transceiver/core/rtp/rtp_clock.h"
#include "services/transceiver/core/rtp/rtp_receiver.h"

/* RFC 6464 s.3: 0 is the loudest, 127 is silence; the bit above is the client's own VAD. */
#define LEVEL_MASK 0x7f

/* RFC 6716 s.3.1 and libopus: a packet without a byte of coded audio in it. */
#define DTX_BYTES_MAX 2

/* RFC 3551 s.6. */
#define COMFORT_NOISE_TYPE 13

void voice_payloads_init(struct voice_payloads *p, const struct sdp_offer *offer)
{
    *p = (struct voice_payloads){
        .codec = offer->audio_codec,
        .clock_units = RTP_CLOCK_HZ / voice_codec_clock_hz(offer->audio_codec),
        .voice_type = offer->audio_payload_type,
        .red_type = offer->has_red ? offer->red_payload_type : RTP_RECEIVER_NO_TYPE,
        .telephone_event_type =
            offer->has_telephone_event ? offer->telephone_event_payload_type : RTP_RECEIVER_NO_TYPE,
        .extmap_audio_level = offer->extmap_audio_level,
        .extmap_mid = offer->extmap_mid,
    };
    for (size_t i = 0; i < offer->section_count; i++) {
        const struct sdp_section *section = &offer->section[i];
        if (section->is_accepted && section->media == SDP_MEDIA_AUDIO) {
            memcpy(p->mid, section->mid, sizeof(p->mid));
        }
    }
}

bool voice_payloads_is_of_other_section(const struct voice_payloads *p,
                                        const struct rtp_packet *packet)
{
    struct bytes_view mid;
    return p->extmap_mid != 0 && rtp_packet_find_extension(packet, p->extmap_mid, &mid) &&
           !bytes_equal(mid, bytes_view_of_text(p->mid));
}

bool voice_payloads_is_known(const struct voice_payloads *p, uint8_t payload_type)
{
    return payload_type == p->voice_type || payload_type == p->red_type ||
           payload_type == p->telephone_event_type || payload_type == COMFORT_NOISE_TYPE;
}

void voice_payloads_read_level(const struct voice_payloads *p, const struct rtp_packet *packet,
                               int32_t *dbov)
{
    struct bytes_view level;
    if (p->extmap_audio_level != 0 &&
        rtp_packet_find_extension(packet, p->extmap_audio_level, &level) && level.len > 0) {
        *dbov = -(level.data[0] & LEVEL_MASK);
    }
}

struct reorder_packet voice_payloads_numbered(const struct voice_payloads *p, uint64_t sequence,
                                              uint64_t timestamp, struct bytes_view payload)
{
    const bool is_opus = p->codec == VOICE_CODEC_OPUS;
    return (struct reorder_packet){
        .sequence = sequence,
        .timestamp = timestamp,
        .duration = voice_packet_duration(p->codec, payload) * p->clock_units,
        .is_dtx = is_opus && payload.len <= DTX_BYTES_MAX,
        .has_fec = is_opus && voice_packet_has_fec(payload),
        .payload = payload,
    };
}
