/* sctp_setup.c - see sctp_setup.h */
#include "services/transceiver/core/transport/sctp/sctp_setup.h"

#include <assert.h>
#include <stdlib.h>

static uint8_t *cookie_copy(struct bytes_view cookie)
{
    uint8_t *copy = malloc(cookie.len);
    if (copy != NULL) {
        memcpy(copy, cookie.data, cookie.len);
    }
    return copy;
}

static void cookie_destroy(struct sctp_setup *s)
{
    free(s->cookie);
    s->cookie = NULL;
}

void sctp_setup_init(struct sctp_setup *s, const struct sctp_init *ours,
                     struct random_source random)
{
    *s = (struct sctp_setup){.state = SCTP_SETUP_IDLE, .ours = *ours, .t1_us = TIME_NEVER};
    sctp_cookie_init(&s->key, random);
    sctp_rto_init(&s->rto);
}

void sctp_setup_destroy(struct sctp_setup *s)
{
    sctp_cookie_wipe(&s->key);
    cookie_destroy(s);
}

static void enter(struct sctp_setup *s, enum sctp_setup_state state, uint64_t now_us)
{
    s->state = state;
    s->errors = 0;
    s->is_due = true;
    s->t1_us = now_us + s->rto.rto_us;
}

static void finish(struct sctp_setup *s, const struct sctp_init *theirs)
{
    s->state = SCTP_SETUP_DONE;
    s->theirs = *theirs;
    s->is_due = false;
    s->t1_us = TIME_NEVER;
    cookie_destroy(s);
}

void sctp_setup_connect(struct sctp_setup *s, uint64_t now_us)
{
    if (s->state == SCTP_SETUP_IDLE) {
        enter(s, SCTP_SETUP_COOKIE_WAIT, now_us);
    }
}

/* RFC 9260 s.5.1, s.5.2.1: the same tag and TSN as in our own INIT. Once the association is there,
 * an INIT is a late copy: its sender has got its answer. */
bool sctp_setup_answer(const struct sctp_setup *s, const struct sctp_chunk *chunk,
                       const struct sctp_header *from, struct byte_writer *w, uint64_t now_us)
{
    uint8_t report_bytes[SCTP_INIT_REPORT_BYTES_MAX];
    uint8_t sealed[SCTP_COOKIE_BYTES];
    struct byte_writer report;
    struct bytes_view none;
    struct sctp_cookie cookie = {.ours = s->ours, .sealed_us = now_us};
    byte_writer_init(&report, report_bytes, sizeof(report_bytes));
    if (s->state == SCTP_SETUP_DONE || !sctp_init_read(chunk, &cookie.theirs, &none, &report)) {
        return false;
    }
    sctp_cookie_seal(&s->key, &cookie, sealed);
    const struct sctp_header header = {.source_port = from->destination_port,
                                       .destination_port = from->source_port,
                                       .verification_tag = cookie.theirs.tag};
    sctp_wire_begin_packet(w, &header);
    sctp_init_write(w, SCTP_CHUNK_INIT_ACK, &s->ours, bytes_view_of(sealed, sizeof(sealed)),
                    bytes_view_of(report.data, report.len));
    return true;
}

void sctp_setup_init_ack(struct sctp_setup *s, const struct sctp_chunk *chunk, uint64_t now_us)
{
    struct sctp_init theirs;
    struct bytes_view cookie;
    if (s->state != SCTP_SETUP_COOKIE_WAIT || !sctp_init_read(chunk, &theirs, &cookie, NULL) ||
        cookie.len == 0 || cookie.len > SCTP_COOKIE_BYTES_MAX) {
        return;
    }
    s->cookie = cookie_copy(cookie);
    if (s->cookie == NULL) {
        return; /* the next INIT has another try */
    }
    s->cookie_bytes = cookie.len;
    s->theirs = theirs;
    enter(s, SCTP_SETUP_COOKIE_ECHOED, now_us);
}

enum sctp_cookie_echo_result sctp_setup_cookie_echo(struct sctp_setup *s,
                                                    const struct sctp_chunk *chunk,
                                                    uint32_t *peer_tag, uint64_t now_us)
{
    struct sctp_cookie cookie;
    const enum sctp_cookie_result result = sctp_cookie_open(&s->key, chunk->body, &cookie, now_us);
    if (result == SCTP_COOKIE_FORGED) {
        return SCTP_COOKIE_ECHO_IGNORED;
    }
    *peer_tag = cookie.theirs.tag;
    if (s->state == SCTP_SETUP_DONE) { /* RFC 9260 s.5.2.4 D; a restart (A) is not taken */
        return cookie.theirs.tag == s->theirs.tag ? SCTP_COOKIE_ECHO_AGAIN
                                                  : SCTP_COOKIE_ECHO_IGNORED;
    }
    if (result == SCTP_COOKIE_STALE) {
        return SCTP_COOKIE_ECHO_STALE;
    }
    finish(s, &cookie.theirs);
    return SCTP_COOKIE_ECHO_DONE;
}

bool sctp_setup_cookie_ack(struct sctp_setup *s)
{
    if (s->state != SCTP_SETUP_COOKIE_ECHOED) {
        return false;
    }
    const struct sctp_init theirs = s->theirs;
    finish(s, &theirs);
    return true;
}

bool sctp_setup_is_due(const struct sctp_setup *s)
{
    return s->is_due;
}

void sctp_setup_write(struct sctp_setup *s, struct byte_writer *w)
{
    s->is_due = false;
    if (s->state == SCTP_SETUP_COOKIE_WAIT) {
        sctp_init_write(w, SCTP_CHUNK_INIT, &s->ours, (struct bytes_view){0},
                        (struct bytes_view){0});
        return;
    }
    assert(s->state == SCTP_SETUP_COOKIE_ECHOED);
    const size_t begin = sctp_wire_begin_chunk(w, SCTP_CHUNK_COOKIE_ECHO, 0);
    byte_writer_bytes(w, bytes_view_of(s->cookie, s->cookie_bytes));
    sctp_wire_end(w, begin);
}

bool sctp_setup_tick(struct sctp_setup *s, uint64_t now_us)
{
    if (now_us < s->t1_us) {
        return true;
    }
    s->errors++;
    if (s->errors > SCTP_SETUP_RETRANSMISSIONS_MAX) {
        return false;
    }
    sctp_rto_back_off(&s->rto);
    s->is_due = true;
    s->t1_us = now_us + s->rto.rto_us;
    return true;
}

uint64_t sctp_setup_next_timeout(const struct sctp_setup *s)
{
    return s->t1_us;
}
