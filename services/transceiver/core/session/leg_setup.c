/* leg_setup.c - see leg_setup.h */
#include "services/transceiver/core/session/leg_setup.h"

/* A record in a datagram of DTLS_MTU_BYTES: its header, the explicit nonce, the tag. */
#define RECORD_OVERHEAD_BYTES 37

void leg_setup_generation(const struct client_leg_config *config, struct client_leg_ice *out)
{
    const struct sdp_offer *offer = config->offer;
    *out = (struct client_leg_ice){0};
    memcpy(out->ufrag, config->ice_ufrag, ROUTING_TOKEN_CHARS);
    memcpy(out->pwd, config->ice_pwd, CLIENT_LEG_PWD_CHARS);
    memcpy(out->client_ufrag, offer->ice_ufrag, sizeof(out->client_ufrag));
    memcpy(out->client_pwd, offer->ice_pwd, sizeof(out->client_pwd));
}

struct ice_credentials leg_setup_credentials(const struct client_leg_ice *generation)
{
    return (struct ice_credentials){
        .local_ufrag = generation->ufrag,
        .local_pwd = generation->pwd,
        .remote_ufrag = generation->client_ufrag,
    };
}

enum dtls_role leg_setup_role(const struct client_leg_config *config)
{
    return config->offer->setup == SDP_SETUP_ACTIVE ? DTLS_ROLE_PASSIVE : DTLS_ROLE_ACTIVE;
}

struct dtls_transport *leg_setup_dtls(const struct client_leg_config *config)
{
    static const enum dtls_hash hash[] = {
        [SDP_SHA256] = DTLS_HASH_SHA256,
        [SDP_SHA384] = DTLS_HASH_SHA384,
        [SDP_SHA512] = DTLS_HASH_SHA512,
    };
    const struct sdp_offer *offer = config->offer;
    struct dtls_transport_config dtls = {
        .identity = config->identity,
        .role = leg_setup_role(config),
        .fingerprint_count = offer->fingerprint_count,
        .mtu_bytes = DTLS_MTU_BYTES,
    };
    for (size_t i = 0; i < offer->fingerprint_count; i++) {
        dtls.fingerprint[i].hash = hash[offer->fingerprint[i].hash];
        memcpy(dtls.fingerprint[i].digest, offer->fingerprint[i].digest,
               sizeof(dtls.fingerprint[i].digest));
    }
    return dtls_transport_create(&dtls);
}

struct data_channels *leg_setup_data(const struct client_leg_config *config, bool *out_failed,
                                     uint64_t now_us)
{
    *out_failed = false;
    if (!config->offer->has_data) {
        return NULL;
    }
    const uint64_t message_bytes = config->offer->max_message_bytes;
    const struct data_channels_config data = {
        .event_label = config->event_label,
        .has_event_stream = config->has_event_stream,
        .event_stream = config->event_stream,
        .peer_message_bytes_max = message_bytes < UINT32_MAX ? (uint32_t)message_bytes : UINT32_MAX,
        .packet_bytes_max = DTLS_MTU_BYTES - RECORD_OVERHEAD_BYTES,
        .random = config->random,
    };
    struct data_channels *d = data_channels_create(&data, now_us);
    *out_failed = d == NULL;
    return d;
}
