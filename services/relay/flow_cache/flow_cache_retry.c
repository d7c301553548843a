/* flow_cache_retry.c - see flow_cache_retry.h */
#include "services/relay/flow_cache/flow_cache_retry.h"

void flow_cache_retry_init(struct flow_cache_retry *r)
{
    *r = (struct flow_cache_retry){.wait_us = FLOW_CACHE_RETRY_MIN_US, .steady_us = TIME_NEVER};
}

bool flow_cache_retry_note_lost(struct flow_cache_retry *r, uint64_t now_us)
{
    const bool is_news = !r->is_told_down;
    r->next_try_us = now_us + r->wait_us;
    r->wait_us = time_earlier(2 * r->wait_us, FLOW_CACHE_RETRY_MAX_US);
    r->steady_us = TIME_NEVER;
    r->is_told_down = true;
    if (is_news) {
        r->reason[0] = '\0';
        r->reason_us = 0;
    }
    return is_news;
}

bool flow_cache_retry_note_reason(struct flow_cache_retry *r, const char *reason, uint64_t now_us)
{
    if (now_us < r->reason_us || strncmp(r->reason, reason, sizeof(r->reason) - 1) == 0) {
        return false;
    }
    const size_t len = strnlen(reason, sizeof(r->reason) - 1);
    memcpy(r->reason, reason, len);
    r->reason[len] = '\0';
    r->reason_us = now_us + FLOW_CACHE_REASON_US;
    return true;
}

void flow_cache_retry_note_greeted(struct flow_cache_retry *r, uint64_t now_us)
{
    r->steady_us = now_us + FLOW_CACHE_STEADY_US;
}

void flow_cache_retry_hurry(struct flow_cache_retry *r, uint64_t now_us)
{
    r->next_try_us = now_us;
}

bool flow_cache_retry_take_steady(struct flow_cache_retry *r, uint64_t now_us)
{
    if (now_us < r->steady_us) {
        return false;
    }
    r->wait_us = FLOW_CACHE_RETRY_MIN_US;
    r->steady_us = TIME_NEVER;
    r->is_told_down = false;
    return true;
}
