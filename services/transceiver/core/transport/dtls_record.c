/* dtls_record.c - see dtls_record.h */
#include "services/transceiver/core/transport/dtls_record.h"

bool dtls_record_read(struct byte_reader *r, struct dtls_record *out)
{
    if (byte_reader_left(r) == 0) {
        return false;
    }
    const uint8_t *start = r->data + r->offset;
    out->content_type = byte_reader_u8(r);
    out->version = byte_reader_u16(r);
    out->epoch = byte_reader_u16(r);
    out->sequence_number = (uint64_t)byte_reader_u16(r) << 32;
    out->sequence_number |= byte_reader_u32(r);
    out->fragment = byte_reader_bytes(r, byte_reader_u16(r));
    out->whole = bytes_view_of(start, DTLS_RECORD_HEADER_BYTES + out->fragment.len);
    return !r->failed;
}
