/* sctp_association.c - see sctp_association.h */
#include "services/transceiver/core/transport/sctp/sctp_association.h"

#include "services/transceiver/core/transport/sctp/sctp_dispatch.h"
#include "services/transceiver/core/transport/sctp/sctp_endpoint.h"

#include <assert.h>
#include <stdlib.h>

/* --- birth and death -------------------------------------------------------------------------- */

static uint32_t random_tag(struct random_source random)
{
    const uint32_t tag = random_u32(random);
    return tag != 0 ? tag : 1;
}

struct sctp_association *sctp_association_create(const struct sctp_config *config, uint64_t now_us)
{
    assert(config->packet_bytes_max >= SCTP_PACKET_BYTES_MIN);
    assert(config->packet_bytes_max <= SCTP_PACKET_BYTES_MAX);
    struct sctp_association *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return NULL;
    }
    a->config = *config;
    const struct sctp_init ours = {
        .tag = random_tag(config->random),
        .a_rwnd = SCTP_RECEIVE_BYTES_MAX,
        .out_streams = SCTP_STREAMS,
        .in_streams = SCTP_STREAMS,
        .tsn = random_u32(config->random),
        .has_forward_tsn = true,
        .has_re_config = true,
        .has_zero_checksum = config->zero_checksum,
    };
    sctp_setup_init(&a->setup, &ours, config->random);
    sctp_heartbeat_init(&a->heartbeat, now_us);
    sctp_shutdown_init(&a->shutdown);
    sctp_endpoint_clear_control(a);
    return a;
}

void sctp_association_destroy(struct sctp_association *a)
{
    if (a != NULL) {
        sctp_setup_destroy(&a->setup);
        sctp_inbound_destroy(a->in);
        sctp_outbound_destroy(a->out);
        free(a);
    }
}

void sctp_association_connect(struct sctp_association *a, uint64_t now_us)
{
    if (a->state == SCTP_STATE_SETUP) {
        sctp_setup_connect(&a->setup, now_us);
    }
}

/* --- time ------------------------------------------------------------------------------------- */

/* What waits for everything to be acknowledged may go on. */
static void look_at_shutdown(struct sctp_association *a, uint64_t now_us)
{
    if (a->state == SCTP_STATE_OPEN && sctp_outbound_buffered_bytes(a->out) == 0) {
        sctp_shutdown_drained(&a->shutdown, sctp_outbound_rto_us(a->out), now_us);
    }
}

void sctp_association_input(struct sctp_association *a, struct bytes_view packet, uint64_t now_us)
{
    sctp_dispatch_packet(a, packet, now_us);
    look_at_shutdown(a, now_us);
}

static bool tick_open(struct sctp_association *a, uint64_t now_us)
{
    sctp_inbound_tick(a->in, now_us);
    return sctp_outbound_tick(a->out, now_us) && sctp_reset_tick(&a->reset, now_us) &&
           sctp_heartbeat_tick(&a->heartbeat, now_us) && sctp_shutdown_tick(&a->shutdown, now_us);
}

void sctp_association_tick(struct sctp_association *a, uint64_t now_us)
{
    bool is_answered = true;
    switch (a->state) {
    case SCTP_STATE_SETUP:
        is_answered = sctp_setup_tick(&a->setup, now_us);
        break;
    case SCTP_STATE_OPEN:
        is_answered = tick_open(a, now_us);
        break;
    case SCTP_STATE_ENDED:
        break;
    }
    if (!is_answered) {
        sctp_endpoint_end(a, SCTP_EVENT_FAILED);
    }
    look_at_shutdown(a, now_us);
}

uint64_t sctp_association_next_timeout(const struct sctp_association *a)
{
    switch (a->state) {
    case SCTP_STATE_SETUP:
        return sctp_setup_next_timeout(&a->setup);
    case SCTP_STATE_OPEN:
        break;
    case SCTP_STATE_ENDED:
        return TIME_NEVER;
    }
    const uint64_t deadline_us[] = {
        sctp_inbound_next_timeout(a->in),         sctp_outbound_next_timeout(a->out),
        sctp_reset_next_timeout(&a->reset),       sctp_heartbeat_next_timeout(&a->heartbeat),
        sctp_shutdown_next_timeout(&a->shutdown),
    };
    uint64_t first_us = TIME_NEVER;
    for (size_t i = 0; i < COUNT_OF(deadline_us); i++) {
        first_us = time_earlier(first_us, deadline_us[i]);
    }
    return first_us;
}

