/*
 * virtual_time.h - the system's clock, set by the test
 *
 * libssl reads the clock with gettimeofday and time. A program that defines them itself takes them
 * over, provided that they are visible to shared libraries. Include it in one file of a test; let a
 * test assert that virtual_time_reads has grown, so that this cannot stop working unseen.
 */
#ifndef EARSHOT_VIRTUAL_TIME_H
#define EARSHOT_VIRTUAL_TIME_H

#include "common/base/time_us.h"

#include <sys/time.h>
#include <time.h>

/* Time 0 of the test, as the calendar has it: certificates must be valid. */
#define VIRTUAL_TIME_CALENDAR_S 1767225600 /* 2026-01-01 */
#define VISIBLE_TO_LIBRARIES    __attribute__((visibility("default")))

static uint64_t virtual_time_us;
static unsigned long virtual_time_reads;

VISIBLE_TO_LIBRARIES int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    (void)zone;
    virtual_time_reads++;
    out->tv_sec = (time_t)(VIRTUAL_TIME_CALENDAR_S + virtual_time_us / US_PER_S);
    out->tv_usec = (suseconds_t)(virtual_time_us % US_PER_S);
    return 0;
}

VISIBLE_TO_LIBRARIES time_t time(time_t *out)
{
    const time_t seconds = (time_t)(VIRTUAL_TIME_CALENDAR_S + virtual_time_us / US_PER_S);
    if (out != NULL) {
        *out = seconds;
    }
    return seconds;
}

#endif
