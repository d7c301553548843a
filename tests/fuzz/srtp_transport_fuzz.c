/* srtp_transport_fuzz.c - unprotecting anything: nothing is read or written outside the packet
 *
 * Input: a mode byte (bit 0 profile, bit 1 RTCP, bit 2 the harness protects the packet first, so
 * that what lies behind the tag is reached too), then the packet. It lies at the end of an
 * allocation of its exact size, but for a packet that is protected here.
 */
#include "services/transceiver/core/transport/srtp_transport.h"

#include <assert.h>
#include <stdlib.h>

#define PACKET_BYTES_MAX 2000

static struct srtp_transport *transport_of(enum srtp_profile profile, uint32_t ssrc)
{
    const struct srtp_keys keys = {.profile = profile};
    return srtp_transport_create(&keys, ssrc);
}

static void unprotect(struct srtp_transport *t, bool is_rtcp, uint8_t *data, size_t len)
{
    struct bytes_span packet = {data, len, len};
    bool is_newest = false;
    const enum srtp_transport_result result =
        is_rtcp ? srtp_transport_unprotect_rtcp(t, &packet, &is_newest, 0)
                : srtp_transport_unprotect_rtp(t, &packet, &is_newest, 0);
    assert(packet.len <= len);
    assert(result == SRTP_TRANSPORT_OK || packet.len == len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_ready;
    struct fault fault;
    if (!is_ready) {
        is_ready = srtp_transport_init(&fault);
        assert(is_ready);
    }
    if (size < 1 || size > PACKET_BYTES_MAX) {
        return 0;
    }
    const enum srtp_profile profile =
        (data[0] & 1) != 0 ? SRTP_PROFILE_AEAD_AES_128_GCM : SRTP_PROFILE_AES128_CM_SHA1_80;
    const bool is_rtcp = (data[0] & 2) != 0;
    size_t len = size - 1;
    uint8_t *packet = malloc(len + SRTP_TRANSPORT_TRAILER_BYTES);
    assert(packet != NULL);
    memcpy(packet, data + 1, len);
    if ((data[0] & 4) != 0 && len >= 12) {
        struct byte_reader r;
        byte_reader_init(&r, bytes_view_of(packet, len));
        byte_reader_skip(&r, is_rtcp ? 4 : 8);
        struct srtp_transport *sender = transport_of(profile, byte_reader_u32(&r));
        struct bytes_span span = {packet, len, len + SRTP_TRANSPORT_TRAILER_BYTES};
        (void)(is_rtcp ? srtp_transport_protect_rtcp(sender, &span)
                       : srtp_transport_protect_rtp(sender, &span));
        len = span.len;
        srtp_transport_destroy(sender);
    }
    uint8_t *exact = malloc(len);
    assert(len == 0 || exact != NULL);
    if (len > 0) {
        memcpy(exact, packet, len);
    }
    struct srtp_transport *t = transport_of(profile, 1);
    unprotect(t, is_rtcp, exact, len);
    srtp_transport_destroy(t);
    free(exact);
    free(packet);
    return 0;
}