/* --- packets ---------------------------------------------------------------------------------- */

/* RFC 9653 s.5.2: INIT and COOKIE ECHO keep their checksum. */
static bool write_setup(struct sctp_association *a, struct bytes_view *out)
{
    if (!sctp_setup_is_due(&a->setup)) {
        return false;
    }
    const bool is_init = a->setup.state == SCTP_SETUP_COOKIE_WAIT;
    struct byte_writer w = sctp_endpoint_begin_lone(a, is_init ? 0 : a->setup.theirs.tag);
    sctp_setup_write(&a->setup, &w);
    sctp_wire_end_packet(&w, false);
    *out = bytes_view_of(w.data, w.len);
    return !w.failed;
}

/* A SACK that may wait goes along with DATA, if both fit. */
static bool is_sack_wanted(struct sctp_association *a, const struct byte_writer *w, uint64_t now_us)
{
    if (sctp_wire_room(w) < SCTP_SACK_BYTES) {
        return false;
    }
    if (sctp_inbound_is_sack_due(a->in) || !sctp_inbound_is_sack_pending(a->in)) {
        return sctp_inbound_is_sack_due(a->in);
    }
    const size_t data_bytes = sctp_outbound_next_bytes(a->out, now_us);
    return data_bytes > 0 && SCTP_SACK_BYTES + data_bytes <= sctp_wire_room(w);
}

static void write_control(struct sctp_association *a, struct byte_writer *w, uint64_t now_us)
{
    byte_writer_bytes(w, bytes_view_of(a->control.data, a->control.len));
    sctp_endpoint_clear_control(a);
    if (is_sack_wanted(a, w, now_us)) {
        sctp_inbound_write_sack(a->in, w);
    }
    if (sctp_wire_room(w) >= SCTP_RESET_BYTES_MAX && sctp_reset_is_due(&a->reset, a->out)) {
        sctp_reset_write(&a->reset, w, now_us);
    }
    if (sctp_wire_room(w) >= SCTP_SHUTDOWN_BYTES && sctp_shutdown_is_due(&a->shutdown)) {
        sctp_shutdown_write(&a->shutdown, w, sctp_inbound_cumulative_tsn(a->in));
    }
    if (sctp_wire_room(w) >= SCTP_HEARTBEAT_BYTES && sctp_heartbeat_is_due(&a->heartbeat)) {
        sctp_heartbeat_write(&a->heartbeat, w, now_us);
    }
}

static bool write_open(struct sctp_association *a, struct bytes_view *out, uint64_t now_us)
{
    struct byte_writer w = sctp_endpoint_begin_lone(a, a->setup.theirs.tag);
    write_control(a, &w, now_us);
    sctp_outbound_write(a->out, &w, now_us);
    if (w.len == SCTP_HEADER_BYTES) {
        return false;
    }
    sctp_wire_end_packet(&w, a->zero_checksum);
    assert(!w.failed);
    *out = bytes_view_of(w.data, w.len);
    return true;
}

bool sctp_association_poll_packet(struct sctp_association *a, struct bytes_view *out,
                                  uint64_t now_us)
{
    if (a->lone_len > 0) {
        *out = bytes_view_of(a->packet, a->lone_len);
        a->lone_len = 0;
        return true;
    }
    switch (a->state) {
    case SCTP_STATE_SETUP:
        return write_setup(a, out);
    case SCTP_STATE_OPEN:
        return write_open(a, out, now_us);
    case SCTP_STATE_ENDED:
        break;
    }
    return false;
}

/* --- messages and events ---------------------------------------------------------------------- */

/* The end was polled, and is the last. */
static bool is_over(const struct sctp_association *a)
{
    return a->is_end_known && !a->is_end_due;
}

static bool has_arrival(const struct sctp_association *a, enum sctp_arrival_kind *kind)
{
    return a->in != NULL && !is_over(a) && sctp_inbound_peek(a->in, kind);
}

bool sctp_association_poll_message(struct sctp_association *a, struct sctp_message *out)
{
    struct sctp_arrival arrival;
    enum sctp_arrival_kind kind = SCTP_ARRIVAL_MESSAGE;
    if (a->is_connected_due || !has_arrival(a, &kind) || kind != SCTP_ARRIVAL_MESSAGE ||
        !sctp_inbound_poll(a->in, &arrival)) {
        return false;
    }
    *out = arrival.message;
    return true;
}

