/* sctp_serial.h - numbers that wrap: TSN, SSN, request numbers (RFC 9260 s.1.6, RFC 1982) */
#ifndef EARSHOT_SCTP_SERIAL_H
#define EARSHOT_SCTP_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

/* a is older than b. Of two that are half the circle apart, each is. */
static inline bool sctp_tsn_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static inline bool sctp_ssn_before(uint16_t a, uint16_t b)
{
    return (int16_t)(uint16_t)(a - b) < 0;
}

#endif
