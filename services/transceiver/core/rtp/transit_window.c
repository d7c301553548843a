/* transit_window.c - see transit_window.h */
#include "services/transceiver/core/rtp/transit_window.h"

/* A slope through fewer seconds tells of the network, not of the clocks. */
#define DRIFT_SECONDS_MIN 10

/* What no crystal does comes from a sender without a clock. */
#define DRIFT_PPM_MAX 100000

void transit_window_init(struct transit_window *w)
{
    memset(w, 0, sizeof(*w));
}

void transit_window_note(struct transit_window *w, int64_t transit_us, uint64_t now_us)
{
    const uint64_t second = now_us / US_PER_S + 1; /* 0 is no second */
    const size_t i = second % TRANSIT_WINDOW_SECONDS;
    if (w->fastest[i].second != second || transit_us < w->fastest[i].transit_us) {
        w->fastest[i].second = second;
        w->fastest[i].arrived_us = now_us;
        w->fastest[i].transit_us = transit_us;
    }
    w->newest_second = second;
}

/* Of the `seconds` up to the newest one. */
static bool is_recent(const struct transit_window *w, size_t i, uint64_t seconds)
{
    return w->fastest[i].second != 0 && w->newest_second - w->fastest[i].second < seconds;
}

uint64_t transit_window_lateness_us(const struct transit_window *w, int64_t transit_us)
{
    int64_t fastest_us = transit_us;
    for (size_t i = 0; i < TRANSIT_WINDOW_SECONDS; i++) {
        if (is_recent(w, i, TRANSIT_WINDOW_MINIMUM_SECONDS) &&
            w->fastest[i].transit_us < fastest_us) {
            fastest_us = w->fastest[i].transit_us;
        }
    }
    return (uint64_t)(transit_us - fastest_us);
}

int32_t transit_window_drift_ppm(const struct transit_window *w)
{
    const uint64_t origin_us = w->newest_second * US_PER_S;
    double count = 0;
    double sum_x = 0;
    double sum_y = 0;
    double sum_xx = 0;
    double sum_xy = 0;
    for (size_t i = 0; i < TRANSIT_WINDOW_SECONDS; i++) {
        /* The newest second is not over: its fastest packet may still come. */
        if (is_recent(w, i, TRANSIT_WINDOW_SECONDS) && w->fastest[i].second != w->newest_second) {
            const double x = (double)(int64_t)(w->fastest[i].arrived_us - origin_us);
            const double y = (double)w->fastest[i].transit_us;
            count += 1;
            sum_x += x;
            sum_y += y;
            sum_xx += x * x;
            sum_xy += x * y;
        }
    }
    if (count < DRIFT_SECONDS_MIN) {
        return 0;
    }
    /* Least squares. A clock that is fast captures ahead of the arrivals: the transit falls. */
    const double slope = (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
    const double ppm = -1e6 * slope;
    if (ppm > DRIFT_PPM_MAX || ppm < -DRIFT_PPM_MAX) {
        return ppm > 0 ? DRIFT_PPM_MAX : -DRIFT_PPM_MAX;
    }
    return (int32_t)(ppm < 0 ? ppm - 0.5 : ppm + 0.5);
}
