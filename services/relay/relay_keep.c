/* relay_keep.c - see relay_keep.h */
#include "services/relay/relay_keep.h"

#include "common/runtime/log.h"
#include "services/relay/core/flow_remains.h"
#include "services/relay/relay_socket.h"

#include <stdio.h>
#include <unistd.h>

#define FLOWS_NAME "flows"

void relay_keep_open(struct relay_keep *k, const struct relay_config *config)
{
    *k = (struct relay_keep){.config = config, .memory = FLOW_MEMORY_NONE};
    if (!fd_store_open(&k->store)) {
        log_warn("relay.supervisor_unreachable variable=NOTIFY_SOCKET "
                 "effect=\"a restart is a gap\"");
    }
}

void relay_keep_close(struct relay_keep *k)
{
    flow_memory_close(&k->memory);
    fd_store_close(&k->store);
}

/* A memfd of another label goes, or the store would hand out both at the next start. */
void relay_keep_open_flows(struct relay_keep *k, unsigned worker_count)
{
    struct fault fault = {0};
    if (!fd_store_is_there(&k->store)) {
        return;
    }
    const int fd = fd_store_take(&k->store, FLOWS_NAME);
    if (fd >= 0 && flow_memory_adopt(&k->memory, fd, k->config, worker_count)) {
        return;
    }
    if (fd >= 0) {
        fd_store_forget(&k->store, FLOWS_NAME);
        log_info("relay.flows_dropped reason=\"made by another version or configuration\"");
    }
    if (!flow_memory_make(&k->memory, k->config, worker_count, &fault)) {
        log_warn("relay.flows_not_kept error=\"%s\"", fault.text);
        return;
    }
    (void)fd_store_put(&k->store, FLOWS_NAME, k->memory.fd);
}

bool relay_keep_probe(struct relay_keep *k, struct net_addr *listen, struct fault *fault)
{
    for (size_t i = 0; i < k->store.kept_count; i++) {
        if (relay_socket_is_bound_to(k->store.kept[i].fd, listen)) {
            return true;
        }
    }
    return relay_socket_probe(listen, fault);
}

static int take_or_open(struct relay_keep *k, bool is_public, const char *name,
                        const struct net_addr *address, struct fault *fault)
{
    const size_t buffer_bytes = k->config->socket_buffer_bytes;
    const int kept = fd_store_take(&k->store, name);
    if (kept >= 0 && (is_public ? relay_socket_adopt_public(kept, address, buffer_bytes)
                                : relay_socket_adopt_internal(kept, address, buffer_bytes))) {
        k->sockets_kept++;
        return kept;
    }
    if (kept >= 0) {
        fd_store_discard(&k->store, name, kept);
    }
    const int fd = is_public ? relay_socket_open_public(address, buffer_bytes, fault)
                             : relay_socket_open_internal(address, buffer_bytes, fault);
    if (fd >= 0) {
        (void)fd_store_put(&k->store, name, fd);
    }
    return fd;
}

int relay_keep_public(struct relay_keep *k, unsigned worker, unsigned listen_index,
                      struct fault *fault)
{
    char name[FD_STORE_NAME_CAP];
    if (listen_index == 0) {
        (void)snprintf(name, sizeof(name), "public.%u", worker);
    } else {
        (void)snprintf(name, sizeof(name), "public.%u.%u", worker, listen_index);
    }
    return take_or_open(k, true, name, &k->config->forwarder.listen[listen_index], fault);
}

int relay_keep_internal(struct relay_keep *k, unsigned port_index, struct fault *fault)
{
    struct net_addr address = k->config->forwarder.internal;
    address.port = (uint16_t)(address.port + port_index);
    char name[FD_STORE_NAME_CAP];
    (void)snprintf(name, sizeof(name), "internal.%u", address.port);
    return take_or_open(k, false, name, &address, fault);
}

void relay_keep_recall(const struct relay_keep *k, struct forwarder *f, uint64_t now_us)
{
    if (k->memory.is_used) {
        forwarder_recall(f, flow_memory_notes(&k->memory), now_us);
    }
}

bool relay_keep_has_memory(const struct relay_keep *k)
{
    return k->memory.bytes != NULL;
}

void relay_keep_settle(const struct relay_keep *k, unsigned worker, struct forwarder *f,
                       uint64_t now_us)
{
    if (!relay_keep_has_memory(k)) {
        return;
    }
    struct flow_remains *remains =
        flow_memory_collect(&k->memory, worker, &k->config->forwarder, now_us);
    const size_t flows = forwarder_settle(f, flow_memory_lines(&k->memory, worker), remains);
    flow_remains_destroy(remains);
    log_info("relay.flows_kept worker=%u flows=%zu", worker, flows);
}

void relay_keep_opened(struct relay_keep *k)
{
    const size_t forgotten = fd_store_forget_rest(&k->store);
    if (fd_store_is_there(&k->store) || k->store.is_lost) {
        log_info("relay.kept sockets=%zu forgotten=%zu", k->sockets_kept, forgotten);
    }
    if (k->store.is_lost) {
        log_warn(
            "relay.supervisor_deaf patience_ms=%d effect=\"it keeps what is old, and not what is "
            "new: a restart is a gap\" remedy=\"look why it does not read\"",
            FD_STORE_PATIENCE_MS);
    }
}

void relay_keep_ready(struct relay_keep *k)
{
    fd_store_say_ready(&k->store);
}
