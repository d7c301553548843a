/*
 * event_post.h - news of calls and events for side-bands, written as letters of event_mail
 *
 * Takes:   what the sessions of a shard have for their side-bands; that a call was created,
 *          connected or ended.
 * Gives:   the messages of control_event.h in the mail; counts of those that found no room.
 * Threads: the shard's.
 */
#ifndef EARSHOT_EVENT_POST_H
#define EARSHOT_EVENT_POST_H

#include "common/control/control_event.h"
#include "common/runtime/metrics.h"
#include "services/transceiver/core/session/session.h"
#include "services/transceiver/port/event_mail.h"

struct event_post_counters {
    metric_value sideband_messages;
    metric_value sideband_messages_lost;
    metric_value news_lost;
};

struct event_post {
    struct event_mail *mail;              /* borrowed */
    struct event_post_counters *counters; /* borrowed */
    uint32_t instance_id;
    uint64_t unix_offset_us; /* Unix time less now_us */
};

/* Everything that is in the outbox, which is empty then. */
void event_post_sidebands(struct event_post *p, struct sideband_outbox *outbox);
void event_post_news(struct event_post *p, const struct session *s,
                     enum control_session_event_kind kind, uint64_t now_us);

#endif
