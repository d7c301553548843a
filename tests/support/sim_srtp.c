/* sim_srtp.c - see sim_srtp.h */
#include "tests/support/sim_srtp.h"

#include <assert.h>

void sim_srtp_start(struct sim_srtp *s, const struct srtp_keys *keys, uint32_t ssrc)
{
    s->keys = *keys;
    s->rest = srtp_transport_create(keys, ssrc);
    s->voice = srtp_transport_create(keys, ssrc);
    s->overhearing = srtp_transport_create(keys, ssrc);
    assert(s->rest != NULL && s->voice != NULL && s->overhearing != NULL);
}

void sim_srtp_deinit(struct sim_srtp *s)
{
    srtp_transport_destroy(s->rest);
    srtp_transport_destroy(s->voice);
    srtp_transport_destroy(s->overhearing);
}

void sim_srtp_change_ssrc(struct sim_srtp *s, uint32_t ssrc)
{
    srtp_transport_destroy(s->voice);
    s->voice = srtp_transport_create(&s->keys, ssrc);
    assert(s->voice != NULL);
}

void sim_srtp_protect_voice(struct sim_srtp *s, struct bytes_span *packet)
{
    const enum srtp_transport_result result = srtp_transport_protect_rtp(s->voice, packet);
    assert(result == SRTP_TRANSPORT_OK);
    (void)result;
}

void sim_srtp_protect_rtcp(struct sim_srtp *s, struct bytes_span *packet)
{
    const enum srtp_transport_result result = srtp_transport_protect_rtcp(s->rest, packet);
    assert(result == SRTP_TRANSPORT_OK);
    (void)result;
}

static bool read_rtp(struct srtp_transport *srtp, struct bytes_span *datagram,
                     struct rtp_packet *out, uint64_t now_us)
{
    bool is_newest = false;
    return srtp != NULL &&
           srtp_transport_unprotect_rtp(srtp, datagram, &is_newest, now_us) == SRTP_TRANSPORT_OK &&
           rtp_packet_parse(bytes_view_of(datagram->data, datagram->len), out) == RTP_PACKET_OK;
}

bool sim_srtp_read_rtp(struct sim_srtp *s, struct bytes_span *datagram, struct rtp_packet *out,
                       uint64_t now_us)
{
    return read_rtp(s->rest, datagram, out, now_us);
}

bool sim_srtp_read_rtcp(struct sim_srtp *s, struct bytes_span *datagram, uint64_t now_us)
{
    bool is_newest = false;
    return s->rest != NULL && srtp_transport_unprotect_rtcp(s->rest, datagram, &is_newest,
                                                            now_us) == SRTP_TRANSPORT_OK;
}

bool sim_srtp_overhear(struct sim_srtp *s, struct bytes_span *datagram, struct rtp_packet *out,
                       uint64_t now_us)
{
    return read_rtp(s->overhearing, datagram, out, now_us);
}
