/* sctp_outbound.c - see sctp_outbound.h */
#include "services/transceiver/core/transport/sctp/sctp_outbound.h"

#include "services/transceiver/core/transport/sctp/sctp_congestion.h"
#include "services/transceiver/core/transport/sctp/sctp_flight.h"
#include "services/transceiver/core/transport/sctp/sctp_rto.h"
#include "services/transceiver/core/transport/sctp/sctp_send_queue.h"
#include "services/transceiver/core/transport/sctp/sctp_serial.h"
#include "services/transceiver/core/transport/sctp/sctp_ssn_table.h"

#include <assert.h>
#include <stdlib.h>

struct sctp_outbound {
    struct sctp_outbound_config config;
    struct sctp_send_queue queue;
    struct sctp_flight flight;
    struct sctp_congestion congestion;
    struct sctp_rto rto;
    struct sctp_ssn_table next_ssn;
    size_t fragment_bytes;
    size_t peer_window_bytes; /* a_rwnd of the last SACK */
    uint64_t t3_us;
    uint64_t sent_us;  /* the last DATA */
    uint64_t timed_us; /* TIME_NEVER: no fragment is being timed */
    uint32_t timed_tsn;
    unsigned errors; /* T3 in a row, without an answer */
    bool is_forward_due;
    bool is_fast; /* RFC 9260 s.7.2.4: one packet leaves whatever the window */
};

struct sctp_outbound *sctp_outbound_create(const struct sctp_outbound_config *config)
{
    assert(config->streams <= SCTP_STREAMS);
    struct sctp_outbound *o = calloc(1, sizeof(*o));
    if (o == NULL) {
        return NULL;
    }
    o->config = *config;
    /* A multiple of 4, so that a packet is full without padding. */
    o->fragment_bytes =
        (size_t)(config->packet_bytes_max - SCTP_HEADER_BYTES - SCTP_DATA_HEADER_BYTES) / 4 * 4;
    o->peer_window_bytes = config->peer_window_bytes;
    o->t3_us = o->timed_us = TIME_NEVER;
    sctp_flight_init(&o->flight, config->first_tsn);
    sctp_congestion_init(&o->congestion, config->packet_bytes_max, config->peer_window_bytes);
    sctp_rto_init(&o->rto);
    return o;
}

void sctp_outbound_destroy(struct sctp_outbound *o)
{
    if (o != NULL) {
        sctp_send_queue_destroy(&o->queue);
        sctp_flight_destroy(&o->flight);
        sctp_ssn_table_destroy(&o->next_ssn);
        free(o);
    }
}

/* --- messages --------------------------------------------------------------------------------- */

static void set_reliability(struct sctp_outgoing *m, const struct sctp_reliability *reliability,
                            uint64_t now_us)
{
    switch (reliability->kind) {
    case SCTP_RELIABLE:
        break;
    case SCTP_MAX_RETRANSMITS:
        m->repeats_max = reliability->limit < UINT8_MAX ? (uint8_t)reliability->limit : UINT8_MAX;
        break;
    case SCTP_LIFETIME:
        m->expires_us = now_us + reliability->limit * US_PER_MS;
        break;
    }
}

enum sctp_send_result sctp_outbound_send(struct sctp_outbound *o,
                                         const struct sctp_message *message,
                                         const struct sctp_reliability *reliability,
                                         uint64_t now_us)
{
    if (message->stream >= o->config.streams) {
        return SCTP_SEND_NO_STREAM;
    }
    if (sctp_outbound_buffered_bytes(o) + message->data.len > SCTP_SEND_BYTES_MAX) {
        return SCTP_SEND_FULL;
    }
    struct sctp_outgoing *m = sctp_outgoing_create(message, o->fragment_bytes);
    if (m == NULL) {
        return SCTP_SEND_FULL;
    }
    if (reliability != NULL && o->config.has_forward_tsn) {
        set_reliability(m, reliability, now_us);
    }
    sctp_send_queue_put(&o->queue, m);
    return SCTP_SEND_OK;
}

