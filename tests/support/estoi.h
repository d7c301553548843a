/*
 * estoi.h - how intelligible a damaged recording is to an ear: ESTOI (Jensen and Taal, 2016)
 *
 * Takes:   16-bit mono at 16 kHz; the reference first, then any number of damaged versions of it,
 *          of the same length and aligned with it.
 * Gives:   1.0 = as the reference; below 0.6 it is hard to understand.
 * Owns:    the envelopes of the reference.
 * Steps:   10 kHz, frames of 256 with half overlap, FFT of 512, 15 third-octave bands from 150 Hz;
 *          frames 40 dB below the loudest are left out; correlation over segments of 30 frames,
 *          rows and then columns normalised.
 * Why here: the reference of a loss test is the loss-free decode of the same packets, so only the
 *          loss is judged, and a shifted timeline scores low.
 */
#ifndef EARSHOT_ESTOI_H
#define EARSHOT_ESTOI_H

#include "common/base/bytes.h"

#define ESTOI_RATE_HZ 16000

struct estoi;

/* NULL without memory, or with less than 0.4 s of sound. */
struct estoi *estoi_create(const int16_t *reference, size_t samples);
void estoi_destroy(struct estoi *e);

/* As many samples as the reference. Below 0: no memory. */
double estoi_score(const struct estoi *e, const int16_t *damaged);

#endif
