/* sctp_reset.c - see sctp_reset.h */
#include "services/transceiver/core/transport/sctp/sctp_reset.h"

#include "services/transceiver/core/transport/sctp/sctp_rto.h"
#include "services/transceiver/core/transport/sctp/sctp_serial.h"

/* RFC 6525 s.4. */
enum {
    PARAMETER_OUTGOING = 13,
    PARAMETER_INCOMING = 14,
    PARAMETER_SSN_TSN = 15,
    PARAMETER_RESPONSE = 16,
    PARAMETER_ADD_OUTGOING = 17,
    PARAMETER_ADD_INCOMING = 18
};

/* RFC 6525 s.4.4. */
enum {
    RESULT_NOTHING_TO_DO = 0,
    RESULT_PERFORMED = 1,
    RESULT_DENIED = 2,
    RESULT_WRONG_SSN = 3,
    RESULT_IN_PROGRESS_ALREADY = 4,
    RESULT_BAD_SEQUENCE = 5,
    RESULT_IN_PROGRESS = 6
};

/* RFC 6525 s.5.1.1: requests are numbered from the initial TSN on. */
void sctp_reset_init(struct sctp_reset *r, uint32_t our_first_tsn, uint32_t peer_first_tsn)
{
    *r = (struct sctp_reset){
        .sequence = our_first_tsn, .peer_sequence = peer_first_tsn, .timer_us = TIME_NEVER};
}

void sctp_reset_want(struct sctp_reset *r, uint16_t stream)
{
    sctp_stream_set_add(&r->wanted, stream);
}

bool sctp_reset_is_resetting(const struct sctp_reset *r, uint16_t stream)
{
    return sctp_stream_set_has(&r->wanted, stream) || sctp_stream_set_has(&r->under_way, stream);
}

bool sctp_reset_poll_done(struct sctp_reset *r, uint16_t *stream)
{
    return sctp_stream_set_take(&r->done, stream);
}

bool sctp_reset_poll_refused(struct sctp_reset *r, uint16_t *stream)
{
    return sctp_stream_set_take(&r->refused, stream);
}

/* --- the peer's requests ---------------------------------------------------------------------- */

/* The streams of an Outgoing SSN Reset Request, behind its three numbers. */
static uint32_t reset_incoming(struct byte_reader streams, struct sctp_inbound *in, bool *is_ok)
{
    const size_t count = byte_reader_left(&streams) / 2;
    const struct byte_reader first = streams;
    for (size_t i = 0; i < count; i++) {
        if (byte_reader_u16(&streams) >= SCTP_STREAMS) {
            return RESULT_WRONG_SSN;
        }
    }
    if (!sctp_inbound_has_room(in, count + 1)) {
        return RESULT_IN_PROGRESS;
    }
    streams = first;
    for (size_t i = 0; i < count && *is_ok; i++) {
        *is_ok = sctp_inbound_reset(in, byte_reader_u16(&streams));
    }
    if (count == 0) { /* s.4.1: all */
        *is_ok = sctp_inbound_reset(in, SCTP_STREAMS);
    }
    return RESULT_PERFORMED;
}

static uint32_t judge_outgoing(struct byte_reader *request, struct sctp_inbound *in, bool *is_ok)
{
    byte_reader_skip(request, 4); /* which request of ours it answers: the answer says it too */
    const uint32_t last_tsn = byte_reader_u32(request);
    if (request->failed) {
        return RESULT_DENIED;
    }
    if (sctp_tsn_before(sctp_inbound_cumulative_tsn(in), last_tsn)) {
        return RESULT_IN_PROGRESS;
    }
    return reset_incoming(*request, in, is_ok);
}

static void write_response(struct byte_writer *w, uint32_t sequence, uint32_t result)
{
    const size_t begin = sctp_wire_begin_chunk(w, SCTP_CHUNK_RE_CONFIG, 0);
    const size_t inner = sctp_wire_begin_parameter(w, PARAMETER_RESPONSE);
    byte_writer_u32(w, sequence);
    byte_writer_u32(w, result);
    sctp_wire_end(w, inner);
    sctp_wire_end(w, begin);
}

/* s.5.2.1: the next number is a new request. The last one again gets its answer again; if that was
 * "in progress", the request is looked at again, under its old number or the next. */
static bool take_request(struct sctp_reset *r, const struct sctp_parameter *p,
                         struct sctp_inbound *in, struct byte_writer *answer)
{
    struct byte_reader request;
    bool is_ok = true;
    byte_reader_init(&request, p->value);
    const uint32_t sequence = byte_reader_u32(&request);
    if (request.failed || sctp_wire_room(answer) < SCTP_RESET_ANSWER_BYTES) {
        return true;
    }
    const bool is_new = sequence == r->peer_sequence;
    const bool is_last = sequence == r->peer_sequence - 1;
    if (!is_new && !is_last) {
        write_response(answer, sequence, RESULT_BAD_SEQUENCE);
        return true;
    }
    if (is_new || r->last_result == RESULT_IN_PROGRESS) {
        r->last_result =
            p->type == PARAMETER_OUTGOING ? judge_outgoing(&request, in, &is_ok) : RESULT_DENIED;
        r->peer_sequence = sequence + 1;
    }
    write_response(answer, sequence, r->last_result);
    return is_ok;
}

