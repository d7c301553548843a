/* relay_leg.c - see relay_leg.h */
#include "services/transceiver/port/relay_leg.h"

const char *relay_leg_result_name(enum relay_leg_result result)
{
    static const char *const name[RELAY_LEG_RESULT_COUNT] = {
        [RELAY_LEG_OK] = "ok",
        [RELAY_LEG_SHORT] = "short",
        [RELAY_LEG_VERSION] = "version",
        [RELAY_LEG_UNKNOWN_KEY] = "unknown_key",
        [RELAY_LEG_TAG] = "tag",
        [RELAY_LEG_TOO_LONG] = "too_long",
        [RELAY_LEG_INSTANCE] = "instance",
    };
    return name[result];
}

enum relay_leg_result relay_leg_unwrap(struct key_ring *ring, uint32_t instance_id,
                                       const struct udp_arrival *received,
                                       struct relay_leg_uplink *out)
{
    static const enum relay_leg_result refusal[] = {
        [RELAY_SHIM_OK] = RELAY_LEG_OK,           [RELAY_SHIM_SHORT] = RELAY_LEG_SHORT,
        [RELAY_SHIM_VERSION] = RELAY_LEG_VERSION, [RELAY_SHIM_UNKNOWN_KEY] = RELAY_LEG_UNKNOWN_KEY,
        [RELAY_SHIM_TAG] = RELAY_LEG_TAG,
    };
    struct relay_shim shim;
    const enum relay_shim_result result =
        relay_shim_read(ring, bytes_view_of(received->data, received->len), &shim);
    if (result != RELAY_SHIM_OK) {
        return refusal[result];
    }
    if ((shim.flags & ~RELAY_SHIM_TCP) != 0) {
        return RELAY_LEG_VERSION; /* a downlink, an announcement or a probe: not for us */
    }
    if (shim.datagram_bytes > RELAY_LEG_DATAGRAM_BYTES_MAX) {
        return RELAY_LEG_TOO_LONG;
    }
    if (shim.instance_id != instance_id) {
        return RELAY_LEG_INSTANCE;
    }
    *out = (struct relay_leg_uplink){
        .session_id = shim.session_id,
        .path = {.client = shim.client,
                 .relay = received->from,
                 .is_tcp = (shim.flags & RELAY_SHIM_TCP) != 0},
        .datagram = {.data = received->data + RELAY_SHIM_BYTES,
                     .len = shim.datagram_bytes,
                     .cap = shim.datagram_bytes},
    };
    return RELAY_LEG_OK;
}

struct udp_packet relay_leg_wrap(struct key_ring *ring, uint32_t instance_id,
                                 const struct outbox_datagram *datagram)
{
    const unsigned transport = datagram->path.is_tcp ? RELAY_SHIM_TCP : 0;
    const unsigned announcement = datagram->is_announcement ? RELAY_SHIM_ANNOUNCEMENT : 0;
    const struct relay_shim shim = {
        .flags = (uint8_t)(RELAY_SHIM_DOWNLINK | transport | announcement),
        .datagram_bytes = (uint16_t)datagram->len,
        .instance_id = instance_id,
        .session_id = datagram->session_id,
        .client = datagram->path.client,
    };
    uint8_t *start = datagram->data - RELAY_SHIM_BYTES;
    relay_shim_write(ring, &shim, start);
    return (struct udp_packet){
        .bytes = {.data = start,
                  .len = RELAY_SHIM_BYTES + datagram->len,
                  .cap = RELAY_SHIM_BYTES + OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES},
        .to = datagram->path.relay,
    };
}
