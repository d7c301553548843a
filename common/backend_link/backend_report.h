/*
 * backend_report.h - what a transceiver tells of a running call, as plain structs
 *
 * FLUSHED and PLAYBACK (speech toward the client), SPEECH and DTMF (what was heard), NET_STATS (the
 * network), CONNECTED. Bounds and failures as in backend_payload.h.
 */
#ifndef EARSHOT_BACKEND_REPORT_H
#define EARSHOT_BACKEND_REPORT_H

#include "common/base/bytes.h"

struct backend_connected {
    bool is_tcp;
    uint64_t setup_us; /* written in whole milliseconds */
};

struct backend_flushed {
    uint32_t utterance;
    uint64_t sent_us;
    uint64_t heard_us;
    uint64_t dropped_us;
};

struct backend_playback {
    uint32_t utterance;
    const char *state;  /* started, progress, underrun, paused, resumed, done; decode: or "" */
    const char *reason; /* of done; NULL else, and not read by decode */
    uint64_t sent_us;
    uint64_t heard_us;
    uint64_t queued_us;
};

/* time_us of its frame is the onset or the end. */
struct backend_speech {
    bool is_started; /* else stopped */
    int level_dbov;  /* -127..0 */
};

struct backend_dtmf {
    char digit; /* 0..9 * # A..D */
    uint32_t duration_ms;
};

/* Of the last second, but for jitter, rtt and drift, which are as of now. */
struct backend_net_stats {
    uint32_t loss_per_mille; /* of the client's packets; written as a share, 0..1 */
    uint32_t jitter_us;      /* written in milliseconds */
    uint32_t rtt_us;         /* likewise; 0 = not known */
    uint32_t concealed_ms;   /* of speech toward the backend, how much was not received as such */
    uint32_t fec_ms;
    uint32_t red_ms;
    uint32_t late; /* packets that came when their slot was given up */
    int level_dbov;
    int drift_ppm; /* of the client's clock against ours */
};

MUST_USE bool backend_connected_decode(struct bytes_view payload, struct backend_connected *out);
MUST_USE bool backend_flushed_decode(struct bytes_view payload, struct backend_flushed *out);
MUST_USE bool backend_playback_decode(struct bytes_view payload, struct backend_playback *out);
MUST_USE bool backend_speech_decode(struct bytes_view payload, struct backend_speech *out);
MUST_USE bool backend_dtmf_decode(struct bytes_view payload, struct backend_dtmf *out);
MUST_USE bool backend_net_stats_decode(struct bytes_view payload, struct backend_net_stats *out);

size_t backend_connected_encode(const struct backend_connected *in, char *text, size_t cap);
size_t backend_flushed_encode(const struct backend_flushed *in, char *text, size_t cap);
size_t backend_playback_encode(const struct backend_playback *in, char *text, size_t cap);
size_t backend_speech_encode(const struct backend_speech *in, char *text, size_t cap);
size_t backend_dtmf_encode(const struct backend_dtmf *in, char *text, size_t cap);
size_t backend_net_stats_encode(const struct backend_net_stats *in, char *text, size_t cap);

#endif
