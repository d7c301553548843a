/* flow_memory.c - see flow_memory.h */
#include "services/relay/flow_memory.h"

#include "services/relay/core/flow_remains.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Compared as bytes: no padding. */
struct label {
    char magic[8];
    uint32_t flow_layout;
    uint32_t flow_bytes;
    uint32_t note_layout;
    uint32_t note_bytes;
    uint64_t flow_cap;
    uint32_t worker_count;
    uint16_t cluster_id;
    uint16_t allow_private_clients;
    struct net_addr internal;
    struct net_addr listen[FORWARDER_LISTEN_MAX];
};

static_assert(sizeof(struct label) == 40 + (1 + FORWARDER_LISTEN_MAX) * sizeof(struct net_addr),
              "a label is compared as bytes");

/* Each part begins on a line, so that the lines of flow tables do. */
#define PART_BYTES(type) ((sizeof(type) + sizeof(struct flow) - 1) / sizeof(struct flow) * 64)
#define NOTES_AT         PART_BYTES(struct label)
#define LINES_AT         (NOTES_AT + PART_BYTES(struct route_notes))

static struct label label_of(const struct relay_config *config, unsigned worker_count)
{
    const struct forwarder_config *f = &config->forwarder;
    struct label label = {
        .magic = "earshot",
        .flow_layout = FLOW_LAYOUT,
        .flow_bytes = sizeof(struct flow),
        .note_layout = ROUTE_NOTES_LAYOUT,
        .note_bytes = sizeof(struct route_note),
        .flow_cap = f->flow_cap,
        .worker_count = worker_count,
        .cluster_id = f->cluster_id,
        .allow_private_clients = f->allow_private_clients,
        .internal = f->internal,
    };
    memcpy(label.listen, f->listen, f->listen_count * sizeof(f->listen[0]));
    return label;
}

static bool map(struct flow_memory *m)
{
    void *bytes = mmap(NULL, m->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    if (bytes == MAP_FAILED) {
        return false;
    }
    m->bytes = bytes;
    return true;
}

static struct flow_memory sized(int fd, const struct relay_config *config, unsigned worker_count)
{
    const size_t lines_bytes = flow_table_bytes(config->forwarder.flow_cap);
    return (struct flow_memory){
        .fd = fd, .size_bytes = LINES_AT + worker_count * lines_bytes, .lines_bytes = lines_bytes};
}

bool flow_memory_make(struct flow_memory *m, const struct relay_config *config,
                      unsigned worker_count, struct fault *fault)
{
    *m =
        sized(memfd_create("earshot-flows", MFD_CLOEXEC | MFD_ALLOW_SEALING), config, worker_count);
    if (m->fd < 0 || ftruncate(m->fd, (off_t)m->size_bytes) != 0 ||
        fcntl(m->fd, F_ADD_SEALS, SEALS) != 0 || !map(m)) {
        (void)fault_set(fault, FAULT_SYSTEM, "memory for flows: %s", strerror(errno));
        flow_memory_close(m);
        return false;
    }
    const struct label label = label_of(config, worker_count);
    memcpy(m->bytes, &label, sizeof(label));
    return true;
}

bool flow_memory_adopt(struct flow_memory *m, int fd, const struct relay_config *config,
                       unsigned worker_count)
{
    *m = sized(fd, config, worker_count);
    struct stat status;
    const int seals = fcntl(fd, F_GET_SEALS);
    const struct label label = label_of(config, worker_count);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &status) != 0 ||
        status.st_size != (off_t)m->size_bytes || !map(m) ||
        memcmp(m->bytes, &label, sizeof(label)) != 0) {
        flow_memory_close(m);
        return false;
    }
    m->is_used = true;
    return true;
}

void flow_memory_close(struct flow_memory *m)
{
    if (m->bytes != NULL) {
        const int unmapped = munmap(m->bytes, m->size_bytes);
        assert(unmapped == 0);
    }
    if (m->fd >= 0) {
        (void)close(m->fd);
    }
    *m = FLOW_MEMORY_NONE;
}

void *flow_memory_lines(const struct flow_memory *m, unsigned worker)
{
    return m->bytes == NULL ? NULL : m->bytes + LINES_AT + worker * m->lines_bytes;
}

/* Steps to the next bytes below the end that are no hole: all, where the kernel can not tell. */
static bool next_data(const struct flow_memory *m, struct bytes_span *span, off_t end)
{
    const off_t from = (span->data - m->bytes) + (off_t)span->len;
    const off_t data = lseek(m->fd, from, SEEK_DATA);
    if (from >= end || data >= end || (data < 0 && errno == ENXIO)) {
        return false;
    }
    const off_t begin = data < 0 ? from : data;
    const off_t hole = data < 0 ? end : lseek(m->fd, begin, SEEK_HOLE);
    const size_t len = (size_t)((hole < 0 || hole > end ? end : hole) - begin);
    *span = (struct bytes_span){m->bytes + begin, len, len};
    return true;
}

struct flow_remains *flow_memory_collect(const struct flow_memory *m, unsigned worker,
                                         const struct forwarder_config *config, uint64_t now_us)
{
    if (!m->is_used) {
        return NULL;
    }
    uint8_t *lines = flow_memory_lines(m, worker);
    const off_t end = (lines - m->bytes) + (off_t)m->lines_bytes;
    struct flow_remains *remains =
        flow_remains_create(config->flow_cap, config->listen_count, now_us);
    struct bytes_span span = {.data = lines};
    while (next_data(m, &span, end)) {
        assert(span.data != NULL);
        if (remains != NULL) {
            flow_remains_collect(remains, span);
        } else {
            memset(span.data, 0, span.len);
        }
    }
    if (remains != NULL) {
        flow_remains_sort(remains);
    }
    return remains;
}

struct route_notes *flow_memory_notes(const struct flow_memory *m)
{
    return m->bytes == NULL ? NULL : (struct route_notes *)(void *)(m->bytes + NOTES_AT);
}
