/*
 * sctp_ssn_table.h - the next stream sequence number of each stream
 *
 * A stream that was never used, or was reset, has number 0 and costs nothing: memory is taken for
 * 64 neighbours at a time, when one of them leaves 0.
 */
#ifndef EARSHOT_SCTP_SSN_TABLE_H
#define EARSHOT_SCTP_SSN_TABLE_H

#include "services/transceiver/core/transport/sctp/sctp_message.h"

#define SCTP_SSN_PAGE 64

struct sctp_ssn_table {
    uint16_t *page[SCTP_STREAMS / SCTP_SSN_PAGE]; /* NULL: all 0 */
};

/* A table of zeros needs no init. */
void sctp_ssn_table_destroy(struct sctp_ssn_table *t);

uint16_t sctp_ssn_table_next(const struct sctp_ssn_table *t, uint16_t stream);
/* False without memory. */
MUST_USE bool sctp_ssn_table_set(struct sctp_ssn_table *t, uint16_t stream, uint16_t next);
void sctp_ssn_table_clear(struct sctp_ssn_table *t, uint16_t stream);

#endif
