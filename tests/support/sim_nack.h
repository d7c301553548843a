/*
 * sim_nack.h - a generic NACK (RFC 4585 s.6.2.1), written as a client that is not ours would
 */
#ifndef EARSHOT_SIM_NACK_H
#define EARSHOT_SIM_NACK_H

#include "common/base/bytes.h"

#define SIM_NACK_PACKETS_MAX 32 /* more are not asked for */
#define SIM_NACK_BYTES_MAX   (12 + 4 * SIM_NACK_PACKETS_MAX)

/* `count` packets of `ssrc` from `first` on are missing, each named by itself; alone, without a
 * report (RFC 5506). Returns the length. */
size_t sim_nack_write(uint32_t own_ssrc, uint32_t ssrc, uint16_t first, uint16_t count,
                      uint8_t out[SIM_NACK_BYTES_MAX]);

#endif
