/*
 * clock.h - the two clocks of a process
 *
 * Monotonic for every timer; wall clock only for log stamps, token expiry and certificates.
 */
#ifndef EARSHOT_CLOCK_H
#define EARSHOT_CLOCK_H

#include "common/base/time_us.h"

uint64_t clock_now_us(void);
uint64_t clock_unix_us(void);

#endif
