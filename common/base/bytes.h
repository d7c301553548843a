/*
 * bytes.h - views of bytes, and reading and writing them without running past an end
 *
 * Takes:   memory of the caller; nothing here owns or allocates.
 * Units:   len = valid bytes, cap = room.
 * Fails:   a reader or writer that would pass its end sets `failed`, which sticks; a failed
 *          reader gives zeros, a failed writer writes nothing. Check once, at the end.
 *          All integers are in network order unless the name ends in _le.
 */
#ifndef EARSHOT_BYTES_H
#define EARSHOT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MUST_USE        __attribute__((warn_unused_result))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Borrowed, read only. */
struct bytes_view {
    const uint8_t *data;
    size_t len;
};

/* Borrowed, writable: len valid bytes at data, room for cap. */
struct bytes_span {
    uint8_t *data;
    size_t len;
    size_t cap;
};

static inline struct bytes_view bytes_view_of(const void *data, size_t len)
{
    return (struct bytes_view){(const uint8_t *)data, len};
}

static inline struct bytes_view bytes_view_of_text(const char *text)
{
    return bytes_view_of(text, strlen(text));
}

static inline bool bytes_equal(struct bytes_view a, struct bytes_view b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Time depends on the length alone. For tags, fingerprints and passwords. */
bool bytes_equal_constant_time(struct bytes_view a, struct bytes_view b);

struct byte_reader {
    const uint8_t *data;
    size_t len;
    size_t offset;
    bool failed;
};

void byte_reader_init(struct byte_reader *r, struct bytes_view view);
size_t byte_reader_left(const struct byte_reader *r);
uint8_t byte_reader_u8(struct byte_reader *r);
uint16_t byte_reader_u16(struct byte_reader *r);
uint32_t byte_reader_u24(struct byte_reader *r);
uint32_t byte_reader_u32(struct byte_reader *r);
uint64_t byte_reader_u64(struct byte_reader *r);
uint16_t byte_reader_u16_le(struct byte_reader *r);
uint32_t byte_reader_u32_le(struct byte_reader *r);
uint64_t byte_reader_u64_le(struct byte_reader *r);
/* The next len bytes, borrowed from the reader's memory; an empty view when it fails. */
struct bytes_view byte_reader_bytes(struct byte_reader *r, size_t len);
void byte_reader_skip(struct byte_reader *r, size_t len);

struct byte_writer {
    uint8_t *data;
    size_t len;
    size_t cap;
    bool failed;
};

void byte_writer_init(struct byte_writer *w, void *data, size_t cap);
void byte_writer_u8(struct byte_writer *w, uint8_t value);
void byte_writer_u16(struct byte_writer *w, uint16_t value);
void byte_writer_u24(struct byte_writer *w, uint32_t value);
void byte_writer_u32(struct byte_writer *w, uint32_t value);
void byte_writer_u64(struct byte_writer *w, uint64_t value);
void byte_writer_u16_le(struct byte_writer *w, uint16_t value);
void byte_writer_u32_le(struct byte_writer *w, uint32_t value);
void byte_writer_u64_le(struct byte_writer *w, uint64_t value);
void byte_writer_bytes(struct byte_writer *w, struct bytes_view view);
void byte_writer_zeros(struct byte_writer *w, size_t len);

/* 2 * view.len hex digits and a NUL; text has room for text_cap. False when too small. */
MUST_USE bool bytes_to_hex(struct bytes_view view, char *text, size_t text_cap);
/* Exactly out_len bytes of hex digits, any case; false on any other length or character. */
MUST_USE bool bytes_from_hex(struct bytes_view text, uint8_t *out, size_t out_len);

#endif
