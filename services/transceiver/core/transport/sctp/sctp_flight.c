/* sctp_flight.c - see sctp_flight.h */
#include "services/transceiver/core/transport/sctp/sctp_flight.h"

#include "services/transceiver/core/transport/sctp/sctp_serial.h"

#include <assert.h>

/* In one FORWARD TSN; the rest goes into the next. */
#define SKIPPED_STREAMS_MAX 32

void sctp_flight_init(struct sctp_flight *f, uint32_t first_tsn)
{
    *f = (struct sctp_flight){.cumulative_tsn = first_tsn - 1, .next_tsn = first_tsn};
}

static void free_first(struct sctp_flight *f)
{
    struct sctp_outgoing *m = f->first;
    f->first = m->next;
    if (f->first == NULL) {
        f->last = NULL;
    }
    if (f->lost_from == m) {
        f->lost_from = m->next;
    }
    f->given_up_count -= m->is_given_up;
    f->cost_bytes -= sctp_outgoing_cost(m);
    sctp_outgoing_destroy(m);
}

void sctp_flight_destroy(struct sctp_flight *f)
{
    while (f->first != NULL) {
        free_first(f);
    }
}

static size_t payload_bytes(const struct sctp_outgoing *m, uint32_t index)
{
    return sctp_outgoing_payload(m, index).len;
}

/* --- sending ---------------------------------------------------------------------------------- */

void sctp_flight_add(struct sctp_flight *f, struct sctp_outgoing *m)
{
    m->next = NULL;
    m->first_tsn = f->next_tsn;
    *(f->last != NULL ? &f->last->next : &f->first) = m;
    f->last = m;
    f->cost_bytes += sctp_outgoing_cost(m);
}

struct sctp_fragment_ref sctp_flight_next_unsent(const struct sctp_flight *f)
{
    if (f->last == NULL || f->last->sent_count == f->last->fragment_count) {
        return (struct sctp_fragment_ref){0};
    }
    return (struct sctp_fragment_ref){.message = f->last, .index = f->last->sent_count};
}

struct sctp_fragment_ref sctp_flight_next_lost(struct sctp_flight *f)
{
    if (f->lost_count == 0) {
        return (struct sctp_fragment_ref){0};
    }
    for (; f->lost_from != NULL; f->lost_from = f->lost_from->next) {
        struct sctp_outgoing *m = f->lost_from;
        for (uint32_t i = m->done_count; i < m->sent_count; i++) {
            if (m->fragment[i].state == SCTP_FRAGMENT_TO_RESEND) {
                return (struct sctp_fragment_ref){.message = m, .index = i};
            }
        }
    }
    assert(false); /* lost_count says that there is one */
    return (struct sctp_fragment_ref){0};
}

uint32_t sctp_flight_send(struct sctp_flight *f, struct sctp_fragment_ref ref)
{
    struct sctp_outgoing *m = ref.message;
    struct sctp_fragment *fragment = &m->fragment[ref.index];
    if (fragment->state == SCTP_FRAGMENT_UNSENT) {
        assert(ref.index == m->sent_count);
        m->sent_count++;
        f->next_tsn++;
    } else {
        assert(fragment->state == SCTP_FRAGMENT_TO_RESEND);
        fragment->repeats = (uint8_t)(fragment->repeats + (fragment->repeats < UINT8_MAX));
        f->lost_count--;
    }
    fragment->state = SCTP_FRAGMENT_UNDER_WAY;
    fragment->misses = 0;
    f->under_way_bytes += payload_bytes(m, ref.index);
    return m->first_tsn + ref.index;
}

/* --- acknowledged ----------------------------------------------------------------------------- */

/* Its bytes, if it was not acknowledged before. */
static size_t settle(struct sctp_flight *f, struct sctp_outgoing *m, uint32_t index)
{
    const size_t bytes = payload_bytes(m, index);
    switch (m->fragment[index].state) {
    case SCTP_FRAGMENT_UNDER_WAY:
        f->under_way_bytes -= bytes;
        return bytes;
    case SCTP_FRAGMENT_TO_RESEND:
        f->lost_count--;
        return bytes;
    case SCTP_FRAGMENT_ACKNOWLEDGED:
        f->gap_count--;
        return 0;
    default:
        return 0;
    }
}

