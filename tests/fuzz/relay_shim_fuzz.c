/* relay_shim_fuzz.c - any packet as a shim, as it is and with a right tag; what is read is written
 * back in the same bytes */
#include "common/crypto/siphash.h"
#include "common/routing/relay_shim.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* The ring of the golden vectors, which are among the seeds. */
static struct key_ring *ring(void)
{
    static struct key_ring *made;
    if (made == NULL) {
        uint8_t secret[KEY_RING_SECRET_BYTES];
        for (size_t i = 0; i < sizeof(secret); i++) {
            secret[i] = (uint8_t)i;
        }
        made = key_ring_from_secret(7, secret);
    }
    return made;
}

static void read_and_write_back(struct bytes_view packet)
{
    struct relay_shim shim;
    if (relay_shim_read(ring(), packet, &shim) != RELAY_SHIM_OK) {
        return;
    }
    uint8_t written[RELAY_SHIM_BYTES];
    require(shim.datagram_bytes <= packet.len - RELAY_SHIM_BYTES);
    relay_shim_write(ring(), &shim, written);
    require(memcmp(written, packet.data, sizeof(written)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t packet[2048];
    read_and_write_back(bytes_view_of(data, size));
    if (size < RELAY_SHIM_BYTES || size > sizeof(packet)) {
        return 0;
    }
    struct byte_writer w;
    byte_writer_init(&w, packet, size);
    byte_writer_bytes(&w, bytes_view_of(data, 32));
    byte_writer_u64(&w, siphash(key_ring_shim_mac(ring(), 7), bytes_view_of(data, 32)));
    byte_writer_bytes(&w, bytes_view_of(data + RELAY_SHIM_BYTES, size - RELAY_SHIM_BYTES));
    read_and_write_back(bytes_view_of(packet, size));
    return 0;
}
