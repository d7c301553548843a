/* rtcp_packet_fuzz.c - any compound ends, and every packet of it is read within its bytes */
#include "services/transceiver/core/rtp/rtcp_packet.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_for(const struct rtcp_packet *p, uint32_t ssrc)
{
    struct rtcp_report_block block;
    struct bytes_view cname = {0};
    (void)!rtcp_packet_find_block(p, ssrc, &block);
    (void)!rtcp_packet_is_bye_of(p, ssrc);
    if (rtcp_packet_find_cname(p, ssrc, &cname) &&
        (cname.data < p->body.data || cname.len > p->body.len)) {
        abort();
    }
    struct byte_reader list;
    struct rtcp_nack nack;
    size_t pairs = 0;
    if (rtcp_packet_find_nacks(p, ssrc, &list)) {
        while (rtcp_packet_next_nack(&list, &nack)) {
            pairs++;
        }
        if (pairs != p->body.len / 4) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(data, size));
    struct rtcp_packet p;
    size_t packets = 0;
    while (rtcp_packet_next(&r, &p) == RTCP_PACKET_OK) {
        look_for(&p, 7);
        look_for(&p, 0);
        packets++;
    }
    if (packets > size / 4) {
        abort();
    }
    return 0;
}
