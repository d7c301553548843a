/* dtls_filter_fuzz.c - whatever the bytes, what passes is bounded and well-formed
 *
 * Input: a byte of flags (bit 0: the peer is a server, bit 1: a ChangeCipherSpec is awaited), then
 * one datagram.
 */
#include "services/transceiver/core/transport/dtls_filter.h"

#include <assert.h>
#include <stdlib.h>

static void check(const struct dtls_filter *f, const struct dtls_record *record, uint64_t highest,
                  enum dtls_filter_verdict verdict)
{
    assert(record->whole.len == DTLS_RECORD_HEADER_BYTES + record->fragment.len);
    if (verdict == DTLS_FILTER_HOLD_HELLO_VERIFY) {
        assert(f->peer_is_server && record->whole.len <= DTLS_FILTER_HELLO_VERIFY_BYTES);
    }
    if (verdict == DTLS_FILTER_HOLD_ALERT) {
        assert(record->fragment.len == 2);
    }
    if (verdict != DTLS_FILTER_PASS || record->epoch != 0) {
        assert(f->highest_sequence_number == highest);
        assert(verdict != DTLS_FILTER_PASS || record->epoch == 1);
        return;
    }
    assert(record->sequence_number <= highest + DTLS_FILTER_AHEAD_MAX);
    assert(record->fragment.len > 0);
    assert(
        record->content_type == DTLS_CONTENT_HANDSHAKE ||
        (record->content_type == DTLS_CONTENT_CHANGE_CIPHER_SPEC && f->awaits_change_cipher_spec));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dtls_filter f;
    struct dtls_record record;
    struct byte_reader r;
    if (size < 2) {
        return 0;
    }
    uint8_t *exact = malloc(size - 1);
    assert(exact != NULL);
    memcpy(exact, data + 1, size - 1);
    dtls_filter_init(&f, (data[0] & 1) != 0);
    f.awaits_change_cipher_spec = (data[0] & 2) != 0;
    byte_reader_init(&r, bytes_view_of(exact, size - 1));
    while (dtls_record_read(&r, &record)) {
        const uint64_t highest = f.highest_sequence_number;
        check(&f, &record, highest, dtls_filter_judge(&f, &record));
    }
    free(exact);
    return 0;
}
