/* event_post.c - see event_post.h */
#include "services/transceiver/port/event_post.h"

#include "services/transceiver/port/session_facts.h"

/* What a message has beside its text, at most. */
#define SIDEBAND_HEAD_BYTES 256
/* Facts, their names, and the rest. */
#define NEWS_BYTES_MAX (2 * CONTROL_FACTS_MAX * (CONTROL_FACT_CHARS_MAX + 20) + 1024)

static_assert(SIDEBANDS_MAX == CONTROL_SIDEBANDS_MAX, "all that wait fit into a message");
static_assert(SIDEBAND_CALL_ID_CAP == CONTROL_CALL_ID_CHARS_MAX + 1, "a call id is a call id");

static bool post_sideband(struct event_post *p, const struct sideband_message *m)
{
    struct control_sideband_event event = {
        .sideband_id = m->sideband_id,
        .sequence = m->sequence,
        .waiting_count = m->waiting_count,
        .is_end = m->is_end,
        .text = m->text,
    };
    const size_t cap = SIDEBAND_HEAD_BYTES + m->text.len;
    uint8_t *room = event_mail_reserve(p->mail, cap);
    if (room == NULL) {
        return false;
    }
    memcpy(event.call_id, m->call_id, sizeof(event.call_id));
    memcpy(event.waiting, m->waiting, sizeof(event.waiting));
    const size_t len = control_encode_sideband_event(&event, (struct bytes_span){room, 0, cap});
    if (len > 0) {
        event_mail_commit(p->mail, EVENT_MAIL_SIDEBAND, len);
    }
    return len > 0;
}

void event_post_sidebands(struct event_post *p, struct sideband_outbox *outbox)
{
    struct sideband_message m;
    size_t cursor = 0;
    while (sideband_outbox_next(outbox, &cursor, &m)) {
        metric_add(post_sideband(p, &m) ? &p->counters->sideband_messages
                                        : &p->counters->sideband_messages_lost,
                   1);
    }
    sideband_outbox_clear(outbox);
    event_mail_knock(p->mail);
}

static size_t write_news(struct event_post *p, const struct session *s,
                         enum control_session_event_kind kind, struct bytes_span out,
                         uint64_t now_us)
{
    struct control_reply facts = {0};
    struct control_session_event event = {.instance_id = p->instance_id, .kind = kind};
    const char *call_id = session_call_id(s);
    memcpy(event.call_id, call_id, strnlen(call_id, sizeof(event.call_id) - 1));
    session_facts_fill(s, p->unix_offset_us, &facts, now_us);
    if (kind != CONTROL_SESSION_EVENT_CREATED) {
        event.timeline = facts.timeline;
    }
    if (kind == CONTROL_SESSION_EVENT_ENDED) {
        event.reason = facts.end_reason;
        event.totals = facts.counters;
    }
    return control_encode_session_event(&event, out);
}

void event_post_news(struct event_post *p, const struct session *s,
                     enum control_session_event_kind kind, uint64_t now_us)
{
    uint8_t *room = event_mail_reserve(p->mail, NEWS_BYTES_MAX);
    const size_t len =
        room == NULL ? 0
                     : write_news(p, s, kind, (struct bytes_span){room, 0, NEWS_BYTES_MAX}, now_us);
    if (len == 0) {
        metric_add(&p->counters->news_lost, 1);
        return;
    }
    event_mail_commit(p->mail, EVENT_MAIL_SESSION, len);
}
