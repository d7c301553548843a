/* stun_message.c - see stun_message.h */
#include "common/stun/stun_message.h"

#define COMPREHENSION_OPTIONAL 0x8000 /* RFC 8489 s.14: types from here on may be ignored */
#define ADDRESS_FAMILY_IPV4    1
#define ADDRESS_FAMILY_IPV6    2

struct attribute {
    uint16_t type;
    size_t offset; /* of its header in the datagram */
    struct bytes_view value;
};

static size_t padded(size_t len)
{
    return (len + 3) & ~(size_t)3;
}

/* The header, and the checks that need no attribute; r stands at the first attribute after it. */
static enum stun_parse_result read_header(struct byte_reader *r, struct bytes_view datagram,
                                          struct stun_message *out)
{
    *out = (struct stun_message){.datagram = datagram};
    if (datagram.len < STUN_HEADER_BYTES || datagram.len > STUN_MESSAGE_BYTES_MAX) {
        return STUN_SHORT;
    }
    byte_reader_init(r, datagram);
    out->type = byte_reader_u16(r);
    const size_t body_bytes = byte_reader_u16(r);
    const uint32_t cookie = byte_reader_u32(r);
    const struct bytes_view id = byte_reader_bytes(r, STUN_TRANSACTION_ID_BYTES);
    memcpy(out->transaction_id, id.data, id.len);
    if (out->type >> 14 != 0 || cookie != STUN_MAGIC_COOKIE) {
        return STUN_NOT_STUN;
    }
    if (body_bytes != byte_reader_left(r) || body_bytes % 4 != 0) {
        return STUN_LENGTH;
    }
    return STUN_OK;
}

/* False when it runs past the end. */
static bool read_attribute(struct byte_reader *r, struct attribute *out)
{
    out->offset = r->offset;
    out->type = byte_reader_u16(r);
    const size_t len = byte_reader_u16(r);
    out->value = byte_reader_bytes(r, len);
    byte_reader_skip(r, padded(len) - len);
    return !r->failed;
}

static bool take_username(struct stun_message *m, struct bytes_view value)
{
    if (m->username.data != NULL || value.len > STUN_USERNAME_BYTES_MAX) {
        return false;
    }
    m->username = value;
    return true;
}

static bool take_integrity(struct stun_message *m, const struct attribute *a)
{
    m->integrity_offset = a->offset;
    return a->value.len == 20;
}

static bool take_fingerprint(struct stun_message *m, const struct attribute *a)
{
    m->fingerprint_offset = a->offset;
    return a->value.len == 4;
}

static bool take_priority(struct stun_message *m, struct bytes_view value)
{
    if (m->has_priority || value.len != 4) {
        return false;
    }
    struct byte_reader r;
    byte_reader_init(&r, value);
    m->has_priority = true;
    m->priority = byte_reader_u32(&r);
    return true;
}

static bool take_use_candidate(struct stun_message *m, struct bytes_view value)
{
    if (m->use_candidate || value.len != 0) {
        return false;
    }
    m->use_candidate = true;
    return true;
}

static bool take_role(struct stun_message *m, bool controlling, struct bytes_view value)
{
    if (m->ice_controlling || m->ice_controlled || value.len != 8) {
        return false;
    }
    struct byte_reader r;
    byte_reader_init(&r, value);
    m->ice_controlling = controlling;
    m->ice_controlled = !controlling;
    m->tie_breaker = byte_reader_u64(&r);
    return true;
}

static bool take_error_code(struct stun_message *m, struct bytes_view value)
{
    struct byte_reader r;
    byte_reader_init(&r, value);
    byte_reader_skip(&r, 2);
    const unsigned hundreds = byte_reader_u8(&r) & 7u;
    const unsigned rest = byte_reader_u8(&r);
    if (r.failed || m->error_code != 0 || hundreds < 3 || hundreds > 6 || rest > 99) {
        return false;
    }
    m->error_code = (uint16_t)(hundreds * 100 + rest);
    return true;
}

/* RFC 8489 s.14.2: what the address and port are XORed with; IPv4 uses the first four bytes. */
static void address_mask(const uint8_t *transaction_id, uint8_t mask[16])
{
    struct byte_writer w;
    byte_writer_init(&w, mask, 16);
    byte_writer_u32(&w, STUN_MAGIC_COOKIE);
    byte_writer_bytes(&w, bytes_view_of(transaction_id, STUN_TRANSACTION_ID_BYTES));
}

