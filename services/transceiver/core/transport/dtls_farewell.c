/* dtls_farewell.c - see dtls_farewell.h */
#include "services/transceiver/core/transport/dtls_farewell.h"

#include "services/transceiver/core/transport/dtls_record.h"

#include <openssl/crypto.h>

/* When the copies of our alert leave, after close. */
static const uint64_t closing_at_us[DTLS_FAREWELL_ALERTS] = {0, 50 * US_PER_MS, 150 * US_PER_MS};

#define LEVEL_FATAL              2
#define DESCRIPTION_CLOSE_NOTIFY 0

/* RFC 6347 s.4.1: the epoch after the one handshake that there is. */
#define EPOCH_OF_KEYS 1

static bool is_end(const struct dtls_alert *alert)
{
    return alert->is_alert &&
           (alert->level == LEVEL_FATAL || alert->description == DESCRIPTION_CLOSE_NOTIFY);
}

enum dtls_farewell_input dtls_farewell_input(struct dtls_farewell *f, struct bytes_view datagram,
                                             uint8_t *out_alert)
{
    enum dtls_farewell_input result = DTLS_FAREWELL_REFUSED;
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, datagram);
    while (dtls_record_read(&r, &record)) {
        struct dtls_alert alert;
        if (record.epoch != EPOCH_OF_KEYS || record.sequence_number < f->next_sequence_number ||
            !dtls_alert_open(&f->theirs, &record, &alert)) {
            continue;
        }
        f->next_sequence_number = record.sequence_number + 1;
        result = DTLS_FAREWELL_AUTHENTIC;
        if (is_end(&alert)) {
            *out_alert = alert.description;
            return DTLS_FAREWELL_CLOSED;
        }
    }
    return result;
}

void dtls_farewell_close(struct dtls_farewell *f, uint64_t now_us)
{
    f->closing_since_us = now_us;
    f->next_alert_us = now_us;
}

bool dtls_farewell_poll_alert(struct dtls_farewell *f, uint8_t out[DTLS_ALERT_RECORD_BYTES],
                              uint64_t now_us)
{
    if (now_us < f->next_alert_us) {
        return false;
    }
    f->sent_sequence_number++;
    f->alerts_sent++;
    f->next_alert_us = f->alerts_sent < DTLS_FAREWELL_ALERTS
                           ? f->closing_since_us + closing_at_us[f->alerts_sent]
                           : TIME_NEVER;
    return dtls_alert_seal(&f->ours, f->sent_epoch, f->sent_sequence_number, out);
}

uint64_t dtls_farewell_next_timeout(const struct dtls_farewell *f)
{
    return f->next_alert_us;
}

void dtls_farewell_wipe(struct dtls_farewell *f)
{
    OPENSSL_cleanse(f, sizeof(*f));
    f->next_alert_us = TIME_NEVER;
}
