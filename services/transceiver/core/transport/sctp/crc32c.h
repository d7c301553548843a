/*
 * crc32c.h - the checksum of SCTP packets (RFC 9260 appendix A)
 *
 * Takes:   bytes, in one piece or several: the result of one piece begins the next.
 * Speed:   the processor's instruction where it has one, else a table, ten times slower.
 */
#ifndef EARSHOT_CRC32C_H
#define EARSHOT_CRC32C_H

#include "common/base/bytes.h"

#define CRC32C_BEGIN 0

uint32_t crc32c_update(uint32_t crc, struct bytes_view bytes);
/* The same without the instruction. */
uint32_t crc32c_update_by_table(uint32_t crc, struct bytes_view bytes);

#endif
