/* backend_leg.c - see backend_leg.h */
#include "services/transceiver/core/session/backend_leg.h"

#define JSON_CAP 256

static void emit(struct backend_leg *leg, enum backend_frame_type type, struct bytes_view payload,
                 uint64_t now_us)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type,
        .session = leg->session_id,
        .time_us = time_since(leg->start_us, now_us),
        .payload = payload,
    };
    outbox_add_frame(leg->outbox, leg->session_id, &frame);
}

bool backend_leg_init(struct backend_leg *leg, uint32_t session_id,
                      const struct backend_start *start, struct outbox *outbox, uint64_t start_us)
{
    char text[BACKEND_PAYLOAD_BYTES_MAX];
    *leg = (struct backend_leg){
        .session_id = session_id,
        .start_us = start_us,
        .outbox = outbox,
        .accept_deadline_us = start_us + BACKEND_LEG_ACCEPT_US,
    };
    const size_t len = backend_start_encode(start, text, sizeof(text));
    if (len == 0) {
        return false;
    }
    struct backend_frame frame = {.type = BACKEND_SESSION_START,
                                  .flags = BACKEND_FLAG_LAST,
                                  .session = session_id,
                                  .payload = bytes_view_of(text, len)};
    outbox_add_frame(outbox, session_id, &frame);
    return true;
}

static enum backend_leg_event take_end(struct backend_leg *leg, const struct backend_frame *frame,
                                       uint64_t now_us)
{
    struct backend_end end;
    if (!backend_end_decode(frame->payload, &end)) {
        return BACKEND_LEG_GOT_NONSENSE;
    }
    if (end.when_drained && leg->state == BACKEND_LEG_ACCEPTED) {
        return BACKEND_LEG_GOT_END_DRAINED;
    }
    backend_leg_answer_end(leg, "backend_ended", now_us);
    return BACKEND_LEG_GOT_END;
}

enum backend_leg_event backend_leg_input(struct backend_leg *leg, const struct backend_frame *frame,
                                         uint64_t now_us)
{
    if (leg->state == BACKEND_LEG_ENDED) {
        if (frame->type == BACKEND_SESSION_END) {
            /* Both said END at once: each answers. */
            emit(leg, BACKEND_SESSION_ENDED, bytes_view_of_text("{}"), now_us);
        }
        return BACKEND_LEG_NOTHING;
    }
    switch (frame->type) {
    case BACKEND_SESSION_ACCEPT:
        if (leg->state != BACKEND_LEG_STARTING) {
            return BACKEND_LEG_NOTHING;
        }
        if (!backend_accept_decode(frame->payload, &leg->accept)) {
            return BACKEND_LEG_GOT_NONSENSE;
        }
        leg->state = BACKEND_LEG_ACCEPTED;
        leg->accept_deadline_us = TIME_NEVER;
        return BACKEND_LEG_GOT_ACCEPT;
    case BACKEND_SESSION_REJECT:
        backend_leg_lost(leg);
        return BACKEND_LEG_GOT_REJECT;
    case BACKEND_SESSION_END:
        return take_end(leg, frame, now_us);
    default:
        return BACKEND_LEG_NOTHING;
    }
}

void backend_leg_connected(struct backend_leg *leg, bool is_tcp, uint64_t now_us)
{
    char text[JSON_CAP];
    if (leg->state != BACKEND_LEG_ENDED) {
        const size_t len =
            backend_connected_encode(is_tcp, now_us - leg->start_us, text, sizeof(text));
        emit(leg, BACKEND_CONNECTED, bytes_view_of(text, len), now_us);
    }
}

static void say(struct backend_leg *leg, enum backend_frame_type type, const char *reason,
                uint64_t now_us)
{
    char text[JSON_CAP];
    if (leg->state != BACKEND_LEG_ENDED) {
        emit(leg, type, bytes_view_of(text, backend_end_encode(reason, text, sizeof(text))),
             now_us);
        backend_leg_lost(leg);
    }
}

void backend_leg_end(struct backend_leg *leg, const char *reason, uint64_t now_us)
{
    say(leg, BACKEND_SESSION_END, reason, now_us);
}

void backend_leg_answer_end(struct backend_leg *leg, const char *reason, uint64_t now_us)
{
    say(leg, BACKEND_SESSION_ENDED, reason, now_us);
}

void backend_leg_lost(struct backend_leg *leg)
{
    leg->state = BACKEND_LEG_ENDED;
    leg->accept_deadline_us = TIME_NEVER;
}
