/*
 * sim_speaker.h - the RTP packets that a simulated client says, before SRTP
 *
 * Gives:   one packet a slot of 20 ms, or none: plain Opus, RED with the packet before as its copy,
 *          and when it is silent with DTX one packet of one byte each 400 ms.
 * Numbers: sequence + 1 a packet, timestamp + 960 a slot.
 */
#ifndef EARSHOT_SIM_SPEAKER_H
#define EARSHOT_SIM_SPEAKER_H

#include "services/transceiver/core/rtp/rtp_packet.h"
#include "tests/support/sim_red.h"
#include "tests/support/sim_voice.h"

#define SIM_SPEAKER_SLOT_UNITS 960
#define SIM_SPEAKER_PACKET_CAP 1500

/* What was in a packet. */
struct sim_said {
    uint32_t ssrc;
    uint16_t sequence_number;
    uint32_t timestamp;
    uint64_t number; /* of the fixed packet in it; not of DTX */
    bool is_dtx;
    bool is_garbage; /* no codec can read it */
    bool has_copy;   /* RED: of the packet with copy_timestamp */
    uint32_t copy_timestamp;
};

struct sim_speaker {
    struct sim_voice *voice; /* borrowed */
    struct random_generator random;
    bool uses_dtx;
    bool wraps_soon;
    bool sends_red;   /* may change */
    bool is_silent;   /* likewise */
    unsigned garbage; /* so many packets to come are; likewise */
    bool is_muted;    /* likewise: nothing at all is sent, the timestamps run on */
    uint32_t ssrc;
    uint16_t next_sequence;
    uint32_t timestamp; /* of the slot */
    unsigned silent_slots;
    uint64_t said_count;
    uint32_t previous_timestamp;
    size_t previous_len;
    uint8_t previous[VOICE_PACKET_BYTES_MAX];
    struct sim_said said; /* the latest; ssrc 0 before the first */
};

/* Random numbers to begin with; wraps_soon: close to their end. */
void sim_speaker_init(struct sim_speaker *s, struct sim_voice *voice, uint32_t ssrc, uint64_t seed,
                      bool wraps_soon);
/* Another track: its timestamps are half the range away, no one can be taken for one of the old. */
void sim_speaker_change_ssrc(struct sim_speaker *s);

/* The next slot. Length of its packet, 0: none. out: SIM_SPEAKER_PACKET_CAP. */
size_t sim_speaker_next(struct sim_speaker *s, uint8_t *out);

#endif
