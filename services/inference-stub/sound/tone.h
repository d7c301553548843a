/*
 * tone.h - a sine whose phase is known at every sample
 *
 * Gives:   sample n = TONE_AMPLITUDE * sin(2 pi n frequency / rate), n counted from init, exact for
 *          ever: who hears a piece of it can tell which piece. Whole hertz only.
 */
#ifndef EARSHOT_TONE_H
#define EARSHOT_TONE_H

#include <stddef.h>
#include <stdint.h>

#define TONE_AMPLITUDE 8192 /* -12 dB of full scale */

struct tone {
    uint32_t rate_hz;
    uint32_t frequency_hz;
    uint32_t phase; /* n * frequency_hz modulo rate_hz */
};

void tone_init(struct tone *t, uint32_t frequency_hz, uint32_t rate_hz);
void tone_generate(struct tone *t, int16_t *out, size_t count);

#endif
