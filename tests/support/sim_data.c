/* sim_data.c - see sim_data.h */
#include "tests/support/sim_data.h"

#include "services/transceiver/core/transport/dcep.h"

#include <assert.h>
#include <stdlib.h>

#define PACKET_BYTES_MAX  1163
#define MESSAGE_BYTES_MAX 262144

struct channel {
    enum sim_data_state state;
    bool wants_open; /* OPEN is to be said */
    bool wants_reset;
    char label[32];
};

struct sim_data {
    struct sctp_association *sctp;
    struct channel channel[SIM_DATA_STREAMS];
    uint16_t first_stream;
    bool is_connected;
    bool is_ended;
    bool reads_nothing;
};

struct sim_data *sim_data_create(struct random_source random, bool is_dtls_client, uint64_t now_us)
{
    struct sim_data *d = calloc(1, sizeof(*d));
    const struct sctp_config config = {
        .port = SCTP_PORT_DEFAULT,
        .packet_bytes_max = PACKET_BYTES_MAX,
        .message_bytes_max = MESSAGE_BYTES_MAX,
        .peer_message_bytes_max = MESSAGE_BYTES_MAX,
        .random = random,
    };
    assert(d != NULL);
    d->sctp = sctp_association_create(&config, now_us);
    assert(d->sctp != NULL);
    d->first_stream = is_dtls_client ? 0 : 1;
    return d;
}

void sim_data_destroy(struct sim_data *d)
{
    if (d != NULL) {
        sctp_association_destroy(d->sctp);
        free(d);
    }
}

void sim_data_start(struct sim_data *d, uint64_t now_us)
{
    sctp_association_connect(d->sctp, now_us);
}

static bool say_open(struct sim_data *d, uint16_t stream, uint64_t now_us)
{
    uint8_t bytes[DCEP_OPEN_BYTES_MAX];
    const struct dcep_open open = {.label = bytes_view_of_text(d->channel[stream].label)};
    const struct sctp_message message = {
        .stream = stream,
        .ppid = DCEP_PPID,
        .data = bytes_view_of(bytes, dcep_write_open(&open, bytes, sizeof(bytes))),
    };
    return sctp_association_send(d->sctp, &message, NULL, now_us) == SCTP_SEND_OK;
}

/* What could not be said when it was wanted. */
static void go_on(struct sim_data *d, uint64_t now_us)
{
    for (uint16_t i = 0; d->is_connected && i < SIM_DATA_STREAMS; i++) {
        struct channel *c = &d->channel[i];
        if (c->wants_open && say_open(d, i, now_us)) {
            c->wants_open = false;
        }
        if (c->wants_reset && sctp_association_reset_streams(d->sctp, &i, 1, now_us)) {
            c->wants_reset = false;
        }
    }
}

static void take_event(struct sim_data *d, const struct sctp_event *event)
{
    struct channel *c = &d->channel[event->stream % SIM_DATA_STREAMS];
    switch (event->kind) {
    case SCTP_EVENT_CONNECTED:
        d->is_connected = true;
        break;
    case SCTP_EVENT_STREAM_RESET_BY_PEER:
        if (c->state == SIM_DATA_CLOSING) {
            c->state = SIM_DATA_CLOSED;
        } else if (c->state != SIM_DATA_NONE && c->state != SIM_DATA_CLOSED) {
            c->state = SIM_DATA_CLOSED;
            c->wants_reset = true;
        }
        break;
    case SCTP_EVENT_CLOSED:
    case SCTP_EVENT_FAILED:
        d->is_ended = true;
        break;
    default:
        break;
    }
}

static void drain_events(struct sim_data *d, uint64_t now_us)
{
    struct sctp_event event;
    while (sctp_association_poll_event(d->sctp, &event)) {
        take_event(d, &event);
    }
    go_on(d, now_us);
}

void sim_data_input(struct sim_data *d, struct bytes_view packet, uint64_t now_us)
{
    sctp_association_input(d->sctp, packet, now_us);
    drain_events(d, now_us);
}

void sim_data_tick(struct sim_data *d, uint64_t now_us)
{
    sctp_association_tick(d->sctp, now_us);
    drain_events(d, now_us);
}

uint64_t sim_data_next_timeout(const struct sim_data *d)
{
    return sctp_association_next_timeout(d->sctp);
}

bool sim_data_poll_packet(struct sim_data *d, struct bytes_view *out, uint64_t now_us)
{
    return sctp_association_poll_packet(d->sctp, out, now_us);
}

uint16_t sim_data_open(struct sim_data *d, const char *label, uint64_t now_us)
{
    uint16_t stream = d->first_stream;
    while (d->channel[stream].state != SIM_DATA_NONE &&
           d->channel[stream].state != SIM_DATA_CLOSED) {
        stream = (uint16_t)(stream + 2);
        assert(stream < SIM_DATA_STREAMS);
    }
    struct channel *c = &d->channel[stream];
    *c = (struct channel){.state = SIM_DATA_OPENING, .wants_open = true};
    assert(strlen(label) < sizeof(c->label));
    memcpy(c->label, label, strlen(label) + 1);
    go_on(d, now_us);
    return stream;
}

void sim_data_close(struct sim_data *d, uint16_t stream, uint64_t now_us)
{
    d->channel[stream].state = SIM_DATA_CLOSING;
    d->channel[stream].wants_reset = true;
    go_on(d, now_us);
}

enum sim_data_state sim_data_state(const struct sim_data *d, uint16_t stream)
{
    return d->channel[stream].state;
}

bool sim_data_send(struct sim_data *d, uint16_t stream, bool is_text, struct bytes_view data,
                   uint64_t now_us)
{
    static const uint8_t nothing[1] = {0};
    const bool is_empty = data.len == 0;
    const struct sctp_message message = {
        .stream = stream,
        .ppid = dcep_ppid_of(is_text, is_empty),
        .data = is_empty ? bytes_view_of(nothing, sizeof(nothing)) : data,
    };
    return d->is_connected && !d->channel[stream].wants_open &&
           sctp_association_send(d->sctp, &message, NULL, now_us) == SCTP_SEND_OK;
}

void sim_data_set_reading(struct sim_data *d, bool is_reading)
{
    d->reads_nothing = !is_reading;
}

bool sim_data_take(struct sim_data *d, struct sim_data_message *out)
{
    struct sctp_message message;
    struct sctp_event event;
    bool is_empty = false;
    while (!d->reads_nothing) {
        if (sctp_association_poll_event(d->sctp, &event)) {
            take_event(d, &event);
            continue;
        }
        if (!sctp_association_poll_message(d->sctp, &message)) {
            return false;
        }
        struct channel *c = &d->channel[message.stream % SIM_DATA_STREAMS];
        if (message.ppid == DCEP_PPID) {
            c->state = c->state == SIM_DATA_OPENING ? SIM_DATA_OPEN : c->state;
            continue;
        }
        (void)dcep_content_of(message.ppid, &is_empty);
        *out = (struct sim_data_message){
            .stream = message.stream,
            .ppid = message.ppid,
            .data = bytes_view_of(message.data.data, is_empty ? 0 : message.data.len)};
        return true;
    }
    return false;
}

bool sim_data_is_ended(const struct sim_data *d)
{
    return d->is_ended;
}

size_t sim_data_buffered_bytes(const struct sim_data *d)
{
    return sctp_association_buffered_bytes(d->sctp);
}

struct sctp_association *sim_data_sctp(struct sim_data *d)
{
    return d->sctp;
}
