/* sdp_audio.c - see sdp_audio.h */
#include "services/transceiver/core/sdp/sdp_audio.h"

static bool is_voice(enum sdp_codec codec)
{
    return codec == SDP_CODEC_OPUS || codec == SDP_CODEC_PCMU || codec == SDP_CODEC_PCMA;
}

static enum voice_codec voice_codec_of(enum sdp_codec codec)
{
    switch (codec) {
    case SDP_CODEC_PCMU:
        return VOICE_CODEC_PCMU;
    case SDP_CODEC_PCMA:
        return VOICE_CODEC_PCMA;
    default:
        return VOICE_CODEC_OPUS;
    }
}

/* The first voice, or SDP_NO_PAYLOAD_TYPE. */
static uint8_t find_voice(const struct sdp_attributes *a, struct bytes_view payload_types)
{
    for (size_t i = 0; i < payload_types.len; i++) {
        if (is_voice(a->codec[payload_types.data[i]])) {
            return payload_types.data[i];
        }
    }
    return SDP_NO_PAYLOAD_TYPE;
}

/* The first payload type with that codec, or SDP_NO_PAYLOAD_TYPE. */
static uint8_t find_codec(const struct sdp_attributes *a, struct bytes_view payload_types,
                          enum sdp_codec codec)
{
    for (size_t i = 0; i < payload_types.len; i++) {
        if (a->codec[payload_types.data[i]] == codec) {
            return payload_types.data[i];
        }
    }
    return SDP_NO_PAYLOAD_TYPE;
}

/* The first RED whose blocks are all of that Opus, or SDP_NO_PAYLOAD_TYPE. */
static uint8_t find_red(const struct sdp_attributes *a, struct bytes_view payload_types,
                        uint8_t opus)
{
    for (size_t i = 0; i < payload_types.len; i++) {
        const uint8_t payload_type = payload_types.data[i];
        if (a->codec[payload_type] == SDP_CODEC_RED && a->red_block[payload_type] == opus) {
            return payload_type;
        }
    }
    return SDP_NO_PAYLOAD_TYPE;
}

bool sdp_audio_choose(const struct sdp_attributes *a, struct bytes_view payload_types,
                      struct sdp_offer *out)
{
    const uint8_t voice = find_voice(a, payload_types);
    if (voice == SDP_NO_PAYLOAD_TYPE) {
        return false;
    }
    out->audio_payload_type = voice;
    out->audio_codec = voice_codec_of(a->codec[voice]);
    out->has_nack = a->has_nack[voice];
    const bool is_opus = out->audio_codec == VOICE_CODEC_OPUS;
    out->red_payload_type = is_opus ? find_red(a, payload_types, voice) : SDP_NO_PAYLOAD_TYPE;
    out->has_red = out->red_payload_type != SDP_NO_PAYLOAD_TYPE;
    out->telephone_event_payload_type =
        find_codec(a, payload_types,
                   is_opus ? SDP_CODEC_TELEPHONE_EVENT_48KHZ : SDP_CODEC_TELEPHONE_EVENT_8KHZ);
    out->has_telephone_event = out->telephone_event_payload_type != SDP_NO_PAYLOAD_TYPE;
    return true;
}
