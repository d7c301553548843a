/* socket_site.c - see socket_site.h */
#include "services/signaling/socket_site.h"

#include "common/runtime/clock.h"

/* A tag is the slot of its speaker, and in the lowest bit who that is. */
enum speaker { SPEAKER_SIDEBAND, SPEAKER_SIGNAL, SPEAKER_COUNT };

void socket_site_judge(void *context, const struct http_upgrade *upgrade,
                       struct http_judgement *out)
{
    const struct socket_site *site = context;
    const uint64_t now_us = clock_now_us();
    if (site->is_draining || site->signals == NULL) {
        out->refusal = http_response_error(
            503, "server_overloaded", bytes_view_of_text("This server takes nobody. Try again."));
        out->refusal.retry_after_s = 1;
    } else if (bytes_equal(upgrade->path, bytes_view_of_text("/v1/realtime"))) {
        events_sideband_judge(site->sidebands, upgrade, out, now_us);
        out->tag = out->tag * SPEAKER_COUNT + SPEAKER_SIDEBAND;
    } else if (bytes_equal(upgrade->path, bytes_view_of_text("/v1/realtime/signal"))) {
        signal_socket_judge(site->signals, upgrade, out, now_us);
        out->tag = out->tag * SPEAKER_COUNT + SPEAKER_SIGNAL;
    } else {
        out->refusal = http_response_error(
            404, "not_found", bytes_view_of_text("There is no WebSocket at this path."));
    }
}

static void on_sideband(struct events_sideband *e, const struct http_event *event, uint64_t now_us)
{
    const size_t slot = event->tag / SPEAKER_COUNT;
    if (event->kind == HTTP_EVENT_SOCKET_OPEN) {
        events_sideband_opened(e, slot, event->socket, now_us);
    } else if (event->kind == HTTP_EVENT_SOCKET_MESSAGE) {
        events_sideband_message(e, slot, event->text, now_us);
    } else {
        events_sideband_closed(e, slot, now_us);
    }
}

static void on_signal(struct signal_socket *s, const struct http_event *event, uint64_t now_us)
{
    const size_t slot = event->tag / SPEAKER_COUNT;
    if (event->kind == HTTP_EVENT_SOCKET_OPEN) {
        signal_socket_opened(s, slot, event->socket, now_us);
    } else if (event->kind == HTTP_EVENT_SOCKET_MESSAGE) {
        signal_socket_message(s, slot, event->text, now_us);
    } else {
        signal_socket_closed(s, slot, now_us);
    }
}

void socket_site_event(const struct socket_site *site, const struct http_event *event,
                       uint64_t now_us)
{
    if (event->tag % SPEAKER_COUNT == SPEAKER_SIDEBAND) {
        on_sideband(site->sidebands, event, now_us);
    } else {
        on_signal(site->signals, event, now_us);
    }
}

void socket_site_drain(struct socket_site *site)
{
    site->is_draining = true;
    events_sideband_drain(site->sidebands);
    signal_socket_drain(site->signals);
}

static void tell_news(const struct socket_site *site, uint64_t now_us)
{
    struct call_news news;
    while (call_watch_next(control_plane_watch(site->plane), control_plane_fleet(site->plane),
                           &news, now_us)) {
        if (news.listener == CALL_WATCH_SECRET) {
            calls_api_news(site->calls, &news);
        } else {
            signal_socket_news(site->signals, &news);
        }
    }
}

void socket_site_turn(const struct socket_site *site, uint64_t now_us)
{
    tell_news(site, now_us);
    events_sideband_turn(site->sidebands, now_us);
    signal_socket_turn(site->signals, now_us);
}

uint64_t socket_site_next_timeout(const struct socket_site *site)
{
    return time_earlier(events_sideband_next_timeout(site->sidebands),
                        signal_socket_next_timeout(site->signals));
}
