/* dtmf_in.c - see dtmf_in.h */
#include "services/transceiver/core/session/dtmf_in.h"

#include "common/backend_link/backend_report.h"

#define JSON_CAP 64

void dtmf_in_init(struct dtmf_in *d, uint32_t session_id, uint32_t clock_hz, uint64_t start_us,
                  struct outbox *outbox)
{
    *d = (struct dtmf_in){.session_id = session_id, .start_us = start_us, .outbox = outbox};
    telephone_event_init(&d->event, clock_hz);
}

static void send_press(struct dtmf_in *d, const struct telephone_event_press *press,
                       uint64_t time_us)
{
    char json[JSON_CAP];
    const struct backend_dtmf key = {press->digit, press->duration_ms};
    const size_t len = backend_dtmf_encode(&key, json, sizeof(json));
    const struct backend_frame frame = {
        .type = BACKEND_DTMF,
        .session = d->session_id,
        .time_us = time_us,
        .payload = bytes_view_of(json, len),
    };
    outbox_add_frame(d->outbox, d->session_id, &frame);
}

static void take_presses(struct dtmf_in *d, uint64_t now_us)
{
    struct telephone_event_press press;
    while (telephone_event_poll(&d->event, &press)) {
        const uint64_t time_us = time_since(d->start_us, now_us);
        if (d->is_attached) {
            send_press(d, &press, time_us);
        } else if (d->waiting_count < DTMF_IN_WAITING_MAX) {
            d->waiting[d->waiting_count].press = press;
            d->waiting[d->waiting_count].time_us = time_us;
            d->waiting_count++;
        }
    }
}

void dtmf_in_attach(struct dtmf_in *d)
{
    d->is_attached = true;
    for (size_t i = 0; i < d->waiting_count; i++) {
        send_press(d, &d->waiting[i].press, d->waiting[i].time_us);
    }
    d->waiting_count = 0;
}

void dtmf_in_detach(struct dtmf_in *d)
{
    d->is_attached = false;
}

void dtmf_in_restart(struct dtmf_in *d)
{
    telephone_event_restart(&d->event);
}

void dtmf_in_input(struct dtmf_in *d, const struct rtp_packet *packet, uint64_t now_us)
{
    telephone_event_input(&d->event, packet->timestamp, packet->marker, packet->payload, now_us);
    take_presses(d, now_us);
}

void dtmf_in_note_voice(struct dtmf_in *d, const struct rtp_packet *packet, uint64_t now_us)
{
    telephone_event_note_voice(&d->event, packet->timestamp, now_us);
}

void dtmf_in_tick(struct dtmf_in *d, uint64_t now_us)
{
    telephone_event_tick(&d->event, now_us);
    take_presses(d, now_us);
}

uint64_t dtmf_in_next_timeout(const struct dtmf_in *d)
{
    return telephone_event_next_timeout(&d->event);
}
