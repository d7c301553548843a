/*
 * resampler.h - PCM from one rate to another, for G.711 between 8 kHz and the backend's rate
 *
 * Takes:   mono 16-bit samples in pieces whose length is a whole number of samples at both rates.
 * Gives:   for each piece its own length at the other rate, some 5 ms of 8 kHz later (0 when the
 *          rates are the same: then it copies).
 * Owns:    the filter and its past, some KB; no heap after create.
 */
#ifndef EARSHOT_RESAMPLER_H
#define EARSHOT_RESAMPLER_H

#include <stddef.h>
#include <stdint.h>

struct resampler;

/* One rate a multiple of the other. NULL without memory. */
struct resampler *resampler_create(uint32_t from_hz, uint32_t to_hz);
void resampler_destroy(struct resampler *r);

/* Forget the past. */
void resampler_reset(struct resampler *r);
/* in and out do not overlap; out has room for the piece. Number of samples written. */
size_t resampler_run(struct resampler *r, const int16_t *in, size_t samples, int16_t *out);

#endif
