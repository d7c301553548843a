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

static enum backend_leg_event take_accept(struct backend_leg *leg,
                                          const struct backend_frame *frame)
{
    if (leg->state != BACKEND_LEG_STARTING) {
        return BACKEND_LEG_NOTHING;
    }
    if (!backend_accept_decode(frame->payload, &leg->accept) ||
        leg->accept.in.codec == BACKEND_CODEC_NONE || leg->accept.out.codec == BACKEND_CODEC_NONE) {
        return BACKEND_LEG_GOT_NONSENSE;
    }
    leg->state = BACKEND_LEG_ACCEPTED;
    leg->accept_deadline_us = TIME_NEVER;
    return BACKEND_LEG_GOT_ACCEPT;
}

static enum backend_leg_event take_end(struct backend_leg *leg, const struct backend_frame *frame)
{
    struct backend_end end;
    if (!backend_end_decode(frame->payload, &end)) {
        return BACKEND_LEG_GOT_NONSENSE;
    }
    const bool has_queue = leg->state != BACKEND_LEG_STARTING;
    leg->state = BACKEND_LEG_ASKED;
    leg->accept_deadline_us = TIME_NEVER;
    return end.when_drained && has_queue ? BACKEND_LEG_GOT_END_DRAINED : BACKEND_LEG_GOT_END;
}

static enum backend_leg_event take_error(const struct backend_frame *frame)
{
    struct backend_error error;
    const bool is_fatal = backend_error_decode(frame->payload, &error) && error.is_fatal;
    return is_fatal ? BACKEND_LEG_GOT_END : BACKEND_LEG_NOTHING;
}

/* Our END is out: its ENDED is what is missing, or an END that met ours on the way. */
static void input_leaving(struct backend_leg *leg, const struct backend_frame *frame,
                          uint64_t now_us)
{
    if (frame->type == BACKEND_SESSION_END) {
        emit(leg, BACKEND_SESSION_ENDED, bytes_view_of_text("{}"), now_us);
    }
    if (frame->type == BACKEND_SESSION_END || frame->type == BACKEND_SESSION_ENDED) {
        leg->state = BACKEND_LEG_OVER;
    }
}

enum backend_leg_event backend_leg_input(struct backend_leg *leg, const struct backend_frame *frame,
                                         uint64_t now_us)
{
    if (leg->state == BACKEND_LEG_LEAVING) {
        input_leaving(leg, frame, now_us);
    }
    if (leg->state >= BACKEND_LEG_LEAVING) {
        return BACKEND_LEG_NOTHING;
    }
    switch (frame->type) {
    case BACKEND_SESSION_ACCEPT:
        return take_accept(leg, frame);
    case BACKEND_SESSION_REJECT:
        backend_leg_lost(leg);
        return BACKEND_LEG_GOT_REJECT;
    case BACKEND_SESSION_END:
        return take_end(leg, frame);
    case BACKEND_SESSION_ENDED: /* without a question: its handle is free all the same */
        backend_leg_lost(leg);
        return BACKEND_LEG_GOT_END;
    case BACKEND_ERROR:
        return take_error(frame);
    default:
        return BACKEND_LEG_NOTHING;
    }
}

void backend_leg_connected(struct backend_leg *leg, bool is_tcp, uint64_t now_us)
{
    char text[JSON_CAP];
    if (leg->state < BACKEND_LEG_LEAVING) {
        const struct backend_connected connected = {.is_tcp = is_tcp,
                                                    .setup_us = time_since(leg->start_us, now_us)};
        const size_t len = backend_connected_encode(&connected, text, sizeof(text));
        emit(leg, BACKEND_CONNECTED, bytes_view_of(text, len), now_us);
    }
}

void backend_leg_end(struct backend_leg *leg, const char *reason, uint64_t now_us)
{
    char text[JSON_CAP];
    if (leg->state >= BACKEND_LEG_LEAVING) {
        return;
    }
    const bool was_asked = leg->state == BACKEND_LEG_ASKED;
    struct backend_end end = {0};
    memcpy(end.reason, reason, strnlen(reason, sizeof(end.reason) - 1));
    const size_t len = backend_end_encode(&end, text, sizeof(text));
    emit(leg, was_asked ? BACKEND_SESSION_ENDED : BACKEND_SESSION_END, bytes_view_of(text, len),
         now_us);
    leg->state = was_asked ? BACKEND_LEG_OVER : BACKEND_LEG_LEAVING;
    leg->accept_deadline_us = TIME_NEVER;
}

void backend_leg_lost(struct backend_leg *leg)
{
    leg->state = BACKEND_LEG_OVER;
    leg->accept_deadline_us = TIME_NEVER;
}
