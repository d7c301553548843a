/*
 * relay_kit_adapter.c - earshot-relay for a kit of relay benchmarks that brings its own load
 *
 *   NAME start PUBLIC MEDIA   starts it, returns when it forwards, and prints who it is and how the
 *                             kit's transceiver signs
 *   NAME flows COUNT          prints the USERNAME of each client's first Binding request
 *   NAME stop                 nothing: the kit ends what `start` names
 *
 * What it is called by says how the relay runs: relay, relay-singly, relay-gather, relay-poll.
 * From the environment: RB_DIR its folder, RB_INTERNAL the relay's inner address, RB_FLOWS.
 */
#include "common/crypto/hkdf.h"
#include "common/crypto/siphash.h"
#include "common/routing/routing_token.h"
#include "tests/bench/relay_process.h"

#include <stdio.h>
#include <stdlib.h>

#define ADMIN_PORT 7801
#define GATHER_US  100
#define HEX_CAP    (2 * SIPHASH_KEY_BYTES + 1)

static const struct {
    const char *name;
    const char *transceiver; /* as the kit calls it */
    bool has_no_trains;
    bool is_polling;
    unsigned gather_us;
} mode[] = {{"relay", "shim-gro", false, false, 0},
            {"relay-singly", "shim", true, false, 0},
            {"relay-gather", "shim-gro", false, false, GATHER_US},
            {"relay-poll", "shim-gro", false, true, 0}};

static int give_up(const char *why)
{
    fprintf(stderr, "relay_kit_adapter: %s\n", why);
    return 1;
}

static const char *from_environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

/* The kit's transceiver signs with the ring's derived key, in hex. */
static void print_transceiver(const char *kind)
{
    uint8_t key[SIPHASH_KEY_BYTES];
    char hex[HEX_CAP];
    hkdf_sha256(bytes_view_of(relay_process_secret, sizeof(relay_process_secret)),
                (struct bytes_view){0}, bytes_view_of_text("earshot shim v1"), key, sizeof(key));
    const bool is_hex = bytes_to_hex(bytes_view_of(key, sizeof(key)), hex, sizeof(hex));
    assert(is_hex);
    printf("echo %s:%s\n", kind, hex);
}

static int start(size_t which, const char *listen, const char *media)
{
    struct fault fault = {0};
    struct relay_process_config c = {.admin_port = ADMIN_PORT,
                                     .flows = strtoul(from_environment("RB_FLOWS"), NULL, 10),
                                     .cpu = 0,
                                     .may_outlive_us = true,
                                     .has_no_trains = mode[which].has_no_trains,
                                     .is_polling = mode[which].is_polling,
                                     .gather_us = mode[which].gather_us};
    (void)snprintf(c.folder, sizeof(c.folder), "%s", from_environment("RB_DIR"));
    (void)snprintf(c.listen, sizeof(c.listen), "%s", listen);
    (void)snprintf(c.media, sizeof(c.media), "%s", media);
    (void)snprintf(c.internal, sizeof(c.internal), "%s", from_environment("RB_INTERNAL"));
    const pid_t pid = relay_process_start(&c, &fault);
    if (pid < 0) {
        return give_up(fault.text);
    }
    if (!relay_process_announce(&c, pid, &fault)) {
        relay_process_stop(pid);
        return give_up(fault.text);
    }
    printf("relay_pid %d\n", (int)pid);
    print_transceiver(mode[which].transceiver);
    return 0;
}

/* Each client has a session of its own. */
static int print_flows(size_t count)
{
    struct key_ring *ring = key_ring_from_secret(RELAY_PROCESS_KEY_ID, relay_process_secret);
    if (ring == NULL) {
        return give_up("out of memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct routing_token token = {.cluster_id = RELAY_PROCESS_CLUSTER,
                                            .instance_id = RELAY_PROCESS_INSTANCE,
                                            .session_id = SESSION_ID_FIRST(0) + i};
        char text[ROUTING_TOKEN_CHARS];
        routing_token_seal(ring, &token, text);
        printf("%.*s:peer\n", ROUTING_TOKEN_CHARS, text);
    }
    key_ring_destroy(ring);
    return 0;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : argv[0];
    size_t which = 0;
    while (which < COUNT_OF(mode) && strcmp(mode[which].name, name) != 0) {
        which++;
    }
    if (which == COUNT_OF(mode)) {
        return give_up("call it by the name of a mode");
    }
    if (argc == 4 && strcmp(argv[1], "start") == 0) {
        return start(which, argv[2], argv[3]);
    }
    if (argc == 3 && strcmp(argv[1], "flows") == 0) {
        return print_flows(strtoul(argv[2], NULL, 10));
    }
    return argc == 2 && strcmp(argv[1], "stop") == 0 ? 0 : give_up("usage: start, flows or stop");
}
