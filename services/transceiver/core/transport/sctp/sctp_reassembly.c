/* sctp_reassembly.c - see sctp_reassembly.h */
#include "services/transceiver/core/transport/sctp/sctp_reassembly.h"

#include "services/transceiver/core/transport/sctp/sctp_serial.h"
#include "services/transceiver/core/transport/sctp/sctp_ssn_table.h"

#include <assert.h>
#include <stdlib.h>

struct piece {
    struct piece *next;
    size_t len;
    uint8_t data[];
};

/* Chunks that touch; when it is ready, one piece, or none. */
struct run {
    struct run *next; /* by TSN; in the ready list by arrival */
    struct run *previous;
    struct piece *first;
    struct piece *last;
    size_t bytes;
    size_t cost;
    uint32_t first_tsn;
    uint32_t last_tsn;
    uint32_t ppid;
    uint16_t stream;
    uint16_t ssn;
    bool is_unordered;
    bool has_begin;
    bool has_end;
    bool is_too_long; /* its pieces are gone */
    enum sctp_arrival_kind kind;
};

struct list {
    struct run *first;
    struct run *last;
};

struct sctp_reassembly {
    size_t message_bytes_max;
    struct list waiting; /* rising TSNs */
    struct list ready;
    struct run *borrowed; /* the view given out last points into it */
    size_t held_bytes;
    size_t ready_bytes;
    size_t ready_resets;
    struct sctp_ssn_table next_ssn;
};

/* --- memory ----------------------------------------------------------------------------------- */

static struct piece *piece_create(size_t len)
{
    struct piece *p = malloc(sizeof(*p) + len);
    if (p != NULL) {
        p->next = NULL;
        p->len = len;
    }
    return p;
}

static void pieces_destroy(struct run *run)
{
    while (run->first != NULL) {
        struct piece *next = run->first->next;
        free(run->first);
        run->first = next;
    }
    run->last = NULL;
}

static void run_destroy(struct run *run)
{
    if (run != NULL) {
        pieces_destroy(run);
        free(run);
    }
}

/* One piece of the given length, not yet filled. */
static struct run *run_create(size_t len)
{
    struct run *run = calloc(1, sizeof(*run));
    if (run == NULL) {
        return NULL;
    }
    run->first = run->last = piece_create(len);
    if (run->first == NULL) {
        run_destroy(run);
        return NULL;
    }
    run->bytes = len;
    run->cost = len + SCTP_CHUNK_COST_BYTES;
    return run;
}

static void list_destroy(struct list *list)
{
    while (list->first != NULL) {
        struct run *next = list->first->next;
        run_destroy(list->first);
        list->first = next;
    }
}

struct sctp_reassembly *sctp_reassembly_create(size_t message_bytes_max)
{
    struct sctp_reassembly *r = calloc(1, sizeof(*r));
    if (r != NULL) {
        r->message_bytes_max = message_bytes_max;
    }
    return r;
}