static size_t acknowledge_up_to(struct sctp_flight *f, uint32_t tsn)
{
    size_t bytes = 0;
    assert(!sctp_tsn_before(tsn, f->cumulative_tsn));
    assert(sctp_tsn_before(tsn, f->next_tsn));
    while (f->first != NULL && f->cumulative_tsn != tsn) {
        struct sctp_outgoing *m = f->first;
        while (m->done_count < m->sent_count && f->cumulative_tsn != tsn) {
            bytes += settle(f, m, m->done_count);
            m->done_count++;
            f->cumulative_tsn++;
        }
        if (m->done_count == m->fragment_count) {
            free_first(f);
        }
    }
    assert(f->cumulative_tsn == tsn);
    return bytes;
}

/* The peer has dropped it again (RFC 9260 s.6.2.1 D iii), or an older SACK has come late. */
static void take_back(struct sctp_flight *f, struct sctp_outgoing *m, uint32_t index)
{
    f->gap_count--;
    if (m->is_given_up) {
        m->fragment[index].state = SCTP_FRAGMENT_GIVEN_UP;
        return;
    }
    m->fragment[index].state = SCTP_FRAGMENT_TO_RESEND;
    f->lost_count++;
    f->lost_from = f->first;
}

static void acknowledge_one(struct sctp_flight *f, struct sctp_outgoing *m, uint32_t index,
                            struct sctp_flight_ack *ack)
{
    if (m->fragment[index].state == SCTP_FRAGMENT_GIVEN_UP) {
        return;
    }
    ack->bytes += settle(f, m, index);
    m->fragment[index].state = SCTP_FRAGMENT_ACKNOWLEDGED;
    f->gap_count++;
    ack->has_highest = true;
    ack->highest_tsn = m->first_tsn + index;
}

static void acknowledge_gaps(struct sctp_flight *f, const struct sctp_sack *sack,
                             struct sctp_flight_ack *ack)
{
    size_t g = 0;
    for (struct sctp_outgoing *m = f->first; m != NULL; m = m->next) {
        for (uint32_t i = m->done_count; i < m->sent_count; i++) {
            const uint32_t offset = m->first_tsn + i - f->cumulative_tsn;
            while (g < sack->gap_count && sack->gap[g].last < offset) {
                g++;
            }
            const bool is_there = g < sack->gap_count && sack->gap[g].first <= offset;
            const bool was_there = m->fragment[i].state == SCTP_FRAGMENT_ACKNOWLEDGED;
            if (is_there && !was_there) {
                acknowledge_one(f, m, i, ack);
            } else if (!is_there && was_there) {
                take_back(f, m, i);
            }
        }
    }
}

struct sctp_flight_ack sctp_flight_acknowledge(struct sctp_flight *f, const struct sctp_sack *sack)
{
    struct sctp_flight_ack ack = {.bytes = acknowledge_up_to(f, sack->cumulative_tsn)};
    if (sack->gap_count > 0 || f->gap_count > 0) {
        acknowledge_gaps(f, sack, &ack);
    }
    return ack;
}

/* --- lost ------------------------------------------------------------------------------------- */

bool sctp_flight_is_expired(const struct sctp_outgoing *m, uint64_t now_us)
{
    return m->expires_us <= now_us;
}

/* A fragment that was under way. */
static void lose(struct sctp_flight *f, struct sctp_outgoing *m, uint32_t index, uint64_t now_us)
{
    struct sctp_fragment *fragment = &m->fragment[index];
    const bool may_repeat = m->repeats_max == UINT8_MAX || fragment->repeats < m->repeats_max;
    f->under_way_bytes -= payload_bytes(m, index);
    fragment->state = SCTP_FRAGMENT_TO_RESEND;
    f->lost_count++;
    f->lost_from = f->first;
    if (!may_repeat || sctp_flight_is_expired(m, now_us)) {
        sctp_flight_give_up(f, m);
    }
}