size_t sctp_outbound_buffered_bytes(const struct sctp_outbound *o)
{
    return o->queue.cost_bytes + o->flight.cost_bytes;
}

bool sctp_outbound_has_waiting(const struct sctp_outbound *o, uint16_t stream)
{
    const struct sctp_outgoing *leaving = sctp_flight_next_unsent(&o->flight).message;
    return (leaving != NULL && leaving->stream == stream) || sctp_send_queue_has(&o->queue, stream);
}

uint32_t sctp_outbound_last_tsn(const struct sctp_outbound *o)
{
    return o->flight.next_tsn - 1;
}

void sctp_outbound_reset(struct sctp_outbound *o, uint16_t stream)
{
    sctp_ssn_table_clear(&o->next_ssn, stream);
}

uint64_t sctp_outbound_rto_us(const struct sctp_outbound *o)
{
    return o->rto.rto_us;
}

/* --- SACK ------------------------------------------------------------------------------------- */

static bool is_acknowledged(const struct sctp_sack *sack, uint32_t tsn)
{
    if (!sctp_tsn_before(sack->cumulative_tsn, tsn)) {
        return true;
    }
    const uint32_t offset = tsn - sack->cumulative_tsn;
    for (size_t i = 0; i < sack->gap_count; i++) {
        if (sack->gap[i].first <= offset && offset <= sack->gap[i].last) {
            return true;
        }
    }
    return false;
}

static void measure(struct sctp_outbound *o, const struct sctp_sack *sack, uint64_t now_us)
{
    if (o->timed_us != TIME_NEVER && is_acknowledged(sack, o->timed_tsn)) {
        sctp_rto_measured(&o->rto, time_since(o->timed_us, now_us));
        o->timed_us = TIME_NEVER;
    }
}

/* RFC 9260 s.7.2.4: who counts as missed. In a recovery that goes on, everything below the last
 * gap; else only what is below something that came new. */
static void find_lost(struct sctp_outbound *o, const struct sctp_sack *sack,
                      const struct sctp_flight_ack *ack, bool has_moved, uint64_t now_us)
{
    const bool is_any = o->congestion.is_recovering && has_moved && sack->gap_count > 0;
    if (!is_any && !ack->has_highest) {
        return;
    }
    const uint32_t below =
        is_any ? sack->cumulative_tsn + sack->gap[sack->gap_count - 1].last : ack->highest_tsn;
    if (sctp_flight_miss(&o->flight, below, now_us)) {
        o->timed_us = TIME_NEVER; /* Karn: an answer could be to either */
        o->is_fast |= sctp_congestion_lost(&o->congestion, o->flight.next_tsn - 1);
    }
}

/* RFC 3758 s.3.5 C3: as long as the peer is behind what was given up. */
static void judge_forward(struct sctp_outbound *o)
{
    o->is_forward_due = sctp_flight_advanced_tsn(&o->flight) != o->flight.cumulative_tsn;
}

static bool is_all_answered(const struct sctp_outbound *o)
{
    return o->flight.under_way_bytes == 0 &&
           sctp_flight_advanced_tsn(&o->flight) == o->flight.cumulative_tsn;
}

bool sctp_outbound_cumulative(struct sctp_outbound *o, uint32_t tsn, uint64_t now_us)
{
    const struct sctp_sack sack = {.cumulative_tsn = tsn, .a_rwnd = (uint32_t)o->peer_window_bytes};
    return sctp_outbound_sack(o, &sack, now_us);
}

