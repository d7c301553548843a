/* data_channels.c - see data_channels.h */
#include "services/transceiver/core/session/data_channels.h"

#include "services/transceiver/core/session/data_close.h"
#include "services/transceiver/core/session/message_budget.h"
#include "services/transceiver/core/transport/sctp/sctp_association.h"

#include <assert.h>
#include <stdlib.h>

#define TOO_LONG_INTERVAL_US US_PER_S
#define BURST_US             US_PER_MS
#define RESETS_AT_ONCE       64

enum state {
    STATE_NEW, /* DTLS is not connected */
    STATE_RUNNING,
    STATE_CLOSING,
    STATE_OVER
};

struct data_channels {
    enum state state;
    struct sctp_association *sctp;
    struct channel_table channels;
    char event_label[DCEP_NAME_BYTES_MAX + 1];
    bool has_event_stream;
    uint16_t event_stream;
    bool has_events;             /* there is an event channel, or was one */
    bool has_message;            /* the next one, not polled */
    struct sctp_message message; /* borrowed of sctp */
    struct data_close close;
    uint64_t too_long_us; /* when the client may hear of the next one */
    uint64_t burst_us;    /* when it began */
    size_t burst_packets;
    bool has_packets;   /* they wait for the next one */
    uint64_t budget_us; /* a message waits for it until then */
    struct message_budget budget;
    unsigned events; /* a bit each */
    struct data_channels_stats stats;
};

/* --- life ------------------------------------------------------------------------------------- */

struct data_channels *data_channels_create(const struct data_channels_config *config,
                                           uint64_t now_us)
{
    struct data_channels *d = calloc(1, sizeof(*d));
    const struct sctp_config sctp = {
        .port = SCTP_PORT_DEFAULT,
        .packet_bytes_max = config->packet_bytes_max,
        .message_bytes_max = DATA_CHANNELS_MESSAGE_BYTES_MAX,
        .peer_message_bytes_max = config->peer_message_bytes_max,
        .zero_checksum = false, /* no browser has it, and Pion takes no INIT that offers it */
        .random = config->random,
    };
    if (d == NULL || (d->sctp = sctp_association_create(&sctp, now_us)) == NULL) {
        free(d);
        return NULL;
    }
    assert(strlen(config->event_label) <= DCEP_NAME_BYTES_MAX);
    memcpy(d->event_label, config->event_label, strlen(config->event_label));
    assert(!config->has_event_stream || config->event_stream < SCTP_STREAMS);
    d->has_event_stream = config->has_event_stream;
    d->event_stream = config->event_stream;
    d->budget_us = TIME_NEVER;
    return d;
}

void data_channels_destroy(struct data_channels *d)
{
    if (d != NULL) {
        sctp_association_destroy(d->sctp);
        free(d);
    }
}

static void push_event(struct data_channels *d, enum data_channels_event event)
{
    d->events |= 1u << event;
}

bool data_channels_poll_event(struct data_channels *d, enum data_channels_event *out)
{
    for (int event = 0; event <= DATA_CHANNELS_ENDED; event++) {
        if ((d->events & 1u << event) != 0) {
            d->events &= ~(1u << event);
            *out = (enum data_channels_event)event;
            return true;
        }
    }
    return false;
}

/* The one that nobody took. */
static void forget_message(struct data_channels *d)
{
    d->stats.messages_dropped += d->has_message;
    d->has_message = false;
    d->budget_us = TIME_NEVER;
}

static void be_over(struct data_channels *d)
{
    d->state = STATE_OVER;
    forget_message(d);
}

bool data_channels_is_over(const struct data_channels *d)
{
    return d->state == STATE_OVER;
}

struct data_channels_stats data_channels_stats(const struct data_channels *d)
{
    return d == NULL ? (struct data_channels_stats){0} : d->stats;
}

/* --- channels --------------------------------------------------------------------------------- */

bool data_channels_find(struct data_channels *d, uint16_t stream, const char *label)
{
    const struct data_channel *c = channel_table_find(&d->channels, stream);
    return c != NULL && !c->is_event && strcmp(c->label, label) == 0;
}

