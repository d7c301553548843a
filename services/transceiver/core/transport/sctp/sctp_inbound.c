/* sctp_inbound.c - see sctp_inbound.h */
#include "services/transceiver/core/transport/sctp/sctp_inbound.h"

#include "services/transceiver/core/transport/sctp/sctp_serial.h"
#include "services/transceiver/core/transport/sctp/sctp_tsn_window.h"

#include <assert.h>
#include <stdlib.h>

/* RFC 9260 s.6.2: "an acknowledgement SHOULD be generated for at least every second packet". */
#define PACKETS_PER_SACK 2

/* RFC 9260 s.6.2: a window that has opened is told when it is worth it, not for every byte. */
#define WINDOW_STEP_BYTES (64 * 1024)

struct sctp_inbound {
    struct sctp_tsn_window window;
    struct sctp_reassembly *reassembly;
    size_t told_bytes; /* the window in the last SACK */
    unsigned packets;  /* with DATA, since the last SACK */
    bool has_data;     /* this packet */
    bool is_due;
    uint64_t sack_us;
};

struct sctp_inbound *sctp_inbound_create(uint32_t first_tsn, size_t message_bytes_max)
{
    struct sctp_inbound *in = calloc(1, sizeof(*in));
    if (in == NULL) {
        return NULL;
    }
    in->reassembly = sctp_reassembly_create(message_bytes_max);
    if (in->reassembly == NULL) {
        free(in);
        return NULL;
    }
    sctp_tsn_window_init(&in->window, first_tsn);
    in->told_bytes = SCTP_RECEIVE_BYTES_MAX;
    in->sack_us = TIME_NEVER;
    return in;
}

void sctp_inbound_destroy(struct sctp_inbound *in)
{
    if (in != NULL) {
        sctp_reassembly_destroy(in->reassembly);
        free(in);
    }
}

static size_t window_bytes(const struct sctp_inbound *in)
{
    const size_t held_bytes = sctp_reassembly_held_bytes(in->reassembly);
    return held_bytes < SCTP_RECEIVE_BYTES_MAX ? SCTP_RECEIVE_BYTES_MAX - held_bytes : 0;
}

/* --- input ------------------------------------------------------------------------------------ */

/* When chunks ahead of a gap fill the memory, the one that fills the gap must get in: it sets them
 * free. But when it is the caller who does not poll, nothing does. */
static bool has_room_for(const struct sctp_inbound *in, const struct sctp_data *data)
{
    const bool is_awaited = data->tsn == in->window.cumulative_tsn + 1;
    const size_t used_bytes = is_awaited ? sctp_reassembly_ready_bytes(in->reassembly)
                                         : sctp_reassembly_held_bytes(in->reassembly);
    return used_bytes + data->payload.len + SCTP_CHUNK_COST_BYTES <= SCTP_RECEIVE_BYTES_MAX;
}

static enum sctp_inbound_result take(struct sctp_inbound *in, const struct sctp_data *data)
{
    const bool has_stream = data->stream < SCTP_STREAMS;
    if (has_stream && !has_room_for(in, data)) {
        return SCTP_INBOUND_DROPPED;
    }
    if (has_stream && !sctp_reassembly_add(in->reassembly, data)) {
        return SCTP_INBOUND_NO_MEMORY;
    }
    sctp_tsn_window_add(&in->window, data->tsn);
    if (!sctp_reassembly_settle(in->reassembly, in->window.cumulative_tsn)) {
        return SCTP_INBOUND_NO_MEMORY;
    }
    return has_stream ? SCTP_INBOUND_TAKEN : SCTP_INBOUND_NO_STREAM;
}

static enum sctp_inbound_result judge_and_take(struct sctp_inbound *in,
                                               const struct sctp_data *data)
{
    switch (sctp_tsn_window_judge(&in->window, data->tsn)) {
    case SCTP_TSN_DUPLICATE:
        return SCTP_INBOUND_DUPLICATE;
    case SCTP_TSN_BEYOND:
        return SCTP_INBOUND_DROPPED;
    case SCTP_TSN_NEW:
        break;
    }
    return take(in, data);
}

enum sctp_inbound_result sctp_inbound_data(struct sctp_inbound *in, const struct sctp_data *data)
{
    const bool had_gap = in->window.highest_tsn != in->window.cumulative_tsn;
    const enum sctp_inbound_result result = judge_and_take(in, data);
    const bool has_gap = in->window.highest_tsn != in->window.cumulative_tsn;
    in->has_data = true;
    /* RFC 9260 s.6.7: at once when something is missing, and when what was missing has come. */
    in->is_due |= data->is_immediate || had_gap || has_gap || result == SCTP_INBOUND_DUPLICATE ||
                  result == SCTP_INBOUND_DROPPED;
    return result;
}

