/* speech_detector.c - see speech_detector.h */
#include "services/transceiver/core/media/speech_detector.h"

#include <assert.h>
#include <math.h>

#define STEPS_PER_S 100

#define MARGIN_DB    12.0
#define ONSET_STEPS  3
#define ONSET_WINDOW 4
#define STOP_STEPS   30
#define LEARN_STEPS  10
#define PIECE_US_MAX (120 * US_PER_MS)

/* A room is not quieter to us, so that what a microphone hums is no voice; and at first it is not
 * louder, so that who speaks from the first packet on is heard. */
#define FLOOR_MIN       (-65.0)
#define FLOOR_FIRST_MAX (-45.0)
/* Below this is a muted microphone: of the room it tells nothing. */
#define MUTED_DBOV (-90.0)

/* No voice is lower; rooms, desks and cars are. */
#define HIGH_PASS_HZ 100.0
/* The high pass would halve its memory of a sound for ever, down to numbers that cost the processor
 * a hundred times the others. */
#define INAUDIBLE 1e-3
/* Of the step in the power that the floor follows: rumble has gaps of 10 ms, a room has not. */
#define SMOOTH_SHARE 0.25

#define RISE_DB          (3.0 / STEPS_PER_S)
#define RISE_NO_VOICE_DB (30.0 / STEPS_PER_S)
#define FALL_SHARE       0.3

void speech_detector_init(struct speech_detector *s, uint32_t rate_hz)
{
    *s = (struct speech_detector){
        .step_samples = rate_hz / STEPS_PER_S,
        .keep = exp(-2 * M_PI * HIGH_PASS_HZ / rate_hz),
        .floor_dbov = FLOOR_FIRST_MAX,
        .level_dbov = SPEECH_DETECTOR_LEVEL_MIN,
    };
}

/* power: of full scale, 1 at most. */
static double level_of(double power)
{
    return fmax(10 * log10(power + 1e-13), SPEECH_DETECTOR_LEVEL_MIN);
}

/* Every sample that came; true when a step is full. */
static bool take_sample(struct speech_detector *s, double sample)
{
    s->passed = s->keep * (s->passed + sample - s->before);
    s->before = sample;
    s->energy += sample * sample;
    s->high_energy += s->passed * s->passed;
    return ++s->filled == s->step_samples;
}

static void learn_floor(struct speech_detector *s, double power, enum voice_packet_voice voice)
{
    if (level_of(power) < MUTED_DBOV) {
        return;
    }
    s->high_power += SMOOTH_SHARE * (power - s->high_power);
    const double level = level_of(s->high_power);
    if (s->learnt < LEARN_STEPS) {
        s->learnt++;
        s->high_power = s->learnt == 1 ? power : s->high_power;
        s->floor_dbov = fmin(s->floor_dbov, level_of(s->high_power));
    } else if (level < s->floor_dbov) {
        s->floor_dbov += FALL_SHARE * (level - s->floor_dbov);
    } else {
        const double rise = voice == VOICE_PACKET_VOICE_NONE ? RISE_NO_VOICE_DB : RISE_DB;
        s->floor_dbov = fmin(s->floor_dbov + rise, level);
    }
    s->floor_dbov = fmax(s->floor_dbov, FLOOR_MIN);
}

static void tell(struct speech_detector *s, bool is_started, uint64_t time_us)
{
    assert(s->event_count < COUNT_OF(s->event));
    s->is_speech = is_started;
    s->event[s->event_count++] = (struct speech_event){
        .is_started = is_started,
        .level_dbov = (int)lround(s->level_dbov),
        .time_us = time_us,
    };
}

static uint64_t before(uint64_t end_us, unsigned steps)
{
    const uint64_t ago_us = steps * SPEECH_DETECTOR_STEP_US;
    return end_us > ago_us ? end_us - ago_us : 0;
}

/* The onset is where the oldest of them begins. */
static void look_for_onset(struct speech_detector *s, uint64_t end_us)
{
    unsigned count = 0;
    unsigned oldest = 0;
    for (unsigned i = 0; i < ONSET_WINDOW; i++) {
        if ((s->recent >> i & 1) != 0) {
            count++;
            oldest = i;
        }
    }
    if (count >= ONSET_STEPS) {
        tell(s, true, before(end_us, oldest + 1));
    }
}

static void step(struct speech_detector *s, bool sounds_like_speech, uint64_t end_us)
{
    s->recent = (uint8_t)(s->recent << 1 | (sounds_like_speech ? 1 : 0));
    s->quiet = sounds_like_speech ? 0 : s->quiet + 1;
    if (!s->is_speech) {
        look_for_onset(s, end_us);
    } else if (s->quiet >= STOP_STEPS) {
        tell(s, false, before(end_us, s->quiet));
        s->recent = 0;
    }
}

/* True when the step that is full sounds like speech. */
static bool judge_step(struct speech_detector *s, enum voice_packet_voice voice)
{
    const double scale = (double)s->step_samples * 32768.0 * 32768.0;
    const double power = s->high_energy / scale;
    s->level_dbov = level_of(s->energy / scale);
    s->energy = 0;
    s->high_energy = 0;
    s->filled = 0;
    if (fabs(s->passed) < INAUDIBLE) {
        s->passed = 0;
    }
    const bool is_loud = s->learnt == LEARN_STEPS && level_of(power) > s->floor_dbov + MARGIN_DB;
    learn_floor(s, power, voice);
    return is_loud && voice != VOICE_PACKET_VOICE_NONE;
}

void speech_detector_hear(struct speech_detector *s, const int16_t *pcm, size_t samples,
                          enum voice_packet_voice voice, uint64_t time_us)
{
    const uint64_t rate_hz = s->step_samples * STEPS_PER_S;
    assert(samples * US_PER_S <= PIECE_US_MAX * rate_hz);
    for (size_t i = 0; i < samples; i++) {
        if (take_sample(s, pcm[i])) {
            step(s, judge_step(s, voice), time_us + (i + 1) * US_PER_S / rate_hz);
        }
    }
}

static void pass(struct speech_detector *s, bool sounds_like_speech, uint64_t duration_us,
                 uint64_t time_us)
{
    assert(duration_us <= PIECE_US_MAX);
    s->energy = 0;
    s->high_energy = 0;
    s->filled = 0;
    s->level_dbov = SPEECH_DETECTOR_LEVEL_MIN;
    for (uint64_t at_us = SPEECH_DETECTOR_STEP_US; at_us <= duration_us;
         at_us += SPEECH_DETECTOR_STEP_US) {
        step(s, sounds_like_speech, time_us + at_us);
    }
}

void speech_detector_hear_coded(struct speech_detector *s, enum voice_packet_voice voice,
                                uint64_t duration_us, uint64_t time_us)
{
    pass(s, voice == VOICE_PACKET_VOICE_HEARD, duration_us, time_us);
}

void speech_detector_hear_nothing(struct speech_detector *s, uint64_t duration_us, uint64_t time_us)
{
    pass(s, false, duration_us, time_us);
}

bool speech_detector_poll(struct speech_detector *s, struct speech_event *out)
{
    if (s->event_count == 0) {
        return false;
    }
    *out = s->event[0];
    s->event[0] = s->event[1];
    s->event_count--;
    return true;
}

bool speech_detector_is_speech(const struct speech_detector *s)
{
    return s->is_speech;
}