void sctp_reassembly_destroy(struct sctp_reassembly *r)
{
    if (r == NULL) {
        return;
    }
    list_destroy(&r->waiting);
    list_destroy(&r->ready);
    run_destroy(r->borrowed);
    sctp_ssn_table_destroy(&r->next_ssn);
    free(r);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* NULL: at the front. */
static void insert_after(struct list *list, struct run *before, struct run *run)
{
    run->previous = before;
    run->next = before != NULL ? before->next : list->first;
    *(before != NULL ? &before->next : &list->first) = run;
    *(run->next != NULL ? &run->next->previous : &list->last) = run;
}

static void unlink_run(struct list *list, struct run *run)
{
    *(run->previous != NULL ? &run->previous->next : &list->first) = run->next;
    *(run->next != NULL ? &run->next->previous : &list->last) = run->previous;
    run->next = run->previous = NULL;
}

static void drop(struct sctp_reassembly *r, struct run *run)
{
    unlink_run(&r->waiting, run);
    r->held_bytes -= run->cost;
    run_destroy(run);
}

/* --- runs ------------------------------------------------------------------------------------- */

static bool is_complete(const struct run *run)
{
    return run->has_begin && run->has_end;
}

static bool are_one_message(const struct run *a, const struct run *b)
{
    return a->last_tsn + 1 == b->first_tsn && !a->has_end && !b->has_begin &&
           a->stream == b->stream && a->ssn == b->ssn && a->is_unordered == b->is_unordered;
}

/* Nothing but its TSNs and its place in the stream is kept of a message that is too long. */
static void forget_pieces(struct sctp_reassembly *r, struct run *run)
{
    pieces_destroy(run);
    run->is_too_long = true;
    r->held_bytes -= run->cost - SCTP_CHUNK_COST_BYTES;
    run->cost = SCTP_CHUNK_COST_BYTES;
}

/* b, the neighbour of a, becomes part of it, if it is of the same message. */
static void join(struct sctp_reassembly *r, struct run *a, struct run *b)
{
    if (a == NULL || b == NULL || !are_one_message(a, b)) {
        return;
    }
    a->last_tsn = b->last_tsn;
    a->has_end = b->has_end;
    a->bytes += b->bytes;
    a->cost += b->cost;
    a->is_too_long |= b->is_too_long;
    *(a->last != NULL ? &a->last->next : &a->first) = b->first;
    if (b->last != NULL) {
        a->last = b->last;
    }
    b->first = NULL;
    unlink_run(&r->waiting, b);
    run_destroy(b);
    if (a->is_too_long || a->bytes > r->message_bytes_max || a->cost > SCTP_RECEIVE_BYTES_MAX) {
        forget_pieces(r, a);
    }
}

/* Of the runs that begin before tsn, the last. It is near the end, unless chunks overtake. */
static struct run *last_before(const struct sctp_reassembly *r, uint32_t tsn)
{
    struct run *run = r->waiting.last;
    while (run != NULL && sctp_tsn_before(tsn, run->first_tsn)) {
        run = run->previous;
    }
    return run;
}

/* --- delivery --------------------------------------------------------------------------------- */

static void make_ready(struct sctp_reassembly *r, struct run *run)
{
    r->ready_bytes += run->cost;
    insert_after(&r->ready, r->ready.last, run);
}

/* Several pieces become one. */
static bool gather(struct sctp_reassembly *r, struct run *run)
{
    struct piece *whole = piece_create(run->bytes);
    size_t at = 0;
    if (whole == NULL) {
        return false;
    }
    for (const struct piece *p = run->first; p != NULL; p = p->next) {
        memcpy(whole->data + at, p->data, p->len);
        at += p->len;
    }
    assert(at == run->bytes);
    pieces_destroy(run);
    run->first = run->last = whole;
    r->held_bytes -= run->cost - (run->bytes + SCTP_CHUNK_COST_BYTES);
    run->cost = run->bytes + SCTP_CHUNK_COST_BYTES;
    return true;
}

static bool deliver(struct sctp_reassembly *r, struct run *run)
{
    if (!run->is_unordered &&
        !sctp_ssn_table_set(&r->next_ssn, run->stream, (uint16_t)(run->ssn + 1))) {
        return false;
    }
    if (run->bytes > r->message_bytes_max && !run->is_too_long) {
        forget_pieces(r, run);
    }
    if (run->first != NULL && run->first->next != NULL && !gather(r, run)) {
        return false;
    }
    run->kind = run->is_too_long ? SCTP_ARRIVAL_TOO_LONG : SCTP_ARRIVAL_MESSAGE;
    unlink_run(&r->waiting, run);
    make_ready(r, run);
    return true;
}

static bool is_next(const struct sctp_reassembly *r, const struct run *run)
{
    return run->is_unordered || run->ssn == sctp_ssn_table_next(&r->next_ssn, run->stream);
}

/* From `run` on: what waited for it in its stream lies behind it. */
static bool deliver_from(struct sctp_reassembly *r, struct run *run)
{
    while (run != NULL) {
        struct run *next = run->next;
        if (is_complete(run) && is_next(r, run) && !deliver(r, run)) {
            return false;
        }
        run = next;
    }
    return true;
}

/* --- input ------------------------------------------------------------------------------------ */

bool sctp_reassembly_add(struct sctp_reassembly *r, const struct sctp_data *data)
{
    assert(data->payload.len > 0);
    assert(data->stream < SCTP_STREAMS);
    struct run *run = run_create(data->payload.len);
    if (run == NULL) {
        return false;
    }
    memcpy(run->first->data, data->payload.data, data->payload.len);
    run->first_tsn = run->last_tsn = data->tsn;
    run->ppid = data->ppid;
    run->stream = data->stream;
    run->ssn = data->is_unordered ? 0 : data->ssn; /* RFC 9260 s.3.3.1: to be ignored */
    run->is_unordered = data->is_unordered;
    run->has_begin = data->is_begin;
    run->has_end = data->is_end;
    r->held_bytes += run->cost;
    struct run *before = last_before(r, data->tsn);
    insert_after(&r->waiting, before, run);
    join(r, run, run->next);
    const bool is_joined = before != NULL && are_one_message(before, run);
    join(r, before, run);
    struct run *grown = is_joined ? before : run;
    return !is_complete(grown) || !is_next(r, grown) || deliver_from(r, grown);
}

bool sctp_reassembly_settle(struct sctp_reassembly *r, uint32_t cumulative_tsn)
{
    struct run *run = r->waiting.first;
    while (run != NULL && !sctp_tsn_before(cumulative_tsn, run->first_tsn)) {
        struct run *next = run->next;
        if (is_complete(run)) {
            if (!deliver(r, run)) {
                return false;
            }
        } else if (!run->has_begin || run->last_tsn != cumulative_tsn) {
            drop(r, run);
        }
        run = next;
    }
    return true;
}

void sctp_reassembly_give_up(struct sctp_reassembly *r, uint32_t tsn)
{
    struct run *run = r->waiting.first;
    while (run != NULL && !sctp_tsn_before(tsn, run->first_tsn)) {
        struct run *next = run->next;
        if (!is_complete(run)) {
            drop(r, run);
        }
        run = next;
    }
}

bool sctp_reassembly_skip(struct sctp_reassembly *r, uint16_t stream, uint16_t ssn)
{
    assert(stream < SCTP_STREAMS);
    if (sctp_ssn_before(ssn, sctp_ssn_table_next(&r->next_ssn, stream))) {
        return true;
    }
    return sctp_ssn_table_set(&r->next_ssn, stream, (uint16_t)(ssn + 1));
}

bool sctp_reassembly_flush(struct sctp_reassembly *r)
{
    return deliver_from(r, r->waiting.first);
}

bool sctp_reassembly_reset(struct sctp_reassembly *r, uint16_t stream)
{
    struct run *run = run_create(0);
    if (run == NULL) {
        return false;
    }
    if (stream < SCTP_STREAMS) {
        sctp_ssn_table_clear(&r->next_ssn, stream);
    } else {
        sctp_ssn_table_destroy(&r->next_ssn);
    }
    run->kind = SCTP_ARRIVAL_RESET;
    r->ready_resets++;
    run->stream = stream;
    r->held_bytes += run->cost;
    make_ready(r, run);
    return true;
}

/* --- output ----------------------------------------------------------------------------------- */

size_t sctp_reassembly_held_bytes(const struct sctp_reassembly *r)
{
    return r->held_bytes;
}

size_t sctp_reassembly_ready_bytes(const struct sctp_reassembly *r)
{
    return r->ready_bytes;
}

bool sctp_reassembly_peek(const struct sctp_reassembly *r, enum sctp_arrival_kind *out)
{
    if (r->ready.first == NULL) {
        return false;
    }
    *out = r->ready.first->kind;
    return true;
}

bool sctp_reassembly_has_reset(const struct sctp_reassembly *r, uint16_t stream)
{
    const struct run *run = r->ready_resets > 0 ? r->ready.first : NULL;
    while (run != NULL && (run->kind != SCTP_ARRIVAL_RESET ||
                           (run->stream != stream && run->stream != SCTP_STREAMS))) {
        run = run->next;
    }
    return run != NULL;
}

bool sctp_reassembly_poll(struct sctp_reassembly *r, struct sctp_arrival *out)
{
    struct run *run = r->ready.first;
    if (run == NULL) {
        return false;
    }
    unlink_run(&r->ready, run);
    r->held_bytes -= run->cost;
    r->ready_bytes -= run->cost;
    r->ready_resets -= run->kind == SCTP_ARRIVAL_RESET;
    run_destroy(r->borrowed);
    r->borrowed = run;
    out->kind = run->kind;
    out->message = (struct sctp_message){
        .stream = run->stream, .ppid = run->ppid, .is_unordered = run->is_unordered};
    if (run->kind == SCTP_ARRIVAL_MESSAGE) {
        out->message.data = bytes_view_of(run->first->data, run->first->len);
    }
    return true;
}
