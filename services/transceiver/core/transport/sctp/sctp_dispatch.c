/* sctp_dispatch.c - see sctp_dispatch.h */
#include "services/transceiver/core/transport/sctp/sctp_dispatch.h"

#include "services/transceiver/core/transport/sctp/sctp_endpoint.h"

/* --- chunks of an open association ------------------------------------------------------------ */

/* The peer has broken the rules. */
static void fail_because(struct sctp_association *a, enum sctp_cause cause)
{
    sctp_endpoint_abort(a, cause);
    sctp_endpoint_end(a, SCTP_EVENT_FAILED);
}

/* An ERROR with one cause, if there is room: it is only for the peer's log. */
static void report(struct sctp_association *a, enum sctp_cause cause, struct bytes_view about)
{
    if (sctp_endpoint_has_control_room(a, SCTP_CHUNK_HEADER_BYTES + about.len)) {
        sctp_wire_write_cause(&a->control, SCTP_CHUNK_ERROR, cause, about);
    }
}

static void take_data(struct sctp_association *a, const struct sctp_chunk *chunk)
{
    struct sctp_data data;
    if (!sctp_wire_read_data(chunk, &data)) {
        return;
    }
    if (data.payload.len == 0) { /* RFC 9260 s.6.2: MUST abort */
        fail_because(a, SCTP_CAUSE_NO_USER_DATA);
        return;
    }
    switch (sctp_inbound_data(a->in, &data)) {
    case SCTP_INBOUND_TAKEN:
    case SCTP_INBOUND_DUPLICATE:
    case SCTP_INBOUND_DROPPED:
        break;
    case SCTP_INBOUND_NO_STREAM: {
        const uint8_t about[] = {(uint8_t)(data.stream >> 8), (uint8_t)data.stream, 0, 0};
        report(a, SCTP_CAUSE_INVALID_STREAM, bytes_view_of(about, sizeof(about)));
        break;
    }
    case SCTP_INBOUND_NO_MEMORY:
        sctp_endpoint_end(a, SCTP_EVENT_FAILED);
        break;
    }
    sctp_shutdown_repeat(&a->shutdown);
}

static void take_sack(struct sctp_association *a, const struct sctp_chunk *chunk, uint64_t now_us)
{
    struct sctp_sack sack;
    if (sctp_wire_read_sack(chunk, &sack) && !sctp_outbound_sack(a->out, &sack, now_us)) {
        fail_because(a, SCTP_CAUSE_PROTOCOL_VIOLATION); /* RFC 9260 s.6.2.1 */
    }
}

static void take_heartbeat(struct sctp_association *a, const struct sctp_chunk *chunk)
{
    if (sctp_endpoint_has_control_room(a, chunk->body.len)) {
        const size_t begin = sctp_wire_begin_chunk(&a->control, SCTP_CHUNK_HEARTBEAT_ACK, 0);
        byte_writer_bytes(&a->control, chunk->body);
        sctp_wire_end(&a->control, begin);
    }
}

static void take_shutdown(struct sctp_association *a, const struct sctp_chunk *chunk,
                          uint64_t now_us)
{
    struct byte_reader r;
    byte_reader_init(&r, chunk->body);
    const uint32_t cumulative_tsn = byte_reader_u32(&r);
    if (r.failed) {
        return;
    }
    if (!sctp_outbound_cumulative(a->out, cumulative_tsn, now_us)) {
        fail_because(a, SCTP_CAUSE_PROTOCOL_VIOLATION);
        return;
    }
    sctp_shutdown_received(&a->shutdown);
    sctp_endpoint_tell_end(a, SCTP_EVENT_CLOSED);
}

/* The last word: nothing answers it. When it is lost, SHUTDOWN ACK comes again (answer_late). */
static void take_shutdown_ack(struct sctp_association *a)
{
    if (!sctp_shutdown_is_asked(&a->shutdown)) {
        return;
    }
    struct byte_writer w = sctp_endpoint_begin_lone(a, a->setup.theirs.tag);
    sctp_wire_write_bare(&w, SCTP_CHUNK_SHUTDOWN_COMPLETE, 0);
    sctp_endpoint_end_lone(a, &w);
    sctp_endpoint_end(a, SCTP_EVENT_CLOSED);
}

static void take_re_config(struct sctp_association *a, const struct sctp_chunk *chunk,
                           uint64_t now_us)
{
    if (!sctp_reset_input(&a->reset, chunk, a->in, a->out, &a->control, now_us)) {
        sctp_endpoint_end(a, SCTP_EVENT_FAILED);
    }
}

/* Each walks through all that is under way or waits, and a packet has room for thousands. Nobody
 * has two to say in one: the second is not looked at, and if it was meant it comes again. */
