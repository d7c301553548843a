/* sctp_endpoint.c - see sctp_endpoint.h */
#include "services/transceiver/core/transport/sctp/sctp_endpoint.h"

static uint16_t smaller(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

void sctp_endpoint_open(struct sctp_association *a, uint64_t now_us)
{
    const struct sctp_init *ours = &a->setup.ours;
    const struct sctp_init *theirs = &a->setup.theirs;
    const struct sctp_outbound_config config = {
        .first_tsn = ours->tsn,
        .peer_window_bytes = theirs->a_rwnd,
        .streams = smaller(ours->out_streams, theirs->in_streams),
        .packet_bytes_max = a->config.packet_bytes_max,
        .has_forward_tsn = theirs->has_forward_tsn,
    };
    a->in = sctp_inbound_create(theirs->tsn, a->config.message_bytes_max);
    a->out = sctp_outbound_create(&config);
    if (a->in == NULL || a->out == NULL) {
        sctp_endpoint_end(a, SCTP_EVENT_FAILED);
        return;
    }
    sctp_reset_init(&a->reset, ours->tsn, theirs->tsn);
    sctp_heartbeat_init(&a->heartbeat, now_us);
    a->zero_checksum = ours->has_zero_checksum && theirs->has_zero_checksum;
    a->is_connected_due = true;
    a->state = SCTP_STATE_OPEN;
}

void sctp_endpoint_tell_end(struct sctp_association *a, enum sctp_event_kind kind)
{
    if (!a->is_end_known) {
        a->is_end_known = a->is_end_due = true;
        a->end = kind;
    }
}

void sctp_endpoint_end(struct sctp_association *a, enum sctp_event_kind kind)
{
    if (a->state != SCTP_STATE_ENDED) {
        a->state = SCTP_STATE_ENDED;
        sctp_endpoint_tell_end(a, kind);
    }
}

void sctp_endpoint_abort(struct sctp_association *a, enum sctp_cause cause)
{
    if (a->setup.theirs.tag == 0) {
        return;
    }
    struct byte_writer w = sctp_endpoint_begin_lone(a, a->setup.theirs.tag);
    sctp_wire_write_cause(&w, SCTP_CHUNK_ABORT, cause, (struct bytes_view){0});
    sctp_endpoint_end_lone(a, &w);
}

struct byte_writer sctp_endpoint_begin_lone(struct sctp_association *a, uint32_t tag)
{
    struct byte_writer w;
    const struct sctp_header header = {
        .source_port = a->config.port, .destination_port = a->config.port, .verification_tag = tag};
    byte_writer_init(&w, a->packet, a->config.packet_bytes_max);
    sctp_wire_begin_packet(&w, &header);
    return w;
}

/* With its checksum: who gets it may not have agreed to do without. */
void sctp_endpoint_end_lone(struct sctp_association *a, struct byte_writer *w)
{
    sctp_wire_end_packet(w, false);
    a->lone_len = w->failed ? 0 : w->len;
}

void sctp_endpoint_clear_control(struct sctp_association *a)
{
    byte_writer_init(&a->control, a->control_bytes, a->config.packet_bytes_max - SCTP_HEADER_BYTES);
}

bool sctp_endpoint_has_control_room(const struct sctp_association *a, size_t body_bytes)
{
    return sctp_wire_room(&a->control) >= SCTP_CHUNK_HEADER_BYTES + body_bytes;
}
