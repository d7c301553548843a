/* voice_activity.c - see voice_activity.h */
#include "services/inference-stub/sound/voice_activity.h"

#include <math.h>

/* The floor stays in this range: a silent line is not a reason to take a breath for speech, nor a
 * loud one to take nothing for it. */
#define FLOOR_MIN_DBOV   (-60.0)
#define FLOOR_MAX_DBOV   (-25.0)
#define FLOOR_START_DBOV (-45.0)

#define FLOOR_FALL        0.25 /* of the distance, each step */
#define FLOOR_RISE_DB     0.02 /* each step: 2 dB a second */
#define FLOOR_RISE_DB_MIN 0.01 /* while somebody speaks */

void voice_activity_init(struct voice_activity *v)
{
    *v = (struct voice_activity){
        .onset_db = VOICE_ONSET_DB, .stop_ms = VOICE_STOP_MS, .floor_dbov = FLOOR_START_DBOV};
}

static double mean_square(struct pcm_view step)
{
    double sum = 0;
    for (size_t i = 0; i < step.count; i++) {
        const double sample = step.samples[i];
        sum += sample * sample;
    }
    return sum / (double)step.count;
}

static void move_floor(struct voice_activity *v, double level_dbov)
{
    if (level_dbov < v->floor_dbov) {
        v->floor_dbov += FLOOR_FALL * (level_dbov - v->floor_dbov);
    } else {
        v->floor_dbov += v->is_speaking ? FLOOR_RISE_DB_MIN : FLOOR_RISE_DB;
        v->floor_dbov = fmin(v->floor_dbov, level_dbov);
    }
    v->floor_dbov = fmin(fmax(v->floor_dbov, FLOOR_MIN_DBOV), FLOOR_MAX_DBOV);
}

static bool step_is_loud(struct voice_activity *v, struct pcm_view step)
{
    v->energy = mean_square(step) / (32768.0 * 32768.0);
    if (v->energy <= 0) {
        return false; /* a gap in the line: it tells nothing about the room */
    }
    const double level_dbov = 10 * log10(v->energy);
    const bool is_loud = level_dbov > v->floor_dbov + v->onset_db;
    move_floor(v, level_dbov);
    return is_loud;
}

void voice_activity_stop(struct voice_activity *v)
{
    v->is_speaking = false;
    v->recent = 0;
}

enum voice_change voice_activity_step(struct voice_activity *v, struct pcm_view step)
{
    const bool is_loud = step_is_loud(v, step);
    v->recent = (v->recent << 1 | is_loud) & 0xf;
    if (!v->is_speaking) {
        if (__builtin_popcount(v->recent) < 3) {
            return VOICE_UNCHANGED;
        }
        v->is_speaking = true;
        v->quiet_ms = 0;
        v->speech_ms = 3 * VOICE_STEP_MS;
        return VOICE_STARTED;
    }
    if (is_loud) {
        v->quiet_ms = 0;
        v->speech_ms += VOICE_STEP_MS;
        return VOICE_UNCHANGED;
    }
    v->quiet_ms += VOICE_STEP_MS;
    if (v->quiet_ms < v->stop_ms) {
        return VOICE_UNCHANGED;
    }
    voice_activity_stop(v);
    return VOICE_STOPPED;
}
