/*
 * sideband_feed.h - side-bands: applications that listen to a call's events, and send theirs
 *
 * Takes:   open, send and close of a side-band; whoever asked for what is known by its call id and
 *          tenant.
 * Gives:   for each side-band its news, in order: OPENED, then EVENTs, then at most one of the
 *          others, which is its last; its handle is over then.
 * Owns:    for each transceiver that has a side-band of ours, and as long as it has one, a SUB
 *          connection to its events and a REQ socket of its own: a long event never stands before
 *          an offer. A side-band is attached when that connection is up, renewed each 5 s, and
 *          detached by close.
 * Bounds:  SIDEBAND_FEED_MAX side-bands, SIDEBAND_FEED_LINKS_MAX transceivers; of each side-band
 *          SIDEBAND_FEED_BYTES_MAX that wait to be sent. What comes while one is being attached
 *          waits, at most as much: more is a gap.
 * Fails:   open gives 0 without room or for an instance that is not known; everything else is news.
 *          A message that was lost on the way is a GAP: the side-band is over, never the call.
 * Loop:    sideband_feed_readable for each HTTP_EVENT_READABLE with a tag of its own, then
 *          sideband_feed_next until false; sleep until sideband_feed_next_timeout.
 * Source:  docs/wire-formats.md, section 5.
 */
#ifndef EARSHOT_SIDEBAND_FEED_H
#define EARSHOT_SIDEBAND_FEED_H

#include "services/signaling/control_plane.h"
#include "services/signaling/sideband_listener.h"

#define SIDEBAND_FEED_MAX       1024
#define SIDEBAND_FEED_BYTES_MAX SIDEBAND_QUEUE_BYTES_MAX
/* A client's event, and one of the server's. */
#define SIDEBAND_EVENT_BYTES_MAX CONTROL_EVENT_BYTES_MAX

/* Transceivers with side-bands at a time; two watches of each. */
#define SIDEBAND_FEED_LINKS_MAX 256
#define SIDEBAND_FEED_WATCHES   ((size_t)2 * SIDEBAND_FEED_LINKS_MAX)
/* Their tags. */
#define SIDEBAND_FEED_TAG_BEGIN (CONTROL_PLANE_TAG_END + 64)
#define SIDEBAND_FEED_TAG_END   (SIDEBAND_FEED_TAG_BEGIN + SIDEBAND_FEED_WATCHES)

/* Written by the loop's thread, read by any. */
struct sideband_feed_counts {
    metric_value sidebands; /* now */
};

struct sideband_news {
    uint64_t handle;
    uint64_t owner; /* as given to open */
    enum sideband_news_kind kind;
    struct bytes_view text; /* until the next call */
};

struct sideband_feed;

/* Both are borrowed. patience_us: how long a request to a transceiver may take. */
struct sideband_feed *sideband_feed_create(struct http_server *loop, struct control_plane *plane,
                                           uint64_t patience_us);
/* At the end of the process, before the plane. */
void sideband_feed_destroy(struct sideband_feed *f);
const struct sideband_feed_counts *sideband_feed_counts(const struct sideband_feed *f);

/* call: whose id names that instance. A handle, never 0. */
uint64_t sideband_feed_open(struct sideband_feed *f, const struct control_call *call,
                            uint32_t instance_id, uint64_t owner, uint64_t now_us);
/* An event of the client, which is copied. False: too long, or too much waits (the client is faster
 * than the call). A handle that is over takes everything. */
MUST_USE bool sideband_feed_send(struct sideband_feed *f, uint64_t handle, struct bytes_view event,
                                 uint64_t now_us);
/* No news any more; what was sent before still goes, within 2 s. A handle that is over: nothing. */
void sideband_feed_close(struct sideband_feed *f, uint64_t handle, uint64_t now_us);

void sideband_feed_readable(struct sideband_feed *f, size_t tag, uint64_t now_us);
MUST_USE bool sideband_feed_next(struct sideband_feed *f, struct sideband_news *out,
                                 uint64_t now_us);
uint64_t sideband_feed_next_timeout(const struct sideband_feed *f);

#endif
