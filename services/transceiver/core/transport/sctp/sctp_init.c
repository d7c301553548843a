/* sctp_init.c - see sctp_init.h */
#include "services/transceiver/core/transport/sctp/sctp_init.h"

enum {
    PARAMETER_IPV4 = 5,
    PARAMETER_IPV6 = 6,
    PARAMETER_COOKIE = 7,
    PARAMETER_UNKNOWN = 8,
    PARAMETER_PRESERVATIVE = 9,
    PARAMETER_HOST_NAME = 11,
    PARAMETER_ADDRESS_TYPES = 12,
    PARAMETER_ECN = 0x8000,
    PARAMETER_ZERO_CHECKSUM = 0x8001,
    PARAMETER_EXTENSIONS = 0x8008,
    PARAMETER_FORWARD_TSN = 0xc000
};

/* RFC 9653 s.8.2: what stands in for the checksum is DTLS. */
#define ERROR_DETECTION_DTLS 1

static void read_extensions(struct bytes_view types, struct sctp_init *out)
{
    for (size_t i = 0; i < types.len; i++) {
        out->has_re_config |= types.data[i] == SCTP_CHUNK_RE_CONFIG;
        out->has_forward_tsn |= types.data[i] == SCTP_CHUNK_FORWARD_TSN;
    }
}

static void read_zero_checksum(struct bytes_view value, struct sctp_init *out)
{
    struct byte_reader r;
    byte_reader_init(&r, value);
    out->has_zero_checksum |= byte_reader_u32(&r) == ERROR_DETECTION_DTLS;
}

static void report_unknown(struct byte_writer *report, struct bytes_view parameter)
{
    const size_t need = SCTP_CHUNK_HEADER_BYTES + parameter.len + 3;
    if (report == NULL || need > sctp_wire_room(report)) {
        return;
    }
    const size_t begin = sctp_wire_begin_parameter(report, PARAMETER_UNKNOWN);
    byte_writer_bytes(report, parameter);
    sctp_wire_end(report, begin);
}

/* False: nothing behind it is looked at. */
static bool read_parameter(const struct sctp_parameter *p, struct sctp_init *out,
                           struct bytes_view *cookie, struct byte_writer *report)
{
    switch (p->type) {
    case PARAMETER_COOKIE:
        *cookie = p->value;
        return true;
    case PARAMETER_FORWARD_TSN:
        out->has_forward_tsn = true;
        return true;
    case PARAMETER_EXTENSIONS:
        read_extensions(p->value, out);
        return true;
    case PARAMETER_ZERO_CHECKSUM:
        read_zero_checksum(p->value, out);
        return true;
    case PARAMETER_IPV4: /* addresses, and how to live with them: DTLS has one path */
    case PARAMETER_IPV6:
    case PARAMETER_HOST_NAME:
    case PARAMETER_ADDRESS_TYPES:
    case PARAMETER_PRESERVATIVE:
    case PARAMETER_UNKNOWN:
    case PARAMETER_ECN:
        return true;
    default:
        if ((p->type & SCTP_PARAMETER_REPORT) != 0) {
            report_unknown(report, p->whole);
        }
        return (p->type & SCTP_PARAMETER_SKIP) != 0;
    }
}

bool sctp_init_read(const struct sctp_chunk *chunk, struct sctp_init *out,
                    struct bytes_view *cookie, struct byte_writer *report)
{
    struct byte_reader r;
    struct sctp_parameter parameter;
    byte_reader_init(&r, chunk->body);
    *cookie = (struct bytes_view){0};
    *out = (struct sctp_init){.tag = byte_reader_u32(&r)};
    out->a_rwnd = byte_reader_u32(&r);
    out->out_streams = byte_reader_u16(&r);
    out->in_streams = byte_reader_u16(&r);
    out->tsn = byte_reader_u32(&r);
    while (sctp_wire_next_parameter(&r, &parameter)) {
        if (!read_parameter(&parameter, out, cookie, report)) {
            break;
        }
    }
    return !r.failed && out->tag != 0 && out->out_streams != 0 && out->in_streams != 0;
}

static void write_zero_checksum(struct byte_writer *w)
{
    const size_t begin = sctp_wire_begin_parameter(w, PARAMETER_ZERO_CHECKSUM);
    byte_writer_u32(w, ERROR_DETECTION_DTLS);
    sctp_wire_end(w, begin);
}

static void write_extensions(struct byte_writer *w, const struct sctp_init *init)
{
    const size_t begin = sctp_wire_begin_parameter(w, PARAMETER_EXTENSIONS);
    if (init->has_re_config) {
        byte_writer_u8(w, SCTP_CHUNK_RE_CONFIG);
    }
    if (init->has_forward_tsn) {
        byte_writer_u8(w, SCTP_CHUNK_FORWARD_TSN);
    }
    sctp_wire_end(w, begin);
}

void sctp_init_write(struct byte_writer *w, enum sctp_chunk_type type, const struct sctp_init *init,
                     struct bytes_view cookie, struct bytes_view report)
{
    const size_t begin = sctp_wire_begin_chunk(w, type, 0);
    byte_writer_u32(w, init->tag);
    byte_writer_u32(w, init->a_rwnd);
    byte_writer_u16(w, init->out_streams);
    byte_writer_u16(w, init->in_streams);
    byte_writer_u32(w, init->tsn);
    if (init->has_forward_tsn) {
        sctp_wire_end(w, sctp_wire_begin_parameter(w, PARAMETER_FORWARD_TSN));
    }
    if (init->has_zero_checksum) {
        write_zero_checksum(w);
    }
    if (cookie.len > 0) {
        const size_t inner = sctp_wire_begin_parameter(w, PARAMETER_COOKIE);
        byte_writer_bytes(w, cookie);
        sctp_wire_end(w, inner);
    }
    byte_writer_zeros(w, (4 - w->len % 4) % 4);
    byte_writer_bytes(w, report);
    write_extensions(w, init);
    sctp_wire_end(w, begin);
}