static bool take_xor_mapped_address(struct stun_message *m, struct bytes_view value)
{
    struct byte_reader r;
    byte_reader_init(&r, value);
    byte_reader_skip(&r, 1);
    const uint8_t family = byte_reader_u8(&r);
    const uint16_t port = byte_reader_u16(&r);
    const size_t ip_bytes = family == ADDRESS_FAMILY_IPV4 ? 4 : 16;
    const struct bytes_view ip = byte_reader_bytes(&r, ip_bytes);
    if (r.failed || byte_reader_left(&r) != 0 || m->has_xor_mapped_address ||
        (family != ADDRESS_FAMILY_IPV4 && family != ADDRESS_FAMILY_IPV6)) {
        return false;
    }
    struct net_addr *address = &m->xor_mapped_address;
    uint8_t mask[16];
    address_mask(m->transaction_id, mask);
    if (family == ADDRESS_FAMILY_IPV4) {
        address->ip[10] = 0xff;
        address->ip[11] = 0xff;
    }
    for (size_t i = 0; i < ip_bytes; i++) {
        address->ip[16 - ip_bytes + i] = ip.data[i] ^ mask[i];
    }
    address->port = port ^ (uint16_t)(STUN_MAGIC_COOKIE >> 16);
    m->has_xor_mapped_address = true;
    return true;
}

static bool note_unknown(struct stun_message *m, uint16_t type)
{
    if (type < COMPREHENSION_OPTIONAL && m->unknown_required == 0) {
        m->unknown_required = type;
    }
    return true;
}

static bool decode(struct stun_message *m, const struct attribute *a)
{
    switch (a->type) {
    case STUN_USERNAME:
        return take_username(m, a->value);
    case STUN_MESSAGE_INTEGRITY:
        return take_integrity(m, a);
    case STUN_FINGERPRINT:
        return take_fingerprint(m, a);
    case STUN_PRIORITY:
        return take_priority(m, a->value);
    case STUN_USE_CANDIDATE:
        return take_use_candidate(m, a->value);
    case STUN_ICE_CONTROLLING:
        return take_role(m, true, a->value);
    case STUN_ICE_CONTROLLED:
        return take_role(m, false, a->value);
    case STUN_XOR_MAPPED_ADDRESS:
        return take_xor_mapped_address(m, a->value);
    case STUN_ERROR_CODE:
        return take_error_code(m, a->value);
    case STUN_MAPPED_ADDRESS:
    case STUN_UNKNOWN_ATTRIBUTES:
        return true;
    default:
        return note_unknown(m, a->type);
    }
}

enum stun_parse_result stun_message_parse(struct bytes_view datagram, struct stun_message *out)
{
    struct byte_reader r;
    const enum stun_parse_result header = read_header(&r, datagram, out);
    if (header != STUN_OK) {
        return header;
    }
    for (size_t count = 0; byte_reader_left(&r) > 0; count++) {
        struct attribute a;
        if (count == STUN_ATTRIBUTES_MAX || out->fingerprint_offset != 0 ||
            !read_attribute(&r, &a)) {
            return STUN_ATTRIBUTE;
        }
        const bool counts = out->integrity_offset == 0 || a.type == STUN_FINGERPRINT;
        if (counts && !decode(out, &a)) {
            return STUN_ATTRIBUTE;
        }
    }
    return STUN_OK;
}

bool stun_message_find(const struct stun_message *message, uint16_t attribute,
                       struct bytes_view *out_value)
{
    struct byte_reader r;
    struct attribute a;
    byte_reader_init(&r, message->datagram);
    byte_reader_skip(&r, STUN_HEADER_BYTES);
    while (r.offset != message->integrity_offset && byte_reader_left(&r) > 0 &&
           read_attribute(&r, &a)) {
        if (a.type == attribute) {
            *out_value = a.value;
            return true;
        }
    }
    return false;
}

