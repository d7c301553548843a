/* voice_over_loss.c - a recording as the voice agent hears it over a bad network
 *
 * usage: voice_over_loss IN.raw OUT.raw REPAIR LOST_PERCENT BURST SEED
 *        16-bit mono at 16 kHz, both; REPAIR: concealed, fec, red or red+fec
 */
#include "services/inference-stub/sound/pcm_resample.h"
#include "tests/support/lossy_voice.h"

#include <stdio.h>
#include <stdlib.h>

#define SAMPLES_MAX ((size_t)600 * LOSSY_VOICE_OUT_HZ)

static int16_t heard[SAMPLES_MAX];
static bool is_lost[SAMPLES_MAX / LOSSY_VOICE_FRAME_SAMPLES];

static struct lossy_voice *read_voice(const char *path, unsigned loss_percent)
{
    FILE *file = fopen(path, "rb");
    struct pcm_view at_48k;
    if (file == NULL) {
        return NULL;
    }
    const size_t count = fread(heard, sizeof(*heard), SAMPLES_MAX, file);
    (void)fclose(file);
    if (!pcm_resample((struct pcm_view){heard, count}, LOSSY_VOICE_OUT_HZ, LOSSY_VOICE_IN_HZ,
                      &at_48k)) {
        return NULL;
    }
    struct lossy_voice *v = lossy_voice_create(at_48k.samples, at_48k.count, loss_percent);
    free((void *)(uintptr_t)at_48k.samples);
    return v;
}

static bool parse_repair(const char *name, enum lossy_voice_repair *out)
{
    static const char *const names[] = {"concealed", "fec", "red", "red+fec"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum lossy_voice_repair)i;
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    enum lossy_voice_repair repair;
    if (argc != 7 || !parse_repair(argv[3], &repair)) {
        (void)fputs("usage: voice_over_loss IN.raw OUT.raw REPAIR LOST_PERCENT BURST SEED\n",
                    stderr);
        return 1;
    }
    const unsigned long percent = strtoul(argv[4], NULL, 10);
    struct lossy_voice *v = read_voice(argv[1], (unsigned)percent);
    FILE *out = fopen(argv[2], "wb");
    if (v == NULL || out == NULL) {
        (void)fprintf(stderr, "voice_over_loss: cannot use %s or %s\n", argv[1], argv[2]);
        return 2;
    }
    struct random_generator random;
    random_generator_init(&random, strtoul(argv[6], NULL, 10));
    const size_t frames = lossy_voice_frames(v);
    if (percent > 0) {
        lossy_voice_lose((double)percent / 100, strtod(argv[5], NULL), &random, frames, is_lost);
    }
    lossy_voice_hear(v, is_lost, repair, heard);
    const size_t samples = frames * LOSSY_VOICE_FRAME_SAMPLES;
    const bool is_written = fwrite(heard, sizeof(*heard), samples, out) == samples;
    lossy_voice_destroy(v);
    return fclose(out) == 0 && is_written ? 0 : 2;
}
