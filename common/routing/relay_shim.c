/* relay_shim.c - see relay_shim.h */
#include "common/routing/relay_shim.h"

#include "common/crypto/siphash.h"

#define VERSION      1
#define FLAG_BITS    15 /* all that enum relay_shim_flag names */
#define SIGNED_BYTES 32 /* what the tag covers */
#define PORT_OFFSET  12

void relay_shim_write(struct key_ring *ring, const struct relay_shim *shim,
                      uint8_t out[RELAY_SHIM_BYTES])
{
    const uint8_t key_id = key_ring_active_id(ring);
    struct byte_writer w;
    assert((shim->flags & ~FLAG_BITS) == 0);
    byte_writer_init(&w, out, RELAY_SHIM_BYTES);
    byte_writer_u8(&w, RELAY_SHIM_MAGIC);
    byte_writer_u8(&w, (uint8_t)(VERSION << 4 | shim->flags));
    byte_writer_u16(&w, shim->datagram_bytes);
    byte_writer_u32(&w, shim->instance_id);
    byte_writer_u32(&w, shim->session_id);
    byte_writer_u16(&w, shim->client.port);
    byte_writer_u8(&w, key_id);
    byte_writer_u8(&w, 0);
    byte_writer_bytes(&w, bytes_view_of(shim->client.ip, sizeof(shim->client.ip)));
    assert(w.len == SIGNED_BYTES);
    byte_writer_u64(&w, siphash(key_ring_shim_mac(ring, key_id), bytes_view_of(out, SIGNED_BYTES)));
    assert(!w.failed);
}

bool relay_shim_peek_client(struct bytes_view packet, struct net_addr *out)
{
    struct byte_reader r;
    byte_reader_init(&r, packet);
    byte_reader_skip(&r, PORT_OFFSET);
    *out = (struct net_addr){.port = byte_reader_u16(&r)};
    byte_reader_skip(&r, 2);
    const struct bytes_view ip = byte_reader_bytes(&r, sizeof(out->ip));
    if (!r.failed) {
        memcpy(out->ip, ip.data, ip.len);
    }
    return !r.failed;
}

enum relay_shim_result relay_shim_read(struct key_ring *ring, struct bytes_view packet,
                                       struct relay_shim *out)
{
    if (packet.len < RELAY_SHIM_BYTES) {
        return RELAY_SHIM_SHORT;
    }
    struct byte_reader r;
    byte_reader_init(&r, packet);
    const uint8_t magic = byte_reader_u8(&r);
    const uint8_t version_and_flags = byte_reader_u8(&r);
    struct relay_shim shim = {.flags = version_and_flags & FLAG_BITS};
    shim.datagram_bytes = byte_reader_u16(&r);
    shim.instance_id = byte_reader_u32(&r);
    shim.session_id = byte_reader_u32(&r);
    shim.client.port = byte_reader_u16(&r);
    shim.key_id = byte_reader_u8(&r);
    const uint8_t spare = byte_reader_u8(&r);
    const struct bytes_view ip = byte_reader_bytes(&r, sizeof(shim.client.ip));
    const uint64_t tag = byte_reader_u64(&r);
    memcpy(shim.client.ip, ip.data, ip.len);
    if (magic != RELAY_SHIM_MAGIC || version_and_flags >> 4 != VERSION || spare != 0) {
        return RELAY_SHIM_VERSION;
    }
    if (shim.datagram_bytes > byte_reader_left(&r)) {
        return RELAY_SHIM_SHORT;
    }
    struct siphash_key *mac = key_ring_shim_mac(ring, shim.key_id);
    if (mac == NULL) {
        return RELAY_SHIM_UNKNOWN_KEY;
    }
    /* One compare of a machine word: its time tells nothing about the tag. */
    if (siphash(mac, bytes_view_of(packet.data, SIGNED_BYTES)) != tag) {
        return RELAY_SHIM_TAG;
    }
    *out = shim;
    return RELAY_SHIM_OK;
}