/* --- answers to ours -------------------------------------------------------------------------- */

static void end_request(struct sctp_reset *r, struct sctp_outbound *out, bool is_done)
{
    uint16_t stream = 0;
    while (sctp_stream_set_take(&r->under_way, &stream)) {
        sctp_stream_set_add(is_done ? &r->done : &r->refused, stream);
        if (is_done) {
            sctp_outbound_reset(out, stream);
        }
    }
    r->is_under_way = r->is_due = false;
    r->sequence++;
    r->timer_us = TIME_NEVER;
}

static void take_response(struct sctp_reset *r, struct bytes_view value, struct sctp_outbound *out,
                          uint64_t now_us)
{
    struct byte_reader response;
    byte_reader_init(&response, value);
    const uint32_t sequence = byte_reader_u32(&response);
    const uint32_t result = byte_reader_u32(&response);
    if (response.failed || !r->is_under_way || sequence != r->sequence) {
        return;
    }
    switch (result) {
    case RESULT_NOTHING_TO_DO:
    case RESULT_PERFORMED:
        end_request(r, out, true);
        break;
    case RESULT_IN_PROGRESS:
    case RESULT_IN_PROGRESS_ALREADY: /* s.5.2.7: it is asked again */
        r->errors = 0;
        r->wait_us = sctp_outbound_rto_us(out);
        r->timer_us = now_us + r->wait_us;
        break;
    default:
        end_request(r, out, false);
        break;
    }
}

bool sctp_reset_input(struct sctp_reset *r, const struct sctp_chunk *chunk, struct sctp_inbound *in,
                      struct sctp_outbound *out, struct byte_writer *answer, uint64_t now_us)
{
    struct byte_reader parameters;
    struct sctp_parameter p;
    byte_reader_init(&parameters, chunk->body);
    while (sctp_wire_next_parameter(&parameters, &p)) {
        switch (p.type) {
        case PARAMETER_OUTGOING:
        case PARAMETER_INCOMING:
        case PARAMETER_SSN_TSN:
        case PARAMETER_ADD_OUTGOING:
        case PARAMETER_ADD_INCOMING:
            if (!take_request(r, &p, in, answer)) {
                return false;
            }
            break;
        case PARAMETER_RESPONSE:
            take_response(r, p.value, out, now_us);
            break;
        default:
            break;
        }
    }
    return true;
}

/* --- our requests ----------------------------------------------------------------------------- */

/* RFC 8831 s.6.7: what was given for a stream is sent before it ends. */
static void begin_request(struct sctp_reset *r, const struct sctp_outbound *out)
{
    uint16_t stream = 0;
    size_t count = 0;
    for (uint32_t from = 0;
         count < SCTP_RESET_STREAMS_MAX && sctp_stream_set_next(&r->wanted, from, &stream);
         from = stream + 1U) {
        if (!sctp_outbound_has_waiting(out, stream)) {
            sctp_stream_set_remove(&r->wanted, stream);
            sctp_stream_set_add(&r->under_way, stream);
            count++;
        }
    }
    if (count > 0) {
        r->is_under_way = r->is_due = true;
        r->last_tsn = sctp_outbound_last_tsn(out);
        r->errors = 0;
        r->wait_us = sctp_outbound_rto_us(out);
    }
}

bool sctp_reset_is_due(struct sctp_reset *r, const struct sctp_outbound *out)
{
    if (!r->is_under_way) {
        begin_request(r, out);
    }
    return r->is_due;
}

void sctp_reset_write(struct sctp_reset *r, struct byte_writer *w, uint64_t now_us)
{
    uint16_t stream = 0;
    r->is_due = false;
    r->timer_us = now_us + r->wait_us;
    const size_t begin = sctp_wire_begin_chunk(w, SCTP_CHUNK_RE_CONFIG, 0);
    const size_t inner = sctp_wire_begin_parameter(w, PARAMETER_OUTGOING);
    byte_writer_u32(w, r->sequence);
    byte_writer_u32(w, r->peer_sequence - 1);
    byte_writer_u32(w, r->last_tsn);
    for (uint32_t from = 0; sctp_stream_set_next(&r->under_way, from, &stream);
         from = stream + 1U) {
        byte_writer_u16(w, stream);
    }
    sctp_wire_end(w, inner);
    sctp_wire_end(w, begin);
}

bool sctp_reset_tick(struct sctp_reset *r, uint64_t now_us)
{
    if (now_us < r->timer_us) {
        return true;
    }
    r->errors++;
    if (r->errors > SCTP_RESET_RETRANSMISSIONS_MAX) {
        return false;
    }
    r->is_due = true;
    r->wait_us = time_earlier(2 * r->wait_us, SCTP_RTO_MAX_US);
    r->timer_us = now_us + r->wait_us;
    return true;
}

uint64_t sctp_reset_next_timeout(const struct sctp_reset *r)
{
    return r->timer_us;
}