enum stun_parse_result stun_message_peek_username(struct bytes_view datagram,
                                                  struct bytes_view *out_username)
{
    struct byte_reader r;
    struct stun_message m;
    const enum stun_parse_result header = read_header(&r, datagram, &m);
    *out_username = (struct bytes_view){0};
    if (header != STUN_OK) {
        return header;
    }
    if (m.type != STUN_BINDING_REQUEST) {
        return STUN_NOT_REQUEST;
    }
    for (size_t count = 0; byte_reader_left(&r) > 0; count++) {
        struct attribute a;
        if (count == STUN_ATTRIBUTES_MAX || !read_attribute(&r, &a)) {
            return STUN_ATTRIBUTE;
        }
        if (a.type == STUN_MESSAGE_INTEGRITY) {
            break;
        }
        if (a.type == STUN_USERNAME && !take_username(&m, a.value)) {
            return STUN_ATTRIBUTE;
        }
    }
    *out_username = m.username;
    return STUN_OK;
}

void stun_message_begin(struct byte_writer *w, uint16_t type,
                        const uint8_t transaction_id[STUN_TRANSACTION_ID_BYTES])
{
    assert(w->len == 0);
    byte_writer_u16(w, type);
    byte_writer_u16(w, 0);
    byte_writer_u32(w, STUN_MAGIC_COOKIE);
    byte_writer_bytes(w, bytes_view_of(transaction_id, STUN_TRANSACTION_ID_BYTES));
}

static void set_length_field(struct byte_writer *w)
{
    if (w->failed) {
        return;
    }
    assert(w->len >= STUN_HEADER_BYTES);
    struct byte_writer field;
    byte_writer_init(&field, w->data + 2, 2);
    byte_writer_u16(&field, (uint16_t)(w->len - STUN_HEADER_BYTES));
}

void stun_message_add(struct byte_writer *w, uint16_t attribute, struct bytes_view value)
{
    assert(value.len <= STUN_MESSAGE_BYTES_MAX);
    byte_writer_u16(w, attribute);
    byte_writer_u16(w, (uint16_t)value.len);
    byte_writer_bytes(w, value);
    byte_writer_zeros(w, padded(value.len) - value.len);
    set_length_field(w);
}

void stun_message_add_u32(struct byte_writer *w, uint16_t attribute, uint32_t value)
{
    byte_writer_u16(w, attribute);
    byte_writer_u16(w, sizeof(value));
    byte_writer_u32(w, value);
    set_length_field(w);
}

void stun_message_add_u64(struct byte_writer *w, uint16_t attribute, uint64_t value)
{
    byte_writer_u16(w, attribute);
    byte_writer_u16(w, sizeof(value));
    byte_writer_u64(w, value);
    set_length_field(w);
}

void stun_message_add_xor_address(struct byte_writer *w, uint16_t attribute,
                                  const struct net_addr *address)
{
    if (w->failed) {
        return;
    }
    const bool is_ipv4 = net_addr_is_ipv4(address);
    const size_t ip_bytes = is_ipv4 ? 4 : 16;
    uint8_t mask[16];
    address_mask(w->data + STUN_HEADER_BYTES - STUN_TRANSACTION_ID_BYTES, mask);
    byte_writer_u16(w, attribute);
    byte_writer_u16(w, (uint16_t)(4 + ip_bytes));
    byte_writer_u16(w, is_ipv4 ? ADDRESS_FAMILY_IPV4 : ADDRESS_FAMILY_IPV6);
    byte_writer_u16(w, address->port ^ (uint16_t)(STUN_MAGIC_COOKIE >> 16));
    for (size_t i = 0; i < ip_bytes; i++) {
        byte_writer_u8(w, address->ip[16 - ip_bytes + i] ^ mask[i]);
    }
    set_length_field(w);
}

void stun_message_add_error(struct byte_writer *w, uint16_t code, const char *reason)
{
    const struct bytes_view text = bytes_view_of_text(reason);
    byte_writer_u16(w, STUN_ERROR_CODE);
    byte_writer_u16(w, (uint16_t)(4 + text.len));
    byte_writer_u16(w, 0);
    byte_writer_u8(w, (uint8_t)(code / 100));
    byte_writer_u8(w, (uint8_t)(code % 100));
    byte_writer_bytes(w, text);
    byte_writer_zeros(w, padded(text.len) - text.len);
    set_length_field(w);
}
