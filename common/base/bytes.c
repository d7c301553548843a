/* bytes.c - see bytes.h */
#include "common/base/bytes.h"

bool bytes_equal_constant_time(struct bytes_view a, struct bytes_view b)
{
    if (a.len != b.len) {
        return false;
    }
    volatile uint8_t difference = 0;
    for (size_t i = 0; i < a.len; i++) {
        difference = (uint8_t)(difference | (a.data[i] ^ b.data[i]));
    }
    return difference == 0;
}

void byte_reader_init(struct byte_reader *r, struct bytes_view view)
{
    *r = (struct byte_reader){.data = view.data, .len = view.len};
}

size_t byte_reader_left(const struct byte_reader *r)
{
    return r->failed ? 0 : r->len - r->offset;
}

struct bytes_view byte_reader_bytes(struct byte_reader *r, size_t len)
{
    if (r->failed || len > r->len - r->offset) {
        r->failed = true;
        return (struct bytes_view){0};
    }
    const struct bytes_view view = {r->data + r->offset, len};
    r->offset += len;
    return view;
}

void byte_reader_skip(struct byte_reader *r, size_t len)
{
    (void)byte_reader_bytes(r, len);
}

static uint64_t read_network_order(struct byte_reader *r, size_t len)
{
    const struct bytes_view view = byte_reader_bytes(r, len);
    uint64_t value = 0;
    for (size_t i = 0; i < view.len; i++) {
        value = value << 8 | view.data[i];
    }
    return value;
}

static uint64_t read_little_endian(struct byte_reader *r, size_t len)
{
    const struct bytes_view view = byte_reader_bytes(r, len);
    uint64_t value = 0;
    for (size_t i = view.len; i > 0; i--) {
        value = value << 8 | view.data[i - 1];
    }
    return value;
}

uint8_t byte_reader_u8(struct byte_reader *r)
{
    return (uint8_t)read_network_order(r, 1);
}

uint16_t byte_reader_u16(struct byte_reader *r)
{
    return (uint16_t)read_network_order(r, 2);
}

uint32_t byte_reader_u24(struct byte_reader *r)
{
    return (uint32_t)read_network_order(r, 3);
}

uint32_t byte_reader_u32(struct byte_reader *r)
{
    return (uint32_t)read_network_order(r, 4);
}

uint64_t byte_reader_u64(struct byte_reader *r)
{
    return read_network_order(r, 8);
}

uint16_t byte_reader_u16_le(struct byte_reader *r)
{
    return (uint16_t)read_little_endian(r, 2);
}

uint32_t byte_reader_u32_le(struct byte_reader *r)
{
    return (uint32_t)read_little_endian(r, 4);
}

uint64_t byte_reader_u64_le(struct byte_reader *r)
{
    return read_little_endian(r, 8);
}

void byte_writer_init(struct byte_writer *w, void *data, size_t cap)
{
    *w = (struct byte_writer){.data = data, .cap = cap};
}

/* Room for len more bytes, or NULL and a failed writer. */
static uint8_t *writer_room(struct byte_writer *w, size_t len)
{
    if (w->failed || len > w->cap - w->len) {
        w->failed = true;
        return NULL;
    }
    uint8_t *room = w->data + w->len;
    w->len += len;
    return room;
}

static void write_network_order(struct byte_writer *w, uint64_t value, size_t len)
{
    uint8_t *room = writer_room(w, len);
    for (size_t i = 0; room != NULL && i < len; i++) {
        room[i] = (uint8_t)(value >> (8 * (len - 1 - i)));
    }
}

static void write_little_endian(struct byte_writer *w, uint64_t value, size_t len)
{
    uint8_t *room = writer_room(w, len);
    for (size_t i = 0; room != NULL && i < len; i++) {
        room[i] = (uint8_t)(value >> (8 * i));
    }
}

void byte_writer_u8(struct byte_writer *w, uint8_t value)
{
    write_network_order(w, value, 1);
}

void byte_writer_u16(struct byte_writer *w, uint16_t value)
{
    write_network_order(w, value, 2);
}

void byte_writer_u24(struct byte_writer *w, uint32_t value)
{
    write_network_order(w, value, 3);
}

void byte_writer_u32(struct byte_writer *w, uint32_t value)
{
    write_network_order(w, value, 4);
}

void byte_writer_u64(struct byte_writer *w, uint64_t value)
{
    write_network_order(w, value, 8);
}

void byte_writer_u16_le(struct byte_writer *w, uint16_t value)
{
    write_little_endian(w, value, 2);
}

void byte_writer_u32_le(struct byte_writer *w, uint32_t value)
{
    write_little_endian(w, value, 4);
}

void byte_writer_u64_le(struct byte_writer *w, uint64_t value)
{
    write_little_endian(w, value, 8);
}

void byte_writer_bytes(struct byte_writer *w, struct bytes_view view)
{
    uint8_t *room = writer_room(w, view.len);
    if (room != NULL && view.len > 0) {
        memcpy(room, view.data, view.len);
    }
}

void byte_writer_zeros(struct byte_writer *w, size_t len)
{
    uint8_t *room = writer_room(w, len);
    if (room != NULL) {
        memset(room, 0, len);
    }
}

bool bytes_to_hex(struct bytes_view view, char *text, size_t text_cap)
{
    static const char digit[] = "0123456789abcdef";
    if (text_cap < 1 || view.len > (text_cap - 1) / 2) {
        return false;
    }
    for (size_t i = 0; i < view.len; i++) {
        text[2 * i] = digit[view.data[i] >> 4];
        text[2 * i + 1] = digit[view.data[i] & 15];
    }
    text[2 * view.len] = '\0';
    return true;
}

static int hex_value(uint8_t character)
{
    if (character >= '0' && character <= '9') {
        return character - '0';
    }
    if (character >= 'a' && character <= 'f') {
        return character - 'a' + 10;
    }
    if (character >= 'A' && character <= 'F') {
        return character - 'A' + 10;
    }
    return -1;
}

bool bytes_from_hex(struct bytes_view text, uint8_t *out, size_t out_len)
{
    if (text.len % 2 != 0 || text.len / 2 != out_len) {
        return false;
    }
    for (size_t i = 0; i < out_len; i++) {
        const int high = hex_value(text.data[2 * i]);
        const int low = hex_value(text.data[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
