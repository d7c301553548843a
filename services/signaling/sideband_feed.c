/* sideband_feed.c - see sideband_feed.h */
#include "services/signaling/sideband_feed.h"

#include <stdlib.h>

struct sideband_feed {
    struct http_server *loop;
    struct control_plane *plane;
    uint64_t patience_us;
};

struct sideband_feed *sideband_feed_create(struct http_server *loop, struct control_plane *plane,
                                           uint64_t patience_us)
{
    struct sideband_feed *f = calloc(1, sizeof(*f));
    if (f != NULL) {
        *f = (struct sideband_feed){.loop = loop, .plane = plane, .patience_us = patience_us};
    }
    return f;
}

void sideband_feed_destroy(struct sideband_feed *f)
{
    free(f);
}

uint64_t sideband_feed_open(struct sideband_feed *f, const struct control_call *call,
                            uint32_t instance_id, uint64_t owner, uint64_t now_us)
{
    (void)f;
    (void)call;
    (void)instance_id;
    (void)owner;
    (void)now_us;
    return 0;
}

bool sideband_feed_send(struct sideband_feed *f, uint64_t handle, struct bytes_view event,
                        uint64_t now_us)
{
    (void)f;
    (void)handle;
    (void)now_us;
    return event.len <= SIDEBAND_EVENT_BYTES_MAX;
}

void sideband_feed_close(struct sideband_feed *f, uint64_t handle, uint64_t now_us)
{
    (void)f;
    (void)handle;
    (void)now_us;
}

void sideband_feed_readable(struct sideband_feed *f, size_t tag, uint64_t now_us)
{
    (void)f;
    (void)tag;
    (void)now_us;
}

bool sideband_feed_next(struct sideband_feed *f, struct sideband_news *out, uint64_t now_us)
{
    (void)f;
    (void)out;
    (void)now_us;
    return false;
}

uint64_t sideband_feed_next_timeout(const struct sideband_feed *f)
{
    (void)f;
    return TIME_NEVER;
}