bool sctp_outbound_sack(struct sctp_outbound *o, const struct sctp_sack *sack, uint64_t now_us)
{
    struct sctp_flight *f = &o->flight;
    if (!sctp_tsn_before(sack->cumulative_tsn, f->next_tsn)) {
        return false;
    }
    if (sctp_tsn_before(sack->cumulative_tsn, f->cumulative_tsn)) {
        return true; /* overtaken by a newer one */
    }
    const bool was_full = f->under_way_bytes >= o->congestion.window_bytes;
    const bool has_moved = sack->cumulative_tsn != f->cumulative_tsn;
    measure(o, sack, now_us);
    const struct sctp_flight_ack ack = sctp_flight_acknowledge(f, sack);
    o->peer_window_bytes = sack->a_rwnd;
    /* RFC 9260 s.6.1 A: who answers probes of a closed window is there. */
    if (ack.bytes > 0 || has_moved || sack->a_rwnd < o->fragment_bytes) {
        o->errors = 0;
    }
    if (has_moved) {
        sctp_congestion_acknowledged(&o->congestion, sack->cumulative_tsn, ack.bytes, was_full,
                                     f->under_way_bytes);
        o->t3_us = now_us + o->rto.rto_us;
    }
    find_lost(o, sack, &ack, has_moved, now_us);
    sctp_congestion_limit_burst(&o->congestion, f->under_way_bytes);
    judge_forward(o);
    if (is_all_answered(o)) {
        o->t3_us = TIME_NEVER;
    }
    return true;
}

void sctp_outbound_drop_unsent(struct sctp_outbound *o)
{
    struct sctp_outgoing *leaving = sctp_flight_next_unsent(&o->flight).message;
    sctp_send_queue_destroy(&o->queue);
    if (leaving != NULL && o->config.has_forward_tsn) {
        sctp_flight_give_up(&o->flight, leaving);
        judge_forward(o);
    }
}

/* --- T3-rtx ----------------------------------------------------------------------------------- */

bool sctp_outbound_tick(struct sctp_outbound *o, uint64_t now_us)
{
    if (now_us < o->t3_us) {
        return true;
    }
    o->errors++;
    if (o->errors > SCTP_RETRANSMISSIONS_MAX) {
        return false;
    }
    sctp_rto_back_off(&o->rto);
    sctp_congestion_timed_out(&o->congestion);
    sctp_flight_lose_all(&o->flight, now_us);
    judge_forward(o);
    o->timed_us = TIME_NEVER;
    o->t3_us = now_us + o->rto.rto_us;
    return true;
}

uint64_t sctp_outbound_next_timeout(const struct sctp_outbound *o)
{
    return o->t3_us;
}

/* --- output ----------------------------------------------------------------------------------- */

static bool may_leave(const struct sctp_outbound *o, struct sctp_fragment_ref ref, bool is_lost)
{
    const size_t under_way_bytes = o->flight.under_way_bytes;
    if (under_way_bytes == 0) {
        return true; /* also the probe of a closed window: RFC 9260 s.6.1 A */
    }
    const size_t bytes = sctp_outgoing_payload(ref.message, ref.index).len;
    return (under_way_bytes < o->congestion.window_bytes || (is_lost && o->is_fast)) &&
           under_way_bytes + bytes <= o->peer_window_bytes;
}

static bool give_up_expired(struct sctp_outbound *o, struct sctp_fragment_ref ref, uint64_t now_us)
{
    if (ref.message == NULL || !sctp_flight_is_expired(ref.message, now_us)) {
        return false;
    }
    sctp_flight_give_up(&o->flight, ref.message);
    judge_forward(o);
    return true;
}

/* Nothing of an expired message is sent that can still be held back. */
static void drop_expired(struct sctp_outbound *o, uint64_t now_us)
{
    while (give_up_expired(o, sctp_flight_next_lost(&o->flight), now_us)) {
    }
    (void)give_up_expired(o, sctp_flight_next_unsent(&o->flight), now_us);
    const struct sctp_outgoing *m = sctp_send_queue_peek(&o->queue);
    while (m != NULL && sctp_flight_is_expired(m, now_us)) {
        sctp_outgoing_destroy(sctp_send_queue_take(&o->queue));
        m = sctp_send_queue_peek(&o->queue);
    }
}