static bool is_first(bool *had)
{
    const bool is_first = !*had;
    *had = true;
    return is_first;
}

/* What only an association that is open takes. False: a type that nobody knows. */
static bool take_open_chunk(struct sctp_association *a, const struct sctp_chunk *chunk,
                            uint64_t now_us)
{
    switch (chunk->type) {
    case SCTP_CHUNK_DATA:
        take_data(a, chunk);
        return true;
    case SCTP_CHUNK_SACK:
        if (is_first(&a->had.sack)) {
            take_sack(a, chunk, now_us);
        }
        return true;
    case SCTP_CHUNK_HEARTBEAT:
        take_heartbeat(a, chunk);
        return true;
    case SCTP_CHUNK_SHUTDOWN:
        if (is_first(&a->had.shutdown)) {
            take_shutdown(a, chunk, now_us);
        }
        return true;
    case SCTP_CHUNK_SHUTDOWN_ACK:
        take_shutdown_ack(a);
        return true;
    case SCTP_CHUNK_RE_CONFIG:
        take_re_config(a, chunk, now_us);
        return true;
    case SCTP_CHUNK_FORWARD_TSN:
        if (is_first(&a->had.forward_tsn) && !sctp_inbound_forward_tsn(a->in, chunk)) {
            sctp_endpoint_end(a, SCTP_EVENT_FAILED);
        }
        return true;
    case SCTP_CHUNK_INIT_ACK: /* late copies, and what needs no answer */
    case SCTP_CHUNK_COOKIE_ACK:
    case SCTP_CHUNK_HEARTBEAT_ACK:
    case SCTP_CHUNK_ERROR:
        return true;
    default:
        return false;
    }
}

/* --- set-up and end --------------------------------------------------------------------------- */

/* RFC 9260 s.5.2.6. How stale it is does not help anybody: 0. */
static void answer_stale(struct sctp_association *a, uint32_t peer_tag)
{
    static const uint8_t staleness_us[4];
    struct byte_writer w = sctp_endpoint_begin_lone(a, peer_tag);
    sctp_wire_write_cause(&w, SCTP_CHUNK_ERROR, SCTP_CAUSE_STALE_COOKIE,
                          bytes_view_of(staleness_us, sizeof(staleness_us)));
    sctp_endpoint_end_lone(a, &w);
}

static void take_cookie_echo(struct sctp_association *a, const struct sctp_chunk *chunk,
                             uint64_t now_us)
{
    uint32_t peer_tag = 0;
    switch (sctp_setup_cookie_echo(&a->setup, chunk, &peer_tag, now_us)) {
    case SCTP_COOKIE_ECHO_DONE:
        sctp_endpoint_open(a, now_us);
        sctp_wire_write_bare(&a->control, SCTP_CHUNK_COOKIE_ACK, 0);
        break;
    case SCTP_COOKIE_ECHO_AGAIN:
        if (sctp_endpoint_has_control_room(a, 0)) {
            sctp_wire_write_bare(&a->control, SCTP_CHUNK_COOKIE_ACK, 0);
        }
        break;
    case SCTP_COOKIE_ECHO_STALE:
        answer_stale(a, peer_tag);
        break;
    case SCTP_COOKIE_ECHO_IGNORED:
        break;
    }
}

/* ABORT in any state; SHUTDOWN COMPLETE only as an answer (RFC 9260 s.8.5.1 C). */
static void take_end(struct sctp_association *a, const struct sctp_chunk *chunk)
{
    if (chunk->type == SCTP_CHUNK_ABORT || a->shutdown.state == SCTP_SHUTDOWN_ACK_SENT) {
        sctp_endpoint_end(a, SCTP_EVENT_CLOSED);
    }
}

/* False: nothing behind this chunk is looked at. */
static bool take_chunk(struct sctp_association *a, const struct sctp_chunk *chunk, uint64_t now_us)
{
    switch (chunk->type) {
    case SCTP_CHUNK_INIT: /* must be alone: RFC 9260 s.6.10 */
        return false;
    case SCTP_CHUNK_ABORT:
    case SCTP_CHUNK_SHUTDOWN_COMPLETE:
        take_end(a, chunk);
        return false;
    case SCTP_CHUNK_COOKIE_ECHO:
        take_cookie_echo(a, chunk, now_us);
        return true;
    default:
        break;
    }
    if (a->state == SCTP_STATE_SETUP) {
        if (chunk->type == SCTP_CHUNK_INIT_ACK) {
            sctp_setup_init_ack(&a->setup, chunk, now_us);
        } else if (chunk->type == SCTP_CHUNK_COOKIE_ACK && sctp_setup_cookie_ack(&a->setup)) {
            sctp_endpoint_open(a, now_us);
        }
        return true;
    }
    if (take_open_chunk(a, chunk, now_us)) {
        return true;
    }
    if ((chunk->type & SCTP_CHUNK_REPORT) != 0) {
        report(a, SCTP_CAUSE_UNKNOWN_CHUNK, chunk->whole);
    }
    return (chunk->type & SCTP_CHUNK_SKIP) != 0;
}