bool sctp_flight_miss(struct sctp_flight *f, uint32_t below, uint64_t now_us)
{
    bool is_lost = false;
    for (struct sctp_outgoing *m = f->first; m != NULL; m = m->next) {
        for (uint32_t i = m->done_count; i < m->sent_count; i++) {
            struct sctp_fragment *fragment = &m->fragment[i];
            if (!sctp_tsn_before(m->first_tsn + i, below)) {
                return is_lost;
            }
            if (fragment->state != SCTP_FRAGMENT_UNDER_WAY || fragment->was_fast) {
                continue;
            }
            fragment->misses++;
            if (fragment->misses >= SCTP_MISSES_MAX) {
                fragment->was_fast = true;
                lose(f, m, i, now_us);
                is_lost = true;
            }
        }
    }
    return is_lost;
}

void sctp_flight_lose_all(struct sctp_flight *f, uint64_t now_us)
{
    for (struct sctp_outgoing *m = f->first; m != NULL; m = m->next) {
        for (uint32_t i = m->done_count; i < m->sent_count; i++) {
            m->fragment[i].was_fast = false;
            if (m->fragment[i].state == SCTP_FRAGMENT_UNDER_WAY) {
                lose(f, m, i, now_us);
            }
        }
    }
}

/* --- given up --------------------------------------------------------------------------------- */

/* RFC 3758 s.3.5 A3. A message of which a part was never sent takes one TSN more: only a FORWARD
 * TSN beyond what has come tells the peer to drop the part that has. */
void sctp_flight_give_up(struct sctp_flight *f, struct sctp_outgoing *m)
{
    if (m->is_given_up) {
        return;
    }
    m->is_given_up = true;
    f->given_up_count++;
    if (m->sent_count < m->fragment_count) {
        m->sent_count++;
        m->fragment_count = m->sent_count;
        f->next_tsn++;
    }
    for (uint32_t i = m->done_count; i < m->sent_count; i++) {
        if (m->fragment[i].state == SCTP_FRAGMENT_ACKNOWLEDGED) {
            continue;
        }
        (void)settle(f, m, i);
        m->fragment[i].state = SCTP_FRAGMENT_GIVEN_UP;
    }
}

/* Past messages that were given up. A message that is whole in the peer's gap blocks stops it too:
 * the peer passes that one by itself. */
uint32_t sctp_flight_advanced_tsn(const struct sctp_flight *f)
{
    uint32_t tsn = f->cumulative_tsn;
    for (const struct sctp_outgoing *m = f->first; m != NULL && m->is_given_up; m = m->next) {
        tsn = m->first_tsn + m->sent_count - 1;
    }
    return tsn;
}

struct skipped {
    uint16_t stream;
    uint16_t ssn;
};

/* RFC 3758 s.3.2: each stream once, with the last SSN that was skipped. False: no room. */
static bool add_skipped(struct skipped *list, size_t *count, size_t cap,
                        const struct sctp_outgoing *m)
{
    size_t i = 0;
    while (i < *count && list[i].stream != m->stream) {
        i++;
    }
    if (i == cap) {
        return false;
    }
    *count += i == *count;
    list[i] = (struct skipped){.stream = m->stream, .ssn = m->ssn};
    return true;
}

void sctp_flight_write_forward(const struct sctp_flight *f, struct byte_writer *w)
{
    struct skipped list[SKIPPED_STREAMS_MAX];
    const size_t room = (sctp_wire_room(w) - SCTP_FORWARD_TSN_BYTES) / sizeof(struct skipped);
    const size_t cap = room < COUNT_OF(list) ? room : COUNT_OF(list);
    size_t count = 0;
    uint32_t tsn = f->cumulative_tsn;
    for (const struct sctp_outgoing *m = f->first; m != NULL && m->is_given_up; m = m->next) {
        if (!m->is_unordered && !add_skipped(list, &count, cap, m)) {
            break;
        }
        tsn = m->first_tsn + m->sent_count - 1;
    }
    const size_t begin = sctp_wire_begin_chunk(w, SCTP_CHUNK_FORWARD_TSN, 0);
    byte_writer_u32(w, tsn);
    for (size_t i = 0; i < count; i++) {
        byte_writer_u16(w, list[i].stream);
        byte_writer_u16(w, list[i].ssn);
    }
    sctp_wire_end(w, begin);
}
