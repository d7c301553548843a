/* forward_reason.c - see forward_reason.h */
#include "services/relay/core/forward_reason.h"

static const struct {
    const char *name;
    bool is_down;
    bool is_drop;
} reason_fact[FORWARD_REASON_COUNT] = {
    [FORWARD_UP_TOKEN] = {"token", false, false},
    [FORWARD_UP_TOKEN_NO_ROOM] = {"token_no_room", false, false},
    [FORWARD_UP_FLOW] = {"flow", false, false},
    [FORWARD_UP_LENGTH] = {"length", false, true},
    [FORWARD_UP_KIND] = {"kind", false, true},
    [FORWARD_UP_STUN] = {"stun", false, true},
    [FORWARD_UP_USERNAME] = {"username", false, true},
    [FORWARD_UP_TOKEN_FORM] = {"token_form", false, true},
    [FORWARD_UP_TOKEN_KEY] = {"token_key", false, true},
    [FORWARD_UP_TOKEN_FORGED] = {"token_forged", false, true},
    [FORWARD_UP_TOKEN_CLUSTER] = {"token_cluster", false, true},
    [FORWARD_UP_TOKEN_INSTANCE] = {"token_instance", false, true},
    [FORWARD_UP_TOKEN_RATE] = {"token_rate", false, true},
    [FORWARD_UP_SESSION_RATE] = {"session_rate", false, true},
    [FORWARD_UP_SOURCE_RATE] = {"source_rate", false, true},
    [FORWARD_UP_NO_FLOW] = {"no_flow", false, true},
    [FORWARD_UP_UNPROVEN_RATE] = {"unproven_rate", false, true},
    [FORWARD_UP_FLOW_INSTANCE] = {"flow_instance", false, true},
    [FORWARD_UP_UNSENT] = {"unsent", false, true},
    [FORWARD_DOWN_SHIM] = {"shim", true, false},
    [FORWARD_DOWN_ANNOUNCEMENT] = {"announcement", true, false},
    [FORWARD_DOWN_SOURCE] = {"source", true, true},
    [FORWARD_DOWN_SHORT] = {"short", true, true},
    [FORWARD_DOWN_VERSION] = {"version", true, true},
    [FORWARD_DOWN_KEY] = {"key", true, true},
    [FORWARD_DOWN_TAG] = {"tag", true, true},
    [FORWARD_DOWN_FLAGS] = {"flags", true, true},
    [FORWARD_DOWN_LENGTH] = {"length", true, true},
    [FORWARD_DOWN_FORBIDDEN] = {"forbidden", true, true},
    [FORWARD_DOWN_NO_SOCKET] = {"no_socket", true, true},
    [FORWARD_DOWN_UNSENT] = {"unsent", true, true},
    [FORWARD_DOWN_NO_CLIENT] = {"no_client", true, true},
};

const char *forward_reason_name(enum forward_reason reason)
{
    return reason_fact[reason].name;
}

bool forward_reason_is_down(enum forward_reason reason)
{
    return reason_fact[reason].is_down;
}

bool forward_reason_is_drop(enum forward_reason reason)
{
    return reason_fact[reason].is_drop;
}

const char *forward_cache_result_name(enum forward_cache_result result)
{
    static const char *const name[FORWARD_CACHE_RESULT_COUNT] = {
        [FORWARD_CACHE_TAKEN] = "taken",       [FORWARD_CACHE_HAS_FLOW] = "has_flow",
        [FORWARD_CACHE_CLUSTER] = "cluster",   [FORWARD_CACHE_INSTANCE] = "instance",
        [FORWARD_CACHE_NEXT_HOP] = "next_hop", [FORWARD_CACHE_NO_ROOM] = "no_room",
    };
    return name[result];
}
