/*
 * dtmf_in.h - keys the client presses, as DTMF frames for the backend
 *
 * Takes:   telephone-event packets as they arrive, and time.
 * Gives:   one DTMF frame for each press, when it has ended. While no backend is there they wait.
 * Owns:    nothing but itself.
 * Full:    of more than DTMF_IN_WAITING_MAX that wait the newest are lost.
 * Not here: what is a press (telephone_event.h).
 */
#ifndef EARSHOT_DTMF_IN_H
#define EARSHOT_DTMF_IN_H

#include "services/transceiver/core/outbox.h"
#include "services/transceiver/core/rtp/rtp_packet.h"
#include "services/transceiver/core/rtp/telephone_event.h"

#define DTMF_IN_WAITING_MAX 16

struct dtmf_in {
    uint32_t session_id;
    uint64_t start_us;     /* when the session clock was 0 */
    struct outbox *outbox; /* borrowed */
    struct telephone_event event;
    bool is_attached;
    struct {
        struct telephone_event_press press;
        uint64_t time_us; /* session clock */
    } waiting[DTMF_IN_WAITING_MAX];
    size_t waiting_count;
};

/* clock_hz: of the voice beside it. */
void dtmf_in_init(struct dtmf_in *d, uint32_t session_id, uint32_t clock_hz, uint64_t start_us,
                  struct outbox *outbox);
/* What waits is sent. */
void dtmf_in_attach(struct dtmf_in *d);
void dtmf_in_detach(struct dtmf_in *d);

/* Another source of packets. */
void dtmf_in_restart(struct dtmf_in *d);
void dtmf_in_input(struct dtmf_in *d, const struct rtp_packet *packet, uint64_t now_us);
/* Another packet of the same source. */
void dtmf_in_note_voice(struct dtmf_in *d, const struct rtp_packet *packet, uint64_t now_us);
void dtmf_in_tick(struct dtmf_in *d, uint64_t now_us);
uint64_t dtmf_in_next_timeout(const struct dtmf_in *d);

#endif