static void ask_for_resets(struct data_channels *d, uint64_t now_us)
{
    uint16_t stream[RESETS_AT_ONCE];
    size_t count = 0;
    while ((count = channel_table_take_resets(&d->channels, stream, COUNT_OF(stream))) > 0) {
        /* A client that knows no resets keeps its channel; it is none of ours. */
        (void)!sctp_association_reset_streams(d->sctp, stream, count, now_us);
    }
}

/* The slot is free, and our side of the stream ends. */
static void let_go(struct data_channels *d, struct data_channel *c)
{
    channel_table_want_reset(&d->channels, c->stream);
    c->is_used = false;
    if (c->is_event) {
        push_event(d, DATA_CHANNELS_EVENTS_CLOSED);
    }
}

static void be_open(struct data_channels *d, struct data_channel *c)
{
    const bool is_news = !c->is_open;
    c->is_open = true;
    d->stats.opened += is_news;
    if (is_news && c->is_event) {
        push_event(d, DATA_CHANNELS_EVENTS_OPEN);
    }
}

/* Not while our reset of the stream's channel before this one is under way. */
static void say_acks(struct data_channels *d, uint64_t now_us)
{
    uint8_t ack[DCEP_ACK_BYTES];
    for (size_t i = 0; i < COUNT_OF(d->channels.slot); i++) {
        struct data_channel *c = &d->channels.slot[i];
        const struct sctp_message message = {
            .stream = c->stream,
            .ppid = DCEP_PPID,
            .data = bytes_view_of(ack, dcep_write_ack(ack)),
        };
        if (c->is_used && c->wants_ack &&
            sctp_association_send(d->sctp, &message, NULL, now_us) == SCTP_SEND_OK) {
            c->wants_ack = false;
            be_open(d, c);
        }
    }
}

static struct data_channel *add(struct data_channels *d, uint16_t stream, struct bytes_view label)
{
    struct data_channel *c = channel_table_add(&d->channels, stream, label);
    if (c != NULL) {
        c->is_event = !d->has_events && strcmp(c->label, d->event_label) == 0;
        d->has_events = d->has_events || c->is_event;
    }
    return c;
}

static void refuse(struct data_channels *d, uint16_t stream)
{
    d->stats.refused++;
    channel_table_want_reset(&d->channels, stream);
}

static void take_open(struct data_channels *d, uint16_t stream, const struct dcep_open *open)
{
    struct data_channel *c = channel_table_find(&d->channels, stream);
    if (c != NULL && c->is_agreed) {
        c->wants_ack = true; /* it was not aware of that */
        return;
    }
    if (c != NULL) { /* RFC 8832 s.6: an error of the client closes the channel */
        let_go(d, c);
        return;
    }
    c = add(d, stream, open->label);
    if (c == NULL) {
        refuse(d, stream);
        return;
    }
    channel_table_set_terms(c, open);
    c->wants_ack = true;
}

static void take_control(struct data_channels *d, const struct sctp_message *message)
{
    struct dcep_open open;
    switch (dcep_parse(message->data, &open)) {
    case DCEP_OPEN:
        take_open(d, message->stream, &open);
        break;
    case DCEP_ACK: /* of nothing: we open none */
        break;
    case DCEP_BAD:
        if (channel_table_find(&d->channels, message->stream) == NULL) {
            refuse(d, message->stream);
        }
        break;
    }
}

/* --- from the client -------------------------------------------------------------------------- */

static void tell_too_long(struct data_channels *d, uint64_t now_us)
{
    if (now_us >= d->too_long_us) {
        d->too_long_us = now_us + TOO_LONG_INTERVAL_US;
        push_event(d, DATA_CHANNELS_TOO_LONG);
    }
}

/* stream SCTP_STREAMS: of all. */
static void take_reset(struct data_channels *d, uint16_t stream, uint64_t now_us)
{
    struct data_channel *c = NULL;
    while ((c = stream == SCTP_STREAMS ? channel_table_find_any(&d->channels)
                                       : channel_table_find(&d->channels, stream)) != NULL) {
        data_close_note_reset(&d->close, now_us);
        let_go(d, c);
    }
}