/* The fragment that leaves next: what was lost, the rest of a message, the next message. */
static struct sctp_fragment_ref choose(struct sctp_outbound *o)
{
    struct sctp_fragment_ref ref = sctp_flight_next_lost(&o->flight);
    const bool is_lost = ref.message != NULL;
    if (!is_lost) {
        ref = sctp_flight_next_unsent(&o->flight);
    }
    if (ref.message == NULL) {
        ref.message = sctp_send_queue_peek(&o->queue);
        ref.index = 0;
    }
    return ref.message != NULL && may_leave(o, ref, is_lost) ? ref : (struct sctp_fragment_ref){0};
}

static size_t chunk_bytes(struct sctp_fragment_ref ref)
{
    return SCTP_DATA_HEADER_BYTES + sctp_outgoing_payload(ref.message, ref.index).len;
}

size_t sctp_outbound_next_bytes(struct sctp_outbound *o, uint64_t now_us)
{
    drop_expired(o, now_us);
    const struct sctp_fragment_ref ref = choose(o);
    return ref.message != NULL ? chunk_bytes(ref) : 0;
}

/* From the queue into the flight. False without memory for its stream's number: it waits. */
static bool begin_message(struct sctp_outbound *o)
{
    struct sctp_outgoing *m = sctp_send_queue_peek(&o->queue);
    if (!m->is_unordered) {
        m->ssn = sctp_ssn_table_next(&o->next_ssn, m->stream);
        if (!sctp_ssn_table_set(&o->next_ssn, m->stream, (uint16_t)(m->ssn + 1))) {
            return false;
        }
    }
    sctp_flight_add(&o->flight, sctp_send_queue_take(&o->queue));
    return true;
}

static void write_fragment(struct sctp_outbound *o, struct byte_writer *w,
                           struct sctp_fragment_ref ref, uint64_t now_us)
{
    const struct sctp_outgoing *m = ref.message;
    const bool is_new = m->fragment[ref.index].state == SCTP_FRAGMENT_UNSENT;
    const uint32_t tsn = sctp_flight_send(&o->flight, ref);
    const struct sctp_data data = {
        .is_unordered = m->is_unordered,
        .is_begin = ref.index == 0,
        .is_end = ref.index + 1 == m->fragment_count,
        .tsn = tsn,
        .stream = m->stream,
        .ssn = m->ssn,
        .ppid = m->ppid,
        .payload = sctp_outgoing_payload(m, ref.index),
    };
    sctp_wire_write_data(w, &data);
    if (is_new && o->timed_us == TIME_NEVER) {
        o->timed_us = now_us;
        o->timed_tsn = tsn;
    }
    /* RFC 9260 s.7.2.4: begun anew when what everything waits for is sent again. */
    const bool is_awaited = tsn == o->flight.cumulative_tsn + 1;
    if (o->t3_us == TIME_NEVER || (is_awaited && !is_new)) {
        o->t3_us = now_us + o->rto.rto_us;
    }
    o->sent_us = now_us;
}

static void write_data(struct sctp_outbound *o, struct byte_writer *w, uint64_t now_us)
{
    for (;;) {
        const struct sctp_fragment_ref ref = choose(o);
        if (ref.message == NULL || chunk_bytes(ref) > sctp_wire_room(w)) {
            return;
        }
        if (ref.message == sctp_send_queue_peek(&o->queue) && !begin_message(o)) {
            return;
        }
        write_fragment(o, w, ref, now_us);
    }
}

void sctp_outbound_write(struct sctp_outbound *o, struct byte_writer *w, uint64_t now_us)
{
    const bool is_idle = o->flight.under_way_bytes == 0;
    if (is_idle && time_since(o->sent_us, now_us) > o->rto.rto_us) {
        sctp_congestion_idle(&o->congestion);
        o->sent_us = now_us;
    }
    drop_expired(o, now_us);
    if (o->is_forward_due && sctp_wire_room(w) >= SCTP_FORWARD_TSN_BYTES + 4) {
        o->is_forward_due = false;
        sctp_flight_write_forward(&o->flight, w);
        o->t3_us = time_earlier(o->t3_us, now_us + o->rto.rto_us);
    }
    write_data(o, w, now_us);
    o->is_fast = false;
}
