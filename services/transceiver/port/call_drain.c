/* call_drain.c - see call_drain.h */
#include "services/transceiver/port/call_drain.h"

void call_drain_begin(struct shard_calls *calls, uint64_t deadline_us)
{
    calls->is_draining = true;
    calls->expire_us = deadline_us > SESSION_EXPIRING_US ? deadline_us - SESSION_EXPIRING_US : 0;
}

void call_drain_tick(struct shard_calls *calls, uint64_t now_us)
{
    size_t cursor = 0;
    struct session *s = NULL;
    if (now_us < calls->expire_us) {
        return;
    }
    calls->expire_us = TIME_NEVER;
    while ((s = session_registry_next(calls->registry, &cursor)) != NULL) {
        session_expire(s, now_us);
        shard_calls_settle(calls, s, now_us);
    }
}
