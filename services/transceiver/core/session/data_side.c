/* data_side.c - see data_side.h */
#include "services/transceiver/core/session/data_side.h"

/* A backend that has room again is noticed by then. */
#define ROOM_AGAIN_US (5 * US_PER_MS)

void data_side_init(struct data_side *d, const struct data_side_config *config)
{
    *d = (struct data_side){
        .channels = config->channels,
        .backend = config->backend,
        .sidebands = config->sidebands,
        .message_bytes_max = config->message_bytes_max,
        .is_closed = config->channels == NULL,
        .room_us = TIME_NEVER,
    };
}

void data_side_deinit(struct data_side *d)
{
    client_queue_clear(&d->queue);
}

/* --- to the client ---------------------------------------------------------------------------- */

static void note_sent(struct data_side *d, enum data_send_result result)
{
    if (result == DATA_SEND_OK) {
        d->stats.events_out++;
    } else {
        d->stats.dropped_to_client++;
    }
}

/* What waited for the channel to open. */
static void send_queue(struct data_side *d, uint64_t now_us)
{
    struct bytes_view text;
    while (d->is_open && client_queue_peek(&d->queue, &text)) {
        const enum data_send_result result = data_channels_send_event(d->channels, text, now_us);
        if (result == DATA_SEND_FULL) {
            break;
        }
        note_sent(d, result);
        client_queue_drop(&d->queue);
    }
}

static void put_in_queue(struct data_side *d, struct bytes_view text)
{
    if (client_queue_put(&d->queue, text)) {
        return;
    }
    d->stats.dropped_to_client++;
    d->is_too_slow = d->is_open;
}

/* Every event for the client passes here. */
static void send_event(struct data_side *d, struct bytes_view text, uint64_t now_us)
{
    sidebands_tell_all(d->sidebands, text);
    if (d->channels == NULL) {
        d->stats.ignored++;
    } else if (d->is_closed || text.len > d->message_bytes_max) {
        d->stats.dropped_to_client++;
    } else if (!d->is_open || d->queue.count > 0) {
        put_in_queue(d, text);
    } else {
        const enum data_send_result result = data_channels_send_event(d->channels, text, now_us);
        d->is_too_slow = result == DATA_SEND_FULL;
        note_sent(d, result);
    }
}

static void send_to_channel(struct data_side *d, const struct backend_message *m, uint64_t now_us)
{
    const uint32_t stream = m->channel->channel;
    const bool has_channel = !d->is_closed && stream <= UINT16_MAX &&
                             data_channels_find(d->channels, (uint16_t)stream, m->channel->label);
    if (!has_channel || m->data.len > d->message_bytes_max) {
        d->stats.dropped_to_client += d->channels != NULL;
        d->stats.ignored += d->channels == NULL;
        return;
    }
    const enum data_send_result result =
        data_channels_send(d->channels, (uint16_t)stream, !m->channel->is_binary, m->data, now_us);
    d->is_too_slow = result == DATA_SEND_FULL;
    d->stats.dropped_to_client += result != DATA_SEND_OK;
}

void data_side_take_backend_message(struct data_side *d, const struct backend_message *message,
                                    uint64_t now_us)
{
    if (message->is_event && (message->flags & BACKEND_EVENT_SIDEBAND) != 0) {
        sidebands_tell_one(d->sidebands, message->utterance, message->data);
    } else if (message->is_event) {
        send_event(d, message->data, now_us);
    } else {
        send_to_channel(d, message, now_us);
    }
}

void data_side_say(struct data_side *d, enum server_error error, uint64_t now_us)
{
    char text[SERVER_ERROR_BYTES_MAX];
    const size_t len = server_error_write(error, d->backend->random, text);
    send_event(d, bytes_view_of(text, len), now_us);
}

/* --- from the client -------------------------------------------------------------------------- */

/* Every event of the client passes here. */
static void take_event(struct data_side *d, struct bytes_view text, uint64_t now_us)
{
    d->stats.events_in++;
    backend_leg_event(d->backend, text, now_us);
}

static void take_message(struct data_side *d, const struct data_message *message, uint64_t now_us)
{
    if (message->is_event) {
        take_event(d, message->data, now_us);
    } else {
        struct backend_channel channel = {.channel = message->stream,
                                          .is_binary = !message->is_text,
                                          .is_ordered = message->is_ordered};
        memcpy(channel.label, message->label, strlen(message->label));
        backend_leg_channel_data(d->backend, &channel, message->data, now_us);
    }
}

/* As long as a backend listens and there is room for them; else SCTP keeps them. */
static void take_messages(struct data_side *d, uint64_t now_us)
{
    struct data_message message;
    d->room_us = TIME_NEVER;
    while (backend_leg_is_listening(d->backend) &&
           data_channels_peek_message(d->channels, &message, now_us)) {
        if (!outbox_has_message_room(d->backend->outbox, message.data.len)) {
            d->room_us = now_us + ROOM_AGAIN_US;
            break;
        }
        take_message(d, &message, now_us);
        data_channels_take_message(d->channels, now_us);
    }
}

/* False: it is over. */
static bool take_events(struct data_side *d, uint64_t now_us)
{
    enum data_channels_event event;
    while (data_channels_poll_event(d->channels, &event)) {
        switch (event) {
        case DATA_CHANNELS_EVENTS_OPEN:
            d->is_open = true;
            send_queue(d, now_us);
            break;
        case DATA_CHANNELS_TOO_LONG:
            data_side_say(d, SERVER_ERROR_MESSAGE_TOO_LARGE, now_us);
            break;
        case DATA_CHANNELS_EVENTS_CLOSED:
        case DATA_CHANNELS_ENDED:
            return false;
        }
    }
    return true;
}

/* Behind messages that wait, for a backend that nobody knows when to expect. */
static bool has_left(const struct data_side *d)
{
    return data_channels_has_ended(d->channels) ||
           (!backend_leg_is_listening(d->backend) && data_channels_has_closed_events(d->channels));
}

enum data_side_event data_side_run(struct data_side *d, uint64_t now_us)
{
    if (d->is_closed) {
        return DATA_SIDE_NOTHING;
    }
    take_messages(d, now_us);
    if (!take_events(d, now_us) || has_left(d)) {
        data_side_close(d);
        return DATA_SIDE_CLOSED;
    }
    send_queue(d, now_us);
    return d->is_too_slow ? DATA_SIDE_SLOW_READER : DATA_SIDE_NOTHING;
}

void data_side_close(struct data_side *d)
{
    d->is_closed = true;
    d->room_us = TIME_NEVER;
}

uint64_t data_side_next_timeout(const struct data_side *d)
{
    return d->room_us;
}
