/* voice_rtcp.c - see voice_rtcp.h */
#include "services/transceiver/core/session/voice_rtcp.h"

/* The cname of the answer's a=ssrc line. */
#define CNAME "earshot"

void voice_rtcp_init(struct voice_rtcp *v, struct rtp_receiver *receiver, struct rtp_sender *sender,
                     uint64_t seed)
{
    *v = (struct voice_rtcp){.receiver = receiver, .sender = sender};
    rtcp_schedule_init(&v->schedule, seed);
}

static void note_packet(struct voice_rtcp *v, bool *has_one, uint64_t now_us)
{
    if (!*has_one) {
        *has_one = true;
        rtcp_schedule_first_packet(&v->schedule, now_us);
    }
}

void voice_rtcp_note_sent(struct voice_rtcp *v, uint64_t now_us)
{
    note_packet(v, &v->has_sent, now_us);
}

void voice_rtcp_note_received(struct voice_rtcp *v, uint64_t now_us)
{
    note_packet(v, &v->has_received, now_us);
}

void voice_rtcp_input(struct voice_rtcp *v, struct bytes_view compound, uint64_t now_us)
{
    struct byte_reader reader;
    struct rtcp_packet packet;
    byte_reader_init(&reader, compound);
    while (rtcp_packet_next(&reader, &packet) == RTCP_PACKET_OK) {
        struct rtcp_report_block block;
        if (packet.type == RTCP_SENDER_REPORT) {
            rtp_receiver_sender_report(v->receiver, packet.ssrc, &packet.sender_info, now_us);
        }
        if (rtcp_packet_find_block(&packet, rtp_sender_ssrc(v->sender), &block)) {
            rtp_sender_report_block(v->sender, &block, now_us);
        }
    }
}

static size_t write_report(struct voice_rtcp *v, bool is_bye, uint8_t *out, uint64_t now_us)
{
    struct rtcp_report_block block;
    struct rtcp_report report = {
        .ssrc = rtp_sender_ssrc(v->sender),
        .cname = CNAME,
        .block = &block,
        .is_bye = is_bye,
    };
    report.has_sender_info = rtp_sender_report(v->sender, &report.sender_info, now_us);
    report.block_count = rtp_receiver_report(v->receiver, &block, now_us) ? 1 : 0;
    return rtcp_packet_write(&report, out, VOICE_RTCP_BYTES_MAX);
}

size_t voice_rtcp_poll_report(struct voice_rtcp *v, uint8_t *out, uint64_t now_us)
{
    if (!rtcp_schedule_take(&v->schedule, now_us)) {
        return 0;
    }
    v->has_reported = true;
    return write_report(v, false, out, now_us);
}

size_t voice_rtcp_bye(struct voice_rtcp *v, uint8_t *out, uint64_t now_us)
{
    return v->has_sent || v->has_reported ? write_report(v, true, out, now_us) : 0;
}

uint64_t voice_rtcp_next_timeout(const struct voice_rtcp *v)
{
    return rtcp_schedule_next_timeout(&v->schedule);
}
