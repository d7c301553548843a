/* event_mail.c - see event_mail.h */
#include "services/transceiver/port/event_mail.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ALIGN_BYTES 16
/* A message never wraps: an entry of this kind skips what is left at the end of the ring. */
#define KIND_SKIP UINT32_MAX

/* Before each message. */
struct entry {
    uint32_t kind;
    uint32_t len;
    uint32_t bytes; /* of the ring that it takes, with this */
    uint32_t unused;
};

_Static_assert(sizeof(struct entry) == ALIGN_BYTES, "an entry is aligned behind each other one");

struct event_mail {
    uint8_t *ring;
    size_t bytes;
    int fd;
    /* Bytes since the beginning; written by the shard and by the control thread, in this order. */
    _Atomic size_t put;
    _Atomic size_t taken;
    /* The shard's own. */
    size_t reserved;  /* where the message that is being written begins */
    bool has_knocked; /* since the last commit */
};

struct event_mail *event_mail_create(size_t bytes)
{
    assert(bytes >= ALIGN_BYTES && (bytes & (bytes - 1)) == 0 && bytes <= UINT32_MAX);
    struct event_mail *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return NULL;
    }
    m->bytes = bytes;
    m->has_knocked = true;
    m->ring = malloc(bytes);
    m->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->ring == NULL || m->fd < 0) {
        event_mail_destroy(m);
        return NULL;
    }
    return m;
}

void event_mail_destroy(struct event_mail *m)
{
    if (m != NULL) {
        if (m->fd >= 0) {
            (void)close(m->fd);
        }
        free(m->ring);
        free(m);
    }
}

static size_t entry_bytes(size_t len)
{
    return (sizeof(struct entry) + len + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static void write_entry(struct event_mail *m, size_t at, uint32_t kind, size_t len, size_t bytes)
{
    const struct entry entry = {kind, (uint32_t)len, (uint32_t)bytes, 0};
    memcpy(m->ring + at % m->bytes, &entry, sizeof(entry));
}

/* --- the shard -------------------------------------------------------------------------------- */

uint8_t *event_mail_reserve(struct event_mail *m, size_t cap)
{
    const size_t put = atomic_load_explicit(&m->put, memory_order_relaxed);
    const size_t used = put - atomic_load_explicit(&m->taken, memory_order_acquire);
    const size_t to_end = m->bytes - put % m->bytes;
    if (cap >= m->bytes) {
        return NULL;
    }
    const size_t skipped = to_end < entry_bytes(cap) ? to_end : 0;
    if (m->bytes - used < skipped + entry_bytes(cap)) {
        return NULL;
    }
    if (skipped > 0) {
        write_entry(m, put, KIND_SKIP, 0, skipped);
    }
    m->reserved = put + skipped;
    return m->ring + m->reserved % m->bytes + sizeof(struct entry);
}

void event_mail_commit(struct event_mail *m, enum event_mail_kind kind, size_t len)
{
    write_entry(m, m->reserved, (uint32_t)kind, len, entry_bytes(len));
    atomic_store_explicit(&m->put, m->reserved + entry_bytes(len), memory_order_release);
    m->has_knocked = false;
}

void event_mail_knock(struct event_mail *m)
{
    const uint64_t one = 1;
    if (!m->has_knocked && write(m->fd, &one, sizeof(one)) != (ssize_t)sizeof(one)) {
        abort(); /* it takes 2^64 knocks that nobody hears */
    }
    m->has_knocked = true;
}

/* --- the control thread ----------------------------------------------------------------------- */

int event_mail_fd(const struct event_mail *m)
{
    return m->fd;
}

void event_mail_hear(struct event_mail *m)
{
    uint64_t count = 0;
    (void)!read(m->fd, &count, sizeof(count)); /* nobody knocked: that is fine */
}

static struct entry entry_at(const struct event_mail *m, size_t at)
{
    struct entry entry;
    memcpy(&entry, m->ring + at % m->bytes, sizeof(entry));
    return entry;
}

/* Where the oldest message begins; false when there is none. */
static bool find_oldest(const struct event_mail *m, size_t *at)
{
    const size_t put = atomic_load_explicit(&m->put, memory_order_acquire);
    *at = atomic_load_explicit(&m->taken, memory_order_relaxed);
    if (*at != put && entry_at(m, *at).kind == KIND_SKIP) {
        *at += entry_at(m, *at).bytes;
    }
    return *at != put;
}

bool event_mail_peek(const struct event_mail *m, enum event_mail_kind *kind, struct bytes_view *out)
{
    size_t at = 0;
    if (!find_oldest(m, &at)) {
        return false;
    }
    const struct entry entry = entry_at(m, at);
    *kind = (enum event_mail_kind)entry.kind;
    *out = bytes_view_of(m->ring + at % m->bytes + sizeof(entry), entry.len);
    return true;
}

void event_mail_drop(struct event_mail *m)
{
    size_t at = 0;
    if (find_oldest(m, &at)) {
        atomic_store_explicit(&m->taken, at + entry_at(m, at).bytes, memory_order_release);
    }
}