static void take_event(struct data_channels *d, const struct sctp_event *event, uint64_t now_us)
{
    struct data_channel *c = NULL;
    switch (event->kind) {
    case SCTP_EVENT_CONNECTED:
        c = channel_table_find(&d->channels, d->event_stream);
        if (c != NULL && c->is_agreed) {
            be_open(d, c);
        }
        break;
    case SCTP_EVENT_STREAM_RESET_BY_PEER:
        take_reset(d, event->stream, now_us);
        break;
    case SCTP_EVENT_MESSAGE_DROPPED:
        d->stats.messages_dropped++;
        tell_too_long(d, now_us);
        break;
    case SCTP_EVENT_CLOSED:
    case SCTP_EVENT_FAILED:
        be_over(d);
        push_event(d, DATA_CHANNELS_ENDED);
        break;
    case SCTP_EVENT_RESET_DONE:
    case SCTP_EVENT_RESET_REFUSED:
        break;
    }
}

static bool is_for_a_channel(struct data_channels *d, const struct sctp_message *message)
{
    bool is_empty = false;
    const struct data_channel *c = channel_table_find(&d->channels, message->stream);
    const enum dcep_content content = dcep_content_of(message->ppid, &is_empty);
    return c != NULL &&
           (content == DCEP_CONTENT_TEXT || (content == DCEP_CONTENT_BINARY && !c->is_event));
}

static void take_message(struct data_channels *d, const struct sctp_message *message)
{
    if (d->state != STATE_RUNNING) {
        d->stats.messages_dropped += message->ppid != DCEP_PPID;
    } else if (message->ppid == DCEP_PPID) {
        take_control(d, message);
    } else if (is_for_a_channel(d, message)) {
        d->message = *message;
        d->has_message = true;
    } else {
        d->stats.messages_dropped++;
    }
}

/* Up to the next message for a channel: it waits until it is polled, and all behind it. */
static void advance(struct data_channels *d, uint64_t now_us)
{
    struct sctp_message message;
    struct sctp_event event;
    while (!d->has_message && d->state != STATE_OVER) {
        if (sctp_association_poll_message(d->sctp, &message)) {
            take_message(d, &message);
        } else if (sctp_association_poll_event(d->sctp, &event)) {
            take_event(d, &event, now_us);
        } else {
            break;
        }
    }
    if (d->state == STATE_RUNNING) {
        ask_for_resets(d, now_us);
        say_acks(d, now_us);
    }
}

bool data_channels_peek_message(struct data_channels *d, struct data_message *out, uint64_t now_us)
{
    advance(d, now_us);
    if (!d->has_message) {
        return false;
    }
    const uint64_t budget_us = message_budget_next_us(&d->budget);
    if (budget_us > now_us) {
        d->budget_us = budget_us;
        return false;
    }
    bool is_empty = false;
    const struct data_channel *c = channel_table_find(&d->channels, d->message.stream);
    const enum dcep_content content = dcep_content_of(d->message.ppid, &is_empty);
    assert(c != NULL);
    *out = (struct data_message){
        .stream = c->stream,
        .is_event = c->is_event,
        .is_text = content == DCEP_CONTENT_TEXT,
        .is_ordered = !c->is_unordered,
        .label = c->label,
        .data = bytes_view_of(d->message.data.data, is_empty ? 0 : d->message.data.len),
    };
    return true;
}

void data_channels_take_message(struct data_channels *d, uint64_t now_us)
{
    assert(d->has_message);
    message_budget_take(&d->budget, d->message.data.len, now_us);
    d->has_message = false;
    d->stats.messages_in++;
}

bool data_channels_has_ended(const struct data_channels *d)
{
    return sctp_association_has_ended(d->sctp);
}

bool data_channels_has_closed_events(struct data_channels *d)
{
    const struct data_channel *c = channel_table_find_event(&d->channels);
    return c != NULL && sctp_association_has_reset(d->sctp, c->stream);
}

/* --- to the client ---------------------------------------------------------------------------- */

static enum data_send_result send_on(struct data_channels *d, const struct data_channel *c,
                                     bool is_text, struct bytes_view data, uint64_t now_us)
{
    static const uint8_t nothing[1] = {0}; /* RFC 8831 s.6.6 */
    const bool is_empty = data.len == 0;
    const struct sctp_message message = {
        .stream = c->stream,
        .ppid = dcep_ppid_of(is_text, is_empty),
        .is_unordered = c->is_unordered,
        .data = is_empty ? bytes_view_of(nothing, sizeof(nothing)) : data,
    };
    switch (sctp_association_send(d->sctp, &message, &c->reliability, now_us)) {
    case SCTP_SEND_OK:
        d->stats.messages_out++;
        return DATA_SEND_OK;
    case SCTP_SEND_FULL:
        return DATA_SEND_FULL;
    case SCTP_SEND_TOO_LONG:
        return DATA_SEND_TOO_LONG;
    default:
        return DATA_SEND_CLOSED;
    }
}