bool sctp_inbound_forward_tsn(struct sctp_inbound *in, const struct sctp_chunk *chunk)
{
    struct byte_reader r;
    byte_reader_init(&r, chunk->body);
    const uint32_t tsn = byte_reader_u32(&r);
    if (r.failed) {
        return true;
    }
    /* RFC 3758 s.3.6: also an old one is answered, since its answer may be what was lost. */
    in->has_data = true;
    in->is_due = true;
    if (!sctp_tsn_before(in->window.cumulative_tsn, tsn)) {
        return true;
    }
    /* Nothing that is held lies beyond the window; and half the circle ahead would be behind. */
    const uint32_t ahead = tsn - in->window.cumulative_tsn;
    sctp_reassembly_give_up(in->reassembly, ahead < SCTP_TSN_WINDOW
                                                ? tsn
                                                : in->window.cumulative_tsn + SCTP_TSN_WINDOW);
    sctp_tsn_window_forward(&in->window, tsn);
    if (!sctp_reassembly_settle(in->reassembly, in->window.cumulative_tsn)) {
        return false;
    }
    while (byte_reader_left(&r) >= 4) {
        const uint16_t stream = byte_reader_u16(&r);
        const uint16_t ssn = byte_reader_u16(&r);
        if (stream < SCTP_STREAMS && !sctp_reassembly_skip(in->reassembly, stream, ssn)) {
            return false;
        }
    }
    return sctp_reassembly_flush(in->reassembly);
}

void sctp_inbound_end_packet(struct sctp_inbound *in, uint64_t now_us)
{
    if (!in->has_data) {
        return;
    }
    in->has_data = false;
    in->packets++;
    in->is_due |= in->packets >= PACKETS_PER_SACK;
    in->sack_us = in->is_due ? TIME_NEVER : now_us + SCTP_SACK_DELAY_US;
}

bool sctp_inbound_reset(struct sctp_inbound *in, uint16_t stream)
{
    return sctp_reassembly_reset(in->reassembly, stream);
}

bool sctp_inbound_has_room(const struct sctp_inbound *in, size_t count)
{
    return count * SCTP_CHUNK_COST_BYTES <= window_bytes(in);
}

uint32_t sctp_inbound_cumulative_tsn(const struct sctp_inbound *in)
{
    return in->window.cumulative_tsn;
}

/* --- SACK ------------------------------------------------------------------------------------- */

bool sctp_inbound_is_sack_due(const struct sctp_inbound *in)
{
    return in->is_due;
}

bool sctp_inbound_is_sack_pending(const struct sctp_inbound *in)
{
    return in->is_due || in->sack_us != TIME_NEVER;
}

void sctp_inbound_tick(struct sctp_inbound *in, uint64_t now_us)
{
    if (in->sack_us <= now_us) {
        in->sack_us = TIME_NEVER;
        in->is_due = true;
    }
}

uint64_t sctp_inbound_next_timeout(const struct sctp_inbound *in)
{
    return in->sack_us;
}

void sctp_inbound_write_sack(struct sctp_inbound *in, struct byte_writer *w)
{
    struct sctp_gap gap[SCTP_GAPS_MAX];
    const size_t room = (sctp_wire_room(w) - SCTP_SACK_BYTES) / 4;
    const size_t gap_cap = room < SCTP_GAPS_MAX ? room : SCTP_GAPS_MAX;
    const size_t gaps = sctp_tsn_window_gaps(&in->window, gap, gap_cap);
    const size_t duplicates =
        in->window.duplicate_count < room - gaps ? in->window.duplicate_count : room - gaps;
    in->told_bytes = window_bytes(in);
    const size_t begin = sctp_wire_begin_chunk(w, SCTP_CHUNK_SACK, 0);
    byte_writer_u32(w, in->window.cumulative_tsn);
    byte_writer_u32(w, (uint32_t)in->told_bytes);
    byte_writer_u16(w, (uint16_t)gaps);
    byte_writer_u16(w, (uint16_t)duplicates);
    for (size_t i = 0; i < gaps; i++) {
        byte_writer_u16(w, gap[i].first);
        byte_writer_u16(w, gap[i].last);
    }
    for (size_t i = 0; i < duplicates; i++) {
        byte_writer_u32(w, in->window.duplicate[i]);
    }
    sctp_wire_end(w, begin);
    in->window.duplicate_count = 0;
    in->packets = 0;
    in->is_due = false;
    in->sack_us = TIME_NEVER;
}

/* --- output ----------------------------------------------------------------------------------- */

bool sctp_inbound_peek(const struct sctp_inbound *in, enum sctp_arrival_kind *out)
{
    return sctp_reassembly_peek(in->reassembly, out);
}

bool sctp_inbound_has_reset(const struct sctp_inbound *in, uint16_t stream)
{
    return sctp_reassembly_has_reset(in->reassembly, stream);
}

bool sctp_inbound_poll(struct sctp_inbound *in, struct sctp_arrival *out)
{
    if (!sctp_reassembly_poll(in->reassembly, out)) {
        return false;
    }
    in->is_due |= in->told_bytes < WINDOW_STEP_BYTES &&
                  window_bytes(in) >= in->told_bytes + WINDOW_STEP_BYTES;
    return true;
}
