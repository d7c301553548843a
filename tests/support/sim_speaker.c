/* sim_speaker.c - see sim_speaker.h */
#include "tests/support/sim_speaker.h"

#include "tests/support/sim_sdp.h"

/* libwebrtc refreshes the noise each 400 ms. */
#define DTX_SLOTS 20

static void start_numbers(struct sim_speaker *s)
{
    s->next_sequence = (uint16_t)random_u32(random_seeded(&s->random));
    s->timestamp = random_u32(random_seeded(&s->random));
    s->previous_len = 0;
    if (s->wraps_soon) {
        s->next_sequence = (uint16_t)(UINT16_MAX - s->next_sequence % 256);
        s->timestamp = UINT32_MAX - s->timestamp % (256 * SIM_SPEAKER_SLOT_UNITS);
    }
}

void sim_speaker_init(struct sim_speaker *s, struct sim_voice *voice, uint32_t ssrc, uint64_t seed,
                      bool wraps_soon)
{
    *s = (struct sim_speaker){.voice = voice, .ssrc = ssrc, .wraps_soon = wraps_soon};
    random_generator_init(&s->random, seed);
    start_numbers(s);
}

void sim_speaker_change_ssrc(struct sim_speaker *s)
{
    const uint32_t timestamp = s->timestamp + 0x80000000;
    s->ssrc++;
    start_numbers(s);
    s->timestamp = timestamp;
}

/* The copy of the packet before; empty when there is none, or it does not fit RED's fields. */
static struct sim_red_block copy_of_previous(const struct sim_speaker *s)
{
    struct sim_red_block copy = {.timestamp_offset = s->timestamp - s->previous_timestamp};
    if (s->sends_red && copy.timestamp_offset <= SIM_RED_OFFSET_MAX &&
        s->previous_len <= SIM_RED_LENGTH_MAX) {
        copy.payload = bytes_view_of(s->previous, s->previous_len);
    }
    return copy;
}

size_t sim_speaker_next(struct sim_speaker *s, uint8_t *out)
{
    uint8_t payload[VOICE_PACKET_BYTES_MAX] = {0x08}; /* DTX: 20 ms of SILK, no frame */
    const bool is_dtx = s->is_silent && s->uses_dtx;
    size_t len = 1;
    s->timestamp += SIM_SPEAKER_SLOT_UNITS;
    s->silent_slots = is_dtx ? s->silent_slots + 1 : 0;
    if (s->is_muted || (is_dtx && s->silent_slots % DTX_SLOTS != 1)) {
        return 0;
    }
    if (!is_dtx) {
        s->said_count++;
        len = sim_voice_say(s->voice, s->is_silent, payload);
    }
    const bool is_garbage = s->garbage > 0 && !is_dtx;
    if (is_garbage) {
        s->garbage--;
        payload[0] |= 0x03; /* RFC 6716 s.3.2.5: so many frames that they do not fit */
        payload[1] = 0x3f;
    }
    const struct sim_red_block copy = copy_of_previous(s);
    const struct rtp_packet header = {.payload_type = s->sends_red ? SIM_SDP_RED : SIM_SDP_OPUS,
                                      .sequence_number = s->next_sequence++,
                                      .timestamp = s->timestamp,
                                      .ssrc = s->ssrc};
    s->said = (struct sim_said){.ssrc = s->ssrc,
                                .sequence_number = header.sequence_number,
                                .timestamp = s->timestamp,
                                .number = s->said_count - 1,
                                .is_dtx = is_dtx,
                                .is_garbage = is_garbage,
                                .has_copy = copy.payload.len > 0,
                                .copy_timestamp = s->previous_timestamp};
    const struct bytes_view primary = bytes_view_of(payload, len);
    uint8_t *body = out + RTP_PACKET_HEADER_BYTES;
    const size_t room = SIM_SPEAKER_PACKET_CAP - RTP_PACKET_HEADER_BYTES;
    rtp_packet_write_header(&header, out);
    size_t body_len = len;
    if (s->sends_red) {
        body_len = sim_red_write(SIM_SDP_OPUS, copy, primary, body, room);
    } else {
        memcpy(body, payload, len);
    }
    memcpy(s->previous, payload, len); /* the copy was taken before */
    s->previous_len = is_garbage ? 0 : len;
    s->previous_timestamp = s->timestamp;
    return RTP_PACKET_HEADER_BYTES + body_len;
}