enum data_send_result data_channels_send(struct data_channels *d, uint16_t stream, bool is_text,
                                         struct bytes_view data, uint64_t now_us)
{
    const struct data_channel *c = channel_table_find(&d->channels, stream);
    if (d->state != STATE_RUNNING || c == NULL || !c->is_open) {
        return DATA_SEND_CLOSED;
    }
    return send_on(d, c, is_text, data, now_us);
}

enum data_send_result data_channels_send_event(struct data_channels *d, struct bytes_view text,
                                               uint64_t now_us)
{
    const struct data_channel *c = channel_table_find_event(&d->channels);
    return c == NULL ? DATA_SEND_CLOSED : data_channels_send(d, c->stream, true, text, now_us);
}

bool data_channels_poll_packet(struct data_channels *d, struct bytes_view *out, uint64_t now_us)
{
    if (now_us - d->burst_us >= BURST_US) {
        d->burst_us = now_us;
        d->burst_packets = 0;
    }
    d->has_packets = d->burst_packets == DATA_CHANNELS_PACKETS_AT_ONCE;
    if (d->state == STATE_NEW || d->has_packets ||
        !sctp_association_poll_packet(d->sctp, out, now_us)) {
        return false;
    }
    d->burst_packets++;
    return true;
}

/* --- input, time and the end ------------------------------------------------------------------ */

static void go_on_closing(struct data_channels *d, uint64_t now_us)
{
    uint16_t stream[DATA_CHANNELS_MAX];
    if (d->state == STATE_CLOSING &&
        data_close_run(&d->close, d->sctp, channel_table_streams(&d->channels, stream) > 0,
                       now_us)) {
        be_over(d);
    }
}

void data_channels_start(struct data_channels *d, uint64_t now_us)
{
    (void)now_us;
    assert(d->state == STATE_NEW);
    d->state = STATE_RUNNING;
    if (d->has_event_stream) { /* before any OPEN can take its slot, stream or label */
        struct data_channel *c = add(d, d->event_stream, bytes_view_of_text(d->event_label));
        assert(c != NULL);
        c->is_agreed = true;
    }
}

void data_channels_input(struct data_channels *d, struct bytes_view packet, uint64_t now_us)
{
    if (d->state == STATE_NEW || d->state == STATE_OVER) {
        return;
    }
    sctp_association_input(d->sctp, packet, now_us);
    advance(d, now_us);
    go_on_closing(d, now_us);
}

void data_channels_tick(struct data_channels *d, uint64_t now_us)
{
    if (d->state == STATE_NEW || d->state == STATE_OVER) {
        return;
    }
    if (now_us >= d->budget_us) {
        d->budget_us = TIME_NEVER;
    }
    sctp_association_tick(d->sctp, now_us);
    advance(d, now_us);
    go_on_closing(d, now_us);
}

uint64_t data_channels_next_timeout(const struct data_channels *d)
{
    if (d->state == STATE_NEW || d->state == STATE_OVER) {
        return TIME_NEVER;
    }
    const uint64_t burst_us = d->has_packets ? d->burst_us + BURST_US : TIME_NEVER;
    return time_earlier(time_earlier(sctp_association_next_timeout(d->sctp), burst_us),
                        time_earlier(data_close_next_timeout(&d->close), d->budget_us));
}

void data_channels_close(struct data_channels *d, uint64_t now_us)
{
    if (d->state != STATE_RUNNING) {
        if (d->state == STATE_NEW) {
            be_over(d);
        }
        return;
    }
    forget_message(d);
    uint16_t stream[DATA_CHANNELS_MAX];
    const size_t count = channel_table_streams(&d->channels, stream);
    data_close_begin(&d->close, d->sctp, stream, count, now_us);
    d->state = STATE_CLOSING;
    advance(d, now_us);
    go_on_closing(d, now_us);
}
