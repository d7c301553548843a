/*
 * speech_detector.h - a hint that somebody speaks
 *
 * Takes:   the voice in order, with the session time of its first sample, and what the client's
 *          encoder heard in it (voice_packet.h), where a packet tells.
 * Gives:   "started", 30 to 40 ms after the onset, and "stopped", 300 ms after the end, each once
 *          and in turn, with the time of the onset or end itself.
 * Rule:    in steps of 10 ms, above 100 Hz: three of four louder than the floor by 12 dB, in
 *          packets in which the encoder did not hear nothing; the end is 300 ms without such a
 *          step. The floor falls with the sound at once, and rises by 3 dB/s, by 30 where the
 *          encoder heard no voice. The first 100 ms only teach it the floor.
 * Units:   levels in dBov, 0 = full scale: -127..0. Times in microseconds of the session.
 * Owns:    nothing but itself; poll until false after every piece.
 * Not here: the decision what a voice means: that is the backend's.
 */
#ifndef EARSHOT_SPEECH_DETECTOR_H
#define EARSHOT_SPEECH_DETECTOR_H

#include "common/base/time_us.h"
#include "services/transceiver/core/media/voice_packet.h"

#define SPEECH_DETECTOR_STEP_US   (10 * US_PER_MS)
#define SPEECH_DETECTOR_LEVEL_MIN (-127)

struct speech_event {
    bool is_started;  /* else stopped */
    int level_dbov;   /* of the last step but in DTX; SPEECH_DETECTOR_LEVEL_MIN when not known */
    uint64_t time_us; /* of the onset, or of the end */
};

struct speech_detector {
    size_t step_samples;
    double keep;        /* of the high pass, by the rate */
    double passed;      /* its last output */
    double before;      /* its last input */
    double energy;      /* of the step that is not full yet, as it came */
    double high_energy; /* of the same, through the high pass */
    size_t filled;      /* its samples */
    double high_power;  /* through the high pass, smoothed over some steps */
    double floor_dbov;
    double level_dbov; /* of the last step, as it came */
    unsigned learnt;   /* steps, up to what the floor needs at first */
    uint8_t recent;    /* bit 0 the last step: it sounded like speech */
    unsigned quiet;    /* steps since one did */
    bool is_speech;
    struct speech_event event[2];
    size_t event_count;
};

/* rate_hz: of the PCM. */
void speech_detector_init(struct speech_detector *s, uint32_t rate_hz);

/* At most 120 ms, as are the next two. voice: UNKNOWN with G.711, and for what was concealed. */
void speech_detector_hear(struct speech_detector *s, const int16_t *pcm, size_t samples,
                          enum voice_packet_voice voice, uint64_t time_us);
/* Nothing is decoded here: the encoder's word is all there is. */
void speech_detector_hear_coded(struct speech_detector *s, enum voice_packet_voice voice,
                                uint64_t duration_us, uint64_t time_us);
/* The client sent nothing: no voice, and no floor to learn. */
void speech_detector_hear_nothing(struct speech_detector *s, uint64_t duration_us,
                                  uint64_t time_us);

MUST_USE bool speech_detector_poll(struct speech_detector *s, struct speech_event *out);
/* Between started and stopped. */
bool speech_detector_is_speech(const struct speech_detector *s);

#endif
