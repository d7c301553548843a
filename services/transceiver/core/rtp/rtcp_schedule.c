/* rtcp_schedule.c - see rtcp_schedule.h */
#include "services/transceiver/core/rtp/rtcp_schedule.h"

#define FIRST_REPORT_US (500 * US_PER_MS)
#define DENSE_PERIOD_US (10 * US_PER_S)
#define DENSE_US_MIN    (500 * US_PER_MS)
#define DENSE_US_MAX    (1500 * US_PER_MS)
#define RELAXED_US_MIN  (2500 * US_PER_MS)
#define RELAXED_US_MAX  (5 * US_PER_S)
#define HASTY_US_MIN    (250 * US_PER_MS)

void rtcp_schedule_init(struct rtcp_schedule *s, uint64_t seed)
{
    *s = (struct rtcp_schedule){.deadline_us = TIME_NEVER};
    random_generator_init(&s->random, seed);
}

void rtcp_schedule_first_packet(struct rtcp_schedule *s, uint64_t now_us)
{
    s->deadline_us = time_earlier(s->deadline_us, now_us + FIRST_REPORT_US);
    s->dense_until_us = now_us + DENSE_PERIOD_US;
}

void rtcp_schedule_hasten(struct rtcp_schedule *s, uint64_t now_us)
{
    if (s->has_reported) {
        const uint64_t hasty_us = time_later(now_us, s->reported_us + HASTY_US_MIN);
        s->deadline_us = time_earlier(s->deadline_us, hasty_us);
    }
}

uint64_t rtcp_schedule_next_timeout(const struct rtcp_schedule *s)
{
    return s->deadline_us;
}

bool rtcp_schedule_take(struct rtcp_schedule *s, uint64_t now_us)
{
    if (now_us < s->deadline_us) {
        return false;
    }
    s->has_reported = true;
    s->reported_us = now_us;
    const bool dense = now_us < s->dense_until_us;
    const uint64_t min_us = dense ? DENSE_US_MIN : RELAXED_US_MIN;
    const uint64_t max_us = dense ? DENSE_US_MAX : RELAXED_US_MAX;
    s->deadline_us = now_us + min_us + random_generator_next(&s->random) % (max_us - min_us + 1);
    return true;
}
