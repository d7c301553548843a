/*
 * g711.h - PCMU and PCMA (ITU-T G.711): one byte for each sample of 8 kHz
 *
 * Units:   samples of 16 bits, full scale; G.711 knows the upper 14 (PCMU) or 13 (PCMA) of them.
 * Fails:   never: every byte is a sample.
 * Not here: gaps (g711_gap.h), other rates (resampler.h).
 */
#ifndef EARSHOT_G711_H
#define EARSHOT_G711_H

#include <stdint.h>

int16_t g711_decode_pcmu(uint8_t code);
int16_t g711_decode_pcma(uint8_t code);
uint8_t g711_encode_pcmu(int16_t sample);
uint8_t g711_encode_pcma(int16_t sample);

#endif
