/* sctp_congestion.c - see sctp_congestion.h */
#include "services/transceiver/core/transport/sctp/sctp_congestion.h"

#include "services/transceiver/core/transport/sctp/sctp_serial.h"

#define THRESHOLD_PACKETS_MIN 4

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* s.7.2.1: min(4 * PMDCS, max(2 * PMDCS, 4404)). */
static size_t initial_window(size_t packet_bytes)
{
    return smaller(4 * packet_bytes, larger(2 * packet_bytes, 4404));
}

void sctp_congestion_init(struct sctp_congestion *c, size_t packet_bytes, size_t peer_window_bytes)
{
    *c = (struct sctp_congestion){
        .packet_bytes = packet_bytes,
        .window_bytes = initial_window(packet_bytes),
        .threshold_bytes = larger(peer_window_bytes, THRESHOLD_PACKETS_MIN * packet_bytes),
    };
}

static void avoid_congestion(struct sctp_congestion *c, size_t newly_bytes, bool was_full,
                             size_t flight_bytes)
{
    c->partial_bytes += newly_bytes;
    if (c->partial_bytes >= c->window_bytes && was_full) {
        c->partial_bytes -= c->window_bytes;
        c->window_bytes += c->packet_bytes;
    } else {
        c->partial_bytes = smaller(c->partial_bytes, c->window_bytes);
    }
    if (flight_bytes == 0) {
        c->partial_bytes = 0;
    }
}

void sctp_congestion_acknowledged(struct sctp_congestion *c, uint32_t cumulative_tsn,
                                  size_t newly_bytes, bool was_full, size_t flight_bytes)
{
    if (c->is_recovering) {
        c->is_recovering = sctp_tsn_before(cumulative_tsn, c->recovery_tsn);
        return; /* s.7.2.4: the window does not grow within a recovery */
    }
    if (c->window_bytes > c->threshold_bytes) {
        avoid_congestion(c, newly_bytes, was_full, flight_bytes);
    } else if (was_full) {
        c->window_bytes += smaller(newly_bytes, c->packet_bytes);
    }
}

static void halve(struct sctp_congestion *c)
{
    c->threshold_bytes = larger(c->window_bytes / 2, THRESHOLD_PACKETS_MIN * c->packet_bytes);
    c->partial_bytes = 0;
}

bool sctp_congestion_lost(struct sctp_congestion *c, uint32_t last_tsn)
{
    if (c->is_recovering) {
        return false;
    }
    halve(c);
    c->window_bytes = c->threshold_bytes;
    c->is_recovering = true;
    c->recovery_tsn = last_tsn;
    return true;
}

void sctp_congestion_timed_out(struct sctp_congestion *c)
{
    halve(c);
    c->window_bytes = c->packet_bytes;
    c->is_recovering = false;
}

void sctp_congestion_idle(struct sctp_congestion *c)
{
    c->window_bytes = larger(c->window_bytes / 2, initial_window(c->packet_bytes));
}

void sctp_congestion_limit_burst(struct sctp_congestion *c, size_t flight_bytes)
{
    c->window_bytes = smaller(c->window_bytes, flight_bytes + SCTP_BURST_PACKETS * c->packet_bytes);
}
