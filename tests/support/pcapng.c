/* pcapng.c - see pcapng.h */
#include "tests/support/pcapng.h"

#include <stdio.h>
#include <stdlib.h>

#define BLOCK_SECTION         0x0a0d0d0au
#define BLOCK_ENHANCED_PACKET 6u
#define BYTE_ORDER_MAGIC      0x1a2b3c4du

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define PROTOCOL_UDP   17

struct pcapng {
    uint8_t *bytes;
    struct byte_reader r;
};

static void require(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "pcapng: %s\n", what);
        abort();
    }
}

struct pcapng *pcapng_open(const char *path)
{
    struct pcapng *capture = calloc(1, sizeof(*capture));
    FILE *file = fopen(path, "rb");
    require(capture != NULL && file != NULL && fseek(file, 0, SEEK_END) == 0, path);
    const long len = ftell(file);
    require(len > 0 && fseek(file, 0, SEEK_SET) == 0, path);
    capture->bytes = malloc((size_t)len);
    require(capture->bytes != NULL, path);
    require(fread(capture->bytes, 1, (size_t)len, file) == (size_t)len, path);
    (void)fclose(file);
    byte_reader_init(&capture->r, bytes_view_of(capture->bytes, (size_t)len));
    return capture;
}

void pcapng_close(struct pcapng *capture)
{
    free(capture->bytes);
    free(capture);
}

/* The body of the next block and its type; false at the end of the file. */
static bool next_block(struct pcapng *capture, uint32_t *out_type, struct byte_reader *out_body)
{
    struct byte_reader *r = &capture->r;
    if (byte_reader_left(r) == 0) {
        return false;
    }
    *out_type = byte_reader_u32_le(r);
    const uint32_t block_bytes = byte_reader_u32_le(r);
    require(block_bytes >= 12, "block length");
    byte_reader_init(out_body, byte_reader_bytes(r, block_bytes - 12));
    const uint32_t block_bytes_again = byte_reader_u32_le(r);
    require(!r->failed && block_bytes == block_bytes_again, "block length");
    return true;
}

static void read_ip(struct byte_reader *r, size_t address_bytes, struct net_addr *out)
{
    const struct bytes_view ip = byte_reader_bytes(r, address_bytes);
    *out = (struct net_addr){0};
    if (address_bytes == 4) {
        out->ip[10] = 0xff;
        out->ip[11] = 0xff;
    }
    memcpy(out->ip + sizeof(out->ip) - address_bytes, ip.data, ip.len);
}

/* Ethernet, IP and UDP headers; r ends at the payload. */
static void read_headers(struct byte_reader *r, struct pcapng_datagram *out)
{
    byte_reader_skip(r, 12);
    const uint16_t ethertype = byte_reader_u16(r);
    require(ethertype == ETHERTYPE_IPV4 || ethertype == ETHERTYPE_IPV6, "ethertype");
    const bool is_ipv4 = ethertype == ETHERTYPE_IPV4;
    byte_reader_skip(r, is_ipv4 ? 9 : 6);
    require(byte_reader_u8(r) == PROTOCOL_UDP, "protocol");
    byte_reader_skip(r, is_ipv4 ? 2 : 1);
    read_ip(r, is_ipv4 ? 4 : 16, &out->from);
    read_ip(r, is_ipv4 ? 4 : 16, &out->to);
    out->from.port = byte_reader_u16(r);
    out->to.port = byte_reader_u16(r);
    const uint16_t udp_bytes = byte_reader_u16(r);
    byte_reader_skip(r, 2);
    require(udp_bytes >= 8, "UDP length");
    out->payload = byte_reader_bytes(r, udp_bytes - 8u);
    require(!r->failed, "packet");
}

static void read_packet(struct byte_reader *body, struct pcapng_datagram *out)
{
    byte_reader_skip(body, 4);
    const uint64_t time_high = byte_reader_u32_le(body);
    out->time_ns = time_high << 32 | byte_reader_u32_le(body);
    const uint32_t captured_bytes = byte_reader_u32_le(body);
    require(captured_bytes == byte_reader_u32_le(body), "packet was cut");
    struct byte_reader packet;
    byte_reader_init(&packet, byte_reader_bytes(body, captured_bytes));
    read_headers(&packet, out);
}

bool pcapng_next(struct pcapng *capture, struct pcapng_datagram *out)
{
    uint32_t type = 0;
    struct byte_reader body;
    while (next_block(capture, &type, &body)) {
        if (type == BLOCK_SECTION) {
            require(byte_reader_u32_le(&body) == BYTE_ORDER_MAGIC, "byte order");
        } else if (type == BLOCK_ENHANCED_PACKET) {
            read_packet(&body, out);
            return true;
        }
    }
    return false;
}
