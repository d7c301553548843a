/* voice_rtcp.c - see voice_rtcp.h */
#include "services/transceiver/core/session/voice_rtcp.h"

/* The cname of the answer's a=ssrc line. */
#define CNAME "earshot"

/* A change of 2 points, of 256. */
#define NEWS_FRACTION_LOST 5

void voice_rtcp_init(struct voice_rtcp *v, const struct voice_rtcp_config *config)
{
    *v = (struct voice_rtcp){.config = *config};
    rtcp_schedule_init(&v->schedule, config->seed);
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
    const int moved = rtp_receiver_fraction_lost(v->config.receiver) - v->told_fraction_lost;
    if (moved > NEWS_FRACTION_LOST || moved < -NEWS_FRACTION_LOST) {
        rtcp_schedule_hasten(&v->schedule, now_us);
    }
}

static void want_lost(struct rtp_history *history, const struct rtcp_nack *nack)
{
    rtp_history_want(history, nack->sequence_number);
    for (unsigned i = 0; i < 16; i++) {
        if ((nack->following >> i & 1) != 0) {
            rtp_history_want(history, (uint16_t)(nack->sequence_number + 1 + i));
        }
    }
}

static void take_packet(struct voice_rtcp *v, const struct rtcp_packet *packet, uint64_t now_us)
{
    const uint32_t ssrc = rtp_sender_ssrc(v->config.sender);
    struct rtcp_report_block block;
    struct byte_reader list;
    if (packet->type == RTCP_SENDER_REPORT) {
        rtp_receiver_sender_report(v->config.receiver, packet->ssrc, &packet->sender_info, now_us);
    }
    if (rtcp_packet_find_block(packet, ssrc, &block)) {
        rtp_sender_report_block(v->config.sender, &block, now_us);
    }
    if (v->config.history != NULL && rtcp_packet_find_nacks(packet, ssrc, &list)) {
        struct rtcp_nack nack;
        while (rtcp_packet_next_nack(&list, &nack)) {
            want_lost(v->config.history, &nack);
        }
    }
}

void voice_rtcp_input(struct voice_rtcp *v, struct bytes_view compound, uint64_t now_us)
{
    struct byte_reader reader;
    struct rtcp_packet packet;
    enum rtcp_packet_result result = RTCP_PACKET_OK;
    byte_reader_init(&reader, compound);
    while ((result = rtcp_packet_next(&reader, &packet)) == RTCP_PACKET_OK) {
        take_packet(v, &packet, now_us);
    }
    v->stats.compounds[result]++;
}

static size_t write_report(struct voice_rtcp *v, bool is_bye, uint8_t *out, uint64_t now_us)
{
    struct rtcp_report_block block = {0};
    struct rtcp_report report = {
        .ssrc = rtp_sender_ssrc(v->config.sender),
        .cname = CNAME,
        .block = &block,
        .is_bye = is_bye,
    };
    report.has_sender_info = rtp_sender_report(v->config.sender, &report.sender_info, now_us);
    report.block_count = rtp_receiver_report(v->config.receiver, &block, now_us) ? 1 : 0;
    v->told_fraction_lost = block.fraction_lost;
    v->stats.reports_sent++;
    return rtcp_packet_write(&report, out, VOICE_RTCP_BYTES_MAX);
}

size_t voice_rtcp_poll_report(struct voice_rtcp *v, uint8_t *out, uint64_t now_us)
{
    return rtcp_schedule_take(&v->schedule, now_us) ? write_report(v, false, out, now_us) : 0;
}

size_t voice_rtcp_bye(struct voice_rtcp *v, uint8_t *out, uint64_t now_us)
{
    return v->has_sent || v->stats.reports_sent > 0 ? write_report(v, true, out, now_us) : 0;
}

uint64_t voice_rtcp_next_timeout(const struct voice_rtcp *v)
{
    return rtcp_schedule_next_timeout(&v->schedule);
}
