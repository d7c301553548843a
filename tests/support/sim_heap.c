/* sim_heap.c - see sim_heap.h */
#include "tests/support/sim_heap.h"

#include "services/transceiver/core/media/playout_queue.h"

/* The last packet of speech may be the tail, behind what was queued. */
#define TAIL_US (100 * US_PER_MS)

void sim_heap_begin(struct sim_heap *h)
{
    h->before = h->allocations == NULL ? 0 : *h->allocations;
}

void sim_heap_end(struct sim_heap *h, const struct session *s, const char *what, uint64_t now_us)
{
    const uint64_t speech_packets = session_stats(s).voice.speech_packets;
    if (speech_packets != h->speech_packets) {
        h->speech_packets = speech_packets;
        h->spoken_us = now_us;
    }
    if (h->allocations == NULL || *h->allocations == h->before) {
        return;
    }
    const struct session_timeline *t = session_timeline(s);
    const uint64_t spoken_us = time_later(t->first_audio_in_us, t->first_audio_out_us);
    /* Messages of data channels are on the heap. */
    const bool has_channels = session_stats(s).channels.opened > 0;
    const bool is_steady = !has_channels && t->ended_us == 0 && t->first_audio_in_us > 0 &&
                           t->first_audio_out_us > 0 && now_us > spoken_us + SIM_HEAP_STEADY_US;
    h->by = is_steady ? what : h->by;
}

void sim_heap_excuse(struct sim_heap *h)
{
    h->by = NULL;
}

void sim_heap_excuse_words(struct sim_heap *h, uint64_t now_us)
{
    if (time_since(h->spoken_us, now_us) >= PLAYOUT_QUEUE_REST_US - TAIL_US) {
        sim_heap_excuse(h);
    }
}

void sim_heap_report(struct sim_heap *h, struct sim_journal *journal, uint64_t now_us)
{
    if (h->by != NULL) {
        sim_journal_fault(journal, now_us, "no allocation on the packet path: %s", h->by);
        h->by = NULL;
    }
}
