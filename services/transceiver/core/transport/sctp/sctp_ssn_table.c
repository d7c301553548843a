/* sctp_ssn_table.c - see sctp_ssn_table.h */
#include "services/transceiver/core/transport/sctp/sctp_ssn_table.h"

#include <assert.h>
#include <stdlib.h>

static uint16_t *page_create(void)
{
    return calloc(SCTP_SSN_PAGE, sizeof(uint16_t));
}

void sctp_ssn_table_destroy(struct sctp_ssn_table *t)
{
    for (size_t i = 0; i < COUNT_OF(t->page); i++) {
        free(t->page[i]);
        t->page[i] = NULL;
    }
}

uint16_t sctp_ssn_table_next(const struct sctp_ssn_table *t, uint16_t stream)
{
    assert(stream < SCTP_STREAMS);
    const uint16_t *page = t->page[stream / SCTP_SSN_PAGE];
    return page != NULL ? page[stream % SCTP_SSN_PAGE] : 0;
}

bool sctp_ssn_table_set(struct sctp_ssn_table *t, uint16_t stream, uint16_t next)
{
    assert(stream < SCTP_STREAMS);
    uint16_t **page = &t->page[stream / SCTP_SSN_PAGE];
    if (*page == NULL) {
        *page = page_create();
    }
    if (*page == NULL) {
        return false;
    }
    (*page)[stream % SCTP_SSN_PAGE] = next;
    return true;
}

void sctp_ssn_table_clear(struct sctp_ssn_table *t, uint16_t stream)
{
    assert(stream < SCTP_STREAMS);
    uint16_t *page = t->page[stream / SCTP_SSN_PAGE];
    if (page != NULL) {
        page[stream % SCTP_SSN_PAGE] = 0;
    }
}