/* Events that stand among the messages. */
static bool poll_arrival(struct sctp_association *a, struct sctp_event *out)
{
    struct sctp_arrival arrival;
    enum sctp_arrival_kind kind = SCTP_ARRIVAL_MESSAGE;
    if (!has_arrival(a, &kind) || kind == SCTP_ARRIVAL_MESSAGE ||
        !sctp_inbound_poll(a->in, &arrival)) {
        return false;
    }
    out->kind =
        kind == SCTP_ARRIVAL_RESET ? SCTP_EVENT_STREAM_RESET_BY_PEER : SCTP_EVENT_MESSAGE_DROPPED;
    out->stream = arrival.message.stream;
    return true;
}

bool sctp_association_poll_event(struct sctp_association *a, struct sctp_event *out)
{
    enum sctp_arrival_kind kind = SCTP_ARRIVAL_MESSAGE;
    *out = (struct sctp_event){0};
    if (is_over(a)) {
        return false;
    }
    if (a->is_connected_due) {
        a->is_connected_due = false;
        out->kind = SCTP_EVENT_CONNECTED;
        return true;
    }
    if (sctp_reset_poll_done(&a->reset, &out->stream)) {
        out->kind = SCTP_EVENT_RESET_DONE;
        return true;
    }
    if (sctp_reset_poll_refused(&a->reset, &out->stream)) {
        out->kind = SCTP_EVENT_RESET_REFUSED;
        return true;
    }
    if (poll_arrival(a, out)) {
        return true;
    }
    if (a->is_end_due && !has_arrival(a, &kind)) {
        a->is_end_due = false;
        out->kind = a->end;
        return true;
    }
    return false;
}

bool sctp_association_has_ended(const struct sctp_association *a)
{
    return a->is_end_due;
}

bool sctp_association_has_reset(const struct sctp_association *a, uint16_t stream)
{
    return a->in != NULL && sctp_inbound_has_reset(a->in, stream);
}

/* --- commands --------------------------------------------------------------------------------- */

static bool is_open_for_more(const struct sctp_association *a)
{
    return a->state == SCTP_STATE_OPEN && a->shutdown.state == SCTP_SHUTDOWN_NONE;
}

enum sctp_send_result sctp_association_send(struct sctp_association *a,
                                            const struct sctp_message *message,
                                            const struct sctp_reliability *reliability,
                                            uint64_t now_us)
{
    if (!is_open_for_more(a)) {
        return SCTP_SEND_NOT_CONNECTED;
    }
    if (message->data.len == 0) {
        return SCTP_SEND_EMPTY;
    }
    if (a->config.peer_message_bytes_max > 0 &&
        message->data.len > a->config.peer_message_bytes_max) {
        return SCTP_SEND_TOO_LONG;
    }
    if (message->stream >= SCTP_STREAMS || sctp_reset_is_resetting(&a->reset, message->stream)) {
        return SCTP_SEND_NO_STREAM;
    }
    return sctp_outbound_send(a->out, message, reliability, now_us);
}

size_t sctp_association_buffered_bytes(const struct sctp_association *a)
{
    return a->out != NULL ? sctp_outbound_buffered_bytes(a->out) : 0;
}

void sctp_association_drop_unsent(struct sctp_association *a, uint64_t now_us)
{
    if (a->state == SCTP_STATE_OPEN) {
        sctp_outbound_drop_unsent(a->out);
        look_at_shutdown(a, now_us);
    }
}

bool sctp_association_reset_streams(struct sctp_association *a, const uint16_t *stream,
                                    size_t count, uint64_t now_us)
{
    (void)now_us; /* it leaves with the next packet */
    if (!is_open_for_more(a) || !a->setup.theirs.has_re_config) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        assert(stream[i] < SCTP_STREAMS);
        sctp_reset_want(&a->reset, stream[i]);
    }
    return true;
}

void sctp_association_shutdown(struct sctp_association *a, uint64_t now_us)
{
    if (a->state == SCTP_STATE_SETUP) {
        sctp_endpoint_end(a, SCTP_EVENT_CLOSED);
        return;
    }
    sctp_shutdown_begin(&a->shutdown);
    look_at_shutdown(a, now_us);
}

void sctp_association_abort(struct sctp_association *a, uint64_t now_us)
{
    (void)now_us; /* likewise */
    if (a->state != SCTP_STATE_ENDED) {
        sctp_endpoint_abort(a, SCTP_CAUSE_USER_ABORT);
        a->state = SCTP_STATE_ENDED;
    }
}