/* --- packets ---------------------------------------------------------------------------------- */

/* RFC 9653 s.5.3: a checksum of zero is right if both offered to do without. */
static bool is_intact(const struct sctp_association *a, struct bytes_view packet)
{
    switch (sctp_wire_checksum(packet)) {
    case SCTP_CHECKSUM_RIGHT:
        return true;
    case SCTP_CHECKSUM_ZERO:
        return a->setup.ours.has_zero_checksum && a->setup.theirs.has_zero_checksum;
    case SCTP_CHECKSUM_WRONG:
        break;
    }
    return false;
}

/* RFC 9260 s.8.5, s.8.5.1. */
static bool is_tag_right(const struct sctp_association *a, uint32_t tag,
                         const struct sctp_chunk *first)
{
    const bool may_reflect =
        first->type == SCTP_CHUNK_ABORT || first->type == SCTP_CHUNK_SHUTDOWN_COMPLETE;
    if (may_reflect && (first->flags & SCTP_FLAG_TAG_REFLECTED) != 0) {
        return a->setup.theirs.tag != 0 && tag == a->setup.theirs.tag;
    }
    return tag == a->setup.ours.tag;
}

static void take_init(struct sctp_association *a, const struct sctp_header *header,
                      const struct sctp_chunk *chunk, uint64_t now_us)
{
    struct byte_writer w;
    byte_writer_init(&w, a->packet, a->config.packet_bytes_max);
    if (header->verification_tag == 0 && a->state == SCTP_STATE_SETUP &&
        sctp_setup_answer(&a->setup, chunk, header, &w, now_us)) {
        sctp_endpoint_end_lone(a, &w);
    }
}

/* After the end (RFC 9260 s.8.4): the peer may not know of it. */
static void answer_late(struct sctp_association *a, const struct sctp_chunk *first)
{
    struct byte_writer w = sctp_endpoint_begin_lone(a, a->setup.theirs.tag);
    switch (first->type) {
    case SCTP_CHUNK_ABORT:
    case SCTP_CHUNK_SHUTDOWN_COMPLETE:
    case SCTP_CHUNK_COOKIE_ACK:
    case SCTP_CHUNK_ERROR:
        return;
    case SCTP_CHUNK_SHUTDOWN_ACK:
        sctp_wire_write_bare(&w, SCTP_CHUNK_SHUTDOWN_COMPLETE, 0);
        break;
    default:
        sctp_wire_write_bare(&w, SCTP_CHUNK_ABORT, 0);
        break;
    }
    sctp_endpoint_end_lone(a, &w);
}

static void take_chunks(struct sctp_association *a, struct byte_reader *r,
                        const struct sctp_chunk *first, uint64_t now_us)
{
    struct sctp_chunk chunk = *first;
    bool goes_on = true;
    memset(&a->had, 0, sizeof(a->had));
    while (goes_on) {
        goes_on = take_chunk(a, &chunk, now_us) && a->state != SCTP_STATE_ENDED &&
                  sctp_wire_next_chunk(r, &chunk);
    }
    if (a->state == SCTP_STATE_OPEN) {
        sctp_heartbeat_heard(&a->heartbeat, now_us);
        sctp_inbound_end_packet(a->in, now_us);
    }
}

void sctp_dispatch_packet(struct sctp_association *a, struct bytes_view packet, uint64_t now_us)
{
    struct byte_reader r;
    struct sctp_header header;
    struct sctp_chunk first;
    byte_reader_init(&r, packet);
    if (!sctp_wire_read_header(&r, &header) || header.source_port != a->config.port ||
        header.destination_port != a->config.port || !is_intact(a, packet) ||
        !sctp_wire_next_chunk(&r, &first)) {
        return;
    }
    if (first.type == SCTP_CHUNK_INIT) {
        if (byte_reader_left(&r) == 0) { /* alone: RFC 9260 s.6.10 */
            take_init(a, &header, &first, now_us);
        }
        return;
    }
    if (!is_tag_right(a, header.verification_tag, &first)) {
        return;
    }
    if (a->state == SCTP_STATE_ENDED) {
        answer_late(a, &first);
        return;
    }
    take_chunks(a, &r, &first, now_us);
}
