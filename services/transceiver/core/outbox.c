/* outbox.c - see outbox.h */
#include "services/transceiver/core/outbox.h"

#include <assert.h>
#include <stdlib.h>

#define SLOT_BYTES (OUTBOX_HEADROOM_BYTES + OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES)

/* Before each frame in the frame memory. */
struct frame_entry {
    uint32_t session_id;
    struct backend_frame frame; /* payload.data is set when it is read */
};

struct outbox {
    uint8_t *slots;
    struct outbox_datagram *datagrams;
    size_t datagram_cap;
    size_t datagram_count;
    uint8_t *frames;
    size_t frame_bytes_cap;
    size_t frame_bytes;
    size_t message_room; /* what is left of it, in units */
    uint64_t dropped;
};

struct outbox *outbox_create(size_t datagram_cap, size_t frame_bytes_cap)
{
    struct outbox *o = calloc(1, sizeof(*o));
    if (o == NULL) {
        return NULL;
    }
    o->datagram_cap = datagram_cap;
    o->frame_bytes_cap = frame_bytes_cap;
    o->message_room = SIZE_MAX;
    o->slots = malloc(datagram_cap * SLOT_BYTES);
    o->datagrams = calloc(datagram_cap, sizeof(*o->datagrams));
    o->frames = malloc(frame_bytes_cap);
    if (o->slots == NULL || o->datagrams == NULL || o->frames == NULL) {
        outbox_destroy(o);
        return NULL;
    }
    return o;
}

void outbox_destroy(struct outbox *o)
{
    if (o == NULL) {
        return;
    }
    free(o->slots);
    free(o->datagrams);
    free(o->frames);
    free(o);
}

uint8_t *outbox_reserve(struct outbox *o)
{
    if (o->datagram_count == o->datagram_cap) {
        o->dropped++;
        return NULL;
    }
    return o->slots + o->datagram_count * SLOT_BYTES + OUTBOX_HEADROOM_BYTES;
}

static struct outbox_datagram *append(struct outbox *o, uint32_t session_id,
                                      const struct net_path *path)
{
    assert(o->datagram_count < o->datagram_cap);
    struct outbox_datagram *d = &o->datagrams[o->datagram_count];
    *d = (struct outbox_datagram){
        .path = *path,
        .session_id = session_id,
        .data = o->slots + o->datagram_count * SLOT_BYTES + OUTBOX_HEADROOM_BYTES,
    };
    o->datagram_count++;
    return d;
}

void outbox_commit(struct outbox *o, size_t len, uint32_t session_id, const struct net_path *path)
{
    assert(len <= OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES);
    append(o, session_id, path)->len = len;
}

void outbox_announce(struct outbox *o, uint32_t session_id, const struct net_path *path)
{
    if (outbox_reserve(o) != NULL) {
        append(o, session_id, path)->is_announcement = true;
    }
}

static size_t units_of(size_t payload_bytes)
{
    return (BACKEND_FRAME_HEADER_BYTES + payload_bytes + OUTBOX_UNIT_BYTES - 1) / OUTBOX_UNIT_BYTES;
}

static bool is_message(uint8_t type)
{
    return type == BACKEND_EVENT || type == BACKEND_CHANNEL_DATA;
}

void outbox_add_frame(struct outbox *o, uint32_t session_id, const struct backend_frame *frame)
{
    const struct frame_entry entry = {.session_id = session_id, .frame = *frame};
    assert(frame->payload.len <= BACKEND_FRAME_PAYLOAD_MAX);
    if (o->frame_bytes_cap - o->frame_bytes < sizeof(entry) + frame->payload.len) {
        o->dropped++;
        return;
    }
    if (is_message(frame->type) && o->message_room != SIZE_MAX) {
        const size_t units = units_of(frame->payload.len);
        o->message_room -= units < o->message_room ? units : o->message_room;
    }
    memcpy(o->frames + o->frame_bytes, &entry, sizeof(entry));
    o->frame_bytes += sizeof(entry);
    if (frame->payload.len > 0) {
        memcpy(o->frames + o->frame_bytes, frame->payload.data, frame->payload.len);
        o->frame_bytes += frame->payload.len;
    }
}

/* The chunks of a message, and the header of a CHANNEL_DATA. */
#define CHUNK_BYTES 16384

bool outbox_has_message_room(const struct outbox *o, size_t bytes)
{
    const size_t chunks = bytes / CHUNK_BYTES;
    const size_t units = chunks * units_of(CHUNK_BYTES) + units_of(bytes % CHUNK_BYTES) + 1;
    const size_t memory = units * OUTBOX_UNIT_BYTES + (chunks + 2) * sizeof(struct frame_entry);
    return units <= o->message_room && memory <= o->frame_bytes_cap - o->frame_bytes;
}

void outbox_set_message_room(struct outbox *o, size_t units)
{
    o->message_room = units;
}

size_t outbox_datagram_count(const struct outbox *o)
{
    return o->datagram_count;
}

struct outbox_datagram *outbox_datagram_at(struct outbox *o, size_t index)
{
    assert(index < o->datagram_count);
    return &o->datagrams[index];
}

bool outbox_next_frame(const struct outbox *o, size_t *cursor, uint32_t *session_id,
                       struct backend_frame *out)
{
    if (*cursor >= o->frame_bytes) {
        return false;
    }
    struct frame_entry entry;
    memcpy(&entry, o->frames + *cursor, sizeof(entry));
    *cursor += sizeof(entry);
    *session_id = entry.session_id;
    *out = entry.frame;
    out->payload.data = o->frames + *cursor;
    *cursor += entry.frame.payload.len;
    return true;
}

size_t outbox_frame_bytes(const struct outbox *o)
{
    return o->frame_bytes;
}

void outbox_clear_frames(struct outbox *o)
{
    o->frame_bytes = 0;
}

void outbox_clear(struct outbox *o)
{
    o->datagram_count = 0;
    o->frame_bytes = 0;
}

uint64_t outbox_dropped(const struct outbox *o)
{
    return o->dropped;
}
