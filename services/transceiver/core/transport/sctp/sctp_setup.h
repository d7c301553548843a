/*
 * sctp_setup.h - from nothing to an association: INIT, INIT ACK, COOKIE ECHO, COOKIE ACK
 *
 * Takes:   the chunks of these types, whoever began: either side, or both at once
 *          (RFC 9260 s.5.2.1), which is what browsers and we do.
 * Gives:   both ends' INIT when it is done, INIT or COOKIE ECHO to send until then.
 * How:     `ours` is made at init and never changes, so an INIT is answered without keeping
 *          anything: what the answer hands out in its cookie comes back.
 * Fails:   tick is false when nobody answered SCTP_SETUP_RETRANSMISSIONS_MAX times.
 */
#ifndef EARSHOT_SCTP_SETUP_H
#define EARSHOT_SCTP_SETUP_H

#include "services/transceiver/core/transport/sctp/sctp_cookie.h"
#include "services/transceiver/core/transport/sctp/sctp_rto.h"

#define SCTP_SETUP_RETRANSMISSIONS_MAX 10
#define SCTP_COOKIE_BYTES_MAX          1024 /* of the peer's; a longer one is not taken */

enum sctp_setup_state {
    SCTP_SETUP_IDLE, /* others may begin */
    SCTP_SETUP_COOKIE_WAIT,
    SCTP_SETUP_COOKIE_ECHOED,
    SCTP_SETUP_DONE
};

enum sctp_cookie_echo_result {
    SCTP_COOKIE_ECHO_DONE,  /* answer COOKIE ACK: the association is there */
    SCTP_COOKIE_ECHO_AGAIN, /* answer COOKIE ACK: the first one was lost */
    SCTP_COOKIE_ECHO_STALE, /* answer ERROR */
    SCTP_COOKIE_ECHO_IGNORED
};

struct sctp_setup {
    enum sctp_setup_state state;
    struct sctp_init ours;
    struct sctp_init theirs; /* from COOKIE_ECHOED on */
    struct sctp_cookie_key key;
    struct sctp_rto rto;
    uint64_t t1_us;
    unsigned errors;
    bool is_due;
    uint8_t *cookie; /* the peer's, to echo */
    size_t cookie_bytes;
};

void sctp_setup_init(struct sctp_setup *s, const struct sctp_init *ours,
                     struct random_source random);
void sctp_setup_destroy(struct sctp_setup *s);

void sctp_setup_connect(struct sctp_setup *s, uint64_t now_us);

/* An INIT that came alone, with tag 0. Writes the packet that answers it; false: none does. */
MUST_USE bool sctp_setup_answer(const struct sctp_setup *s, const struct sctp_chunk *chunk,
                                const struct sctp_header *from, struct byte_writer *w,
                                uint64_t now_us);
/* The other chunks, with our tag. *peer_tag: for the answer, unless IGNORED. */
void sctp_setup_init_ack(struct sctp_setup *s, const struct sctp_chunk *chunk, uint64_t now_us);
enum sctp_cookie_echo_result sctp_setup_cookie_echo(struct sctp_setup *s,
                                                    const struct sctp_chunk *chunk,
                                                    uint32_t *peer_tag, uint64_t now_us);
/* True: the association is there. */
MUST_USE bool sctp_setup_cookie_ack(struct sctp_setup *s);

bool sctp_setup_is_due(const struct sctp_setup *s);
/* INIT, for a packet of its own with tag 0, or COOKIE ECHO. */
void sctp_setup_write(struct sctp_setup *s, struct byte_writer *w);
MUST_USE bool sctp_setup_tick(struct sctp_setup *s, uint64_t now_us);
uint64_t sctp_setup_next_timeout(const struct sctp_setup *s);

#endif
