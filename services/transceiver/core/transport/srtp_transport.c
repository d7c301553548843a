/* srtp_transport.c - see srtp_transport.h */
#include "services/transceiver/core/transport/srtp_transport.h"

#include "services/transceiver/core/transport/srtp_evp.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <srtp2/srtp.h>
#include <stdlib.h>

#define REPLAY_WINDOW_PACKETS 256
#define PACKET_BYTES_MAX      65535

#define RTP_HEADER_BYTES  12
#define RTCP_HEADER_BYTES 8
#define SRTCP_INDEX_BYTES 4

/* One SSRC that authenticated. */
struct inbound_ssrc {
    uint32_t ssrc;
    uint64_t last_us;
    bool has_rtp;
    uint16_t highest_sequence_number;
    bool has_rtcp;
    uint32_t highest_srtcp_index;
};

struct srtp_transport {
    srtp_t send;
    srtp_t receive;
    size_t tag_bytes;
    bool tag_is_last; /* SRTCP: RFC 3711 has the index before the tag, RFC 7714 behind it */
    struct inbound_ssrc inbound[SRTP_TRANSPORT_SSRC_MAX];
    size_t inbound_count;
    uint32_t retired[SRTP_TRANSPORT_RETIRED_MAX];
    size_t retired_count;
};

bool srtp_transport_init(struct fault *fault)
{
    const srtp_err_status_t status = srtp_init();
    if (status != srtp_err_status_ok) {
        return fault_set(fault, FAULT_LIBRARY, "libsrtp: start: status %d", (int)status);
    }
    return srtp_evp_register(fault);
}

/* A context for one direction. */
static srtp_t create_context(enum srtp_profile profile, const struct srtp_master_key *master,
                             srtp_ssrc_t ssrc)
{
    uint8_t key[SRTP_KEYS_KEY_BYTES + SRTP_KEYS_SALT_BYTES_MAX];
    srtp_policy_t policy = {.ssrc = ssrc, .window_size = REPLAY_WINDOW_PACKETS, .key = key};
    srtp_t context = NULL;
    if (profile == SRTP_PROFILE_AEAD_AES_128_GCM) {
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp);
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp);
    } else {
        srtp_crypto_policy_set_rtp_default(&policy.rtp); /* AES128_CM_SHA1_80 */
        srtp_crypto_policy_set_rtcp_default(&policy.rtcp);
    }
    memcpy(key, master->key, sizeof(master->key));
    memcpy(key + sizeof(master->key), master->salt, sizeof(master->salt));
    const srtp_err_status_t status = srtp_create(&context, &policy);
    OPENSSL_cleanse(key, sizeof(key));
    return status == srtp_err_status_ok ? context : NULL;
}

struct srtp_transport *srtp_transport_create(const struct srtp_keys *keys, uint32_t send_ssrc)
{
    assert(keys->profile != SRTP_PROFILE_NONE);
    struct srtp_transport *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    const bool is_gcm = keys->profile == SRTP_PROFILE_AEAD_AES_128_GCM;
    t->tag_bytes = is_gcm ? 16 : 10;
    t->tag_is_last = !is_gcm;
    t->send = create_context(keys->profile, &keys->send,
                             (srtp_ssrc_t){.type = ssrc_specific, .value = send_ssrc});
    t->receive =
        create_context(keys->profile, &keys->receive, (srtp_ssrc_t){.type = ssrc_any_inbound});
    if (t->send == NULL || t->receive == NULL) {
        srtp_transport_destroy(t);
        return NULL;
    }
    return t;
}

void srtp_transport_destroy(struct srtp_transport *t)
{
    if (t == NULL) {
        return;
    }
    if (t->send != NULL) {
        (void)srtp_dealloc(t->send);
    }
    if (t->receive != NULL) {
        (void)srtp_dealloc(t->receive);
    }
    free(t);
}

static enum srtp_transport_result result_of(srtp_err_status_t status)
{
    switch (status) {
    case srtp_err_status_ok:
        return SRTP_TRANSPORT_OK;
    case srtp_err_status_auth_fail:
        return SRTP_TRANSPORT_AUTH;
    case srtp_err_status_replay_fail:
    case srtp_err_status_replay_old:
    case srtp_err_status_pkt_idx_old:
        return SRTP_TRANSPORT_REPLAY;
    case srtp_err_status_bad_param:
    case srtp_err_status_parse_err:
        return SRTP_TRANSPORT_MALFORMED;
    default:
        return SRTP_TRANSPORT_FAILED;
    }
}

/* The header of RFC 3550 s.5.1, with its CSRCs and extension, lies inside the packet. `trailer` is
 * what stands behind the payload. */
static enum srtp_transport_result check_rtp(const struct bytes_span *packet, size_t trailer)
{
    if (packet->len < RTP_HEADER_BYTES + trailer) {
        return SRTP_TRANSPORT_SHORT;
    }
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(packet->data, packet->len - trailer));
    const uint8_t first = byte_reader_u8(&r);
    byte_reader_skip(&r, RTP_HEADER_BYTES - 1 + 4 * (size_t)(first & 0x0f));
    if ((first & 0x10) != 0) {
        byte_reader_skip(&r, 2);
        byte_reader_skip(&r, 4 * (size_t)byte_reader_u16(&r));
    }
    const bool is_version_2 = first >> 6 == 2;
    return is_version_2 && !r.failed && packet->len <= PACKET_BYTES_MAX ? SRTP_TRANSPORT_OK
                                                                        : SRTP_TRANSPORT_MALFORMED;
}

static enum srtp_transport_result check_rtcp(const struct bytes_span *packet, size_t trailer)
{
    if (packet->len < RTCP_HEADER_BYTES + trailer) {
        return SRTP_TRANSPORT_SHORT;
    }
    const bool is_version_2 = packet->data[0] >> 6 == 2;
    return is_version_2 && packet->len <= PACKET_BYTES_MAX ? SRTP_TRANSPORT_OK
                                                           : SRTP_TRANSPORT_MALFORMED;
}

enum srtp_transport_result srtp_transport_protect_rtp(struct srtp_transport *t,
                                                      struct bytes_span *packet)
{
    const enum srtp_transport_result checked = check_rtp(packet, 0);
    if (checked != SRTP_TRANSPORT_OK) {
        return checked;
    }
    if (packet->cap - packet->len < t->tag_bytes) {
        return SRTP_TRANSPORT_NO_ROOM;
    }
    int len = (int)packet->len;
    const srtp_err_status_t status = srtp_protect(t->send, packet->data, &len);
    if (status == srtp_err_status_ok) {
        packet->len = (size_t)len;
    }
    return result_of(status);
}

enum srtp_transport_result srtp_transport_protect_rtcp(struct srtp_transport *t,
                                                       struct bytes_span *packet)
{
    const enum srtp_transport_result checked = check_rtcp(packet, 0);
    if (checked != SRTP_TRANSPORT_OK) {
        return checked;
    }
    if (packet->cap - packet->len < t->tag_bytes + SRTCP_INDEX_BYTES) {
        return SRTP_TRANSPORT_NO_ROOM;
    }
    int len = (int)packet->len;
    const srtp_err_status_t status = srtp_protect_rtcp(t->send, packet->data, &len);
    if (status == srtp_err_status_ok) {
        packet->len = (size_t)len;
    }
    return result_of(status);
}

static struct inbound_ssrc *find_inbound(struct srtp_transport *t, uint32_t ssrc)
{
    for (size_t i = 0; i < t->inbound_count; i++) {
        if (t->inbound[i].ssrc == ssrc) {
            return &t->inbound[i];
        }
    }
    return NULL;
}

static bool is_retired(const struct srtp_transport *t, uint32_t ssrc)
{
    for (size_t i = 0; i < t->retired_count; i++) {
        if (t->retired[i] == ssrc) {
            return true;
        }
    }
    return false;
}

/* The inbound SSRC that gives way to a new one, NULL when none may. */
static struct inbound_ssrc *find_silent(struct srtp_transport *t, uint64_t now_us)
{
    struct inbound_ssrc *silent = &t->inbound[0];
    for (size_t i = 1; i < t->inbound_count; i++) {
        if (t->inbound[i].last_us < silent->last_us) {
            silent = &t->inbound[i];
        }
    }
    const bool may_retire = time_since(silent->last_us, now_us) >= SRTP_TRANSPORT_SILENCE_US &&
                            t->retired_count < SRTP_TRANSPORT_RETIRED_MAX;
    return may_retire ? silent : NULL;
}

/* Whether libsrtp may see a packet of this SSRC: it makes a stream for each one that authenticates,
 * without a limit of its own. */
static bool may_admit(struct srtp_transport *t, uint32_t ssrc, uint64_t now_us)
{
    if (find_inbound(t, ssrc) != NULL) {
        return true;
    }
    if (is_retired(t, ssrc)) {
        return false;
    }
    return t->inbound_count < SRTP_TRANSPORT_SSRC_MAX || find_silent(t, now_us) != NULL;
}

/* Gives its place to another. libsrtp wants this SSRC, and only this one, in network order. */
static void retire(struct srtp_transport *t, const struct inbound_ssrc *entry)
{
    uint32_t ssrc_in_network_order = 0;
    struct byte_writer w;
    assert(t->retired_count < SRTP_TRANSPORT_RETIRED_MAX);
    t->retired[t->retired_count] = entry->ssrc;
    t->retired_count++;
    byte_writer_init(&w, &ssrc_in_network_order, sizeof(ssrc_in_network_order));
    byte_writer_u32(&w, entry->ssrc);
    const srtp_err_status_t removed = srtp_remove_stream(t->receive, ssrc_in_network_order);
    assert(removed == srtp_err_status_ok); /* it knows every SSRC that authenticated */
    (void)removed;
}

/* The entry of an SSRC whose packet authenticated; may_admit was asked before. */
static struct inbound_ssrc *admit(struct srtp_transport *t, uint32_t ssrc, uint64_t now_us)
{
    struct inbound_ssrc *entry = find_inbound(t, ssrc);
    if (entry == NULL) {
        if (t->inbound_count < SRTP_TRANSPORT_SSRC_MAX) {
            entry = &t->inbound[t->inbound_count];
            t->inbound_count++;
        } else {
            entry = find_silent(t, now_us);
            assert(entry != NULL);
            retire(t, entry);
        }
        *entry = (struct inbound_ssrc){.ssrc = ssrc};
    }
    entry->last_us = now_us;
    return entry;
}

/* The word that stands there; the packet is known to be long enough. */
static uint32_t read_u32(const struct bytes_span *packet, size_t offset)
{
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(packet->data, packet->len));
    byte_reader_skip(&r, offset);
    return byte_reader_u32(&r);
}

enum srtp_transport_result srtp_transport_unprotect_rtp(struct srtp_transport *t,
                                                        struct bytes_span *packet, bool *is_newest,
                                                        uint64_t now_us)
{
    *is_newest = false;
    const enum srtp_transport_result checked = check_rtp(packet, t->tag_bytes);
    if (checked != SRTP_TRANSPORT_OK) {
        return checked;
    }
    const uint16_t sequence_number = (uint16_t)read_u32(packet, 0); /* low half of word 0 */
    const uint32_t ssrc = read_u32(packet, 8);
    if (!may_admit(t, ssrc, now_us)) {
        return SRTP_TRANSPORT_SSRC_LIMIT;
    }
    int len = (int)packet->len;
    const srtp_err_status_t status = srtp_unprotect(t->receive, packet->data, &len);
    if (status != srtp_err_status_ok) {
        return result_of(status);
    }
    packet->len = (size_t)len;
    struct inbound_ssrc *entry = admit(t, ssrc, now_us);
    const int16_t ahead = (int16_t)(sequence_number - entry->highest_sequence_number);
    if (!entry->has_rtp || ahead > 0) {
        entry->has_rtp = true;
        entry->highest_sequence_number = sequence_number;
        *is_newest = true;
    }
    return SRTP_TRANSPORT_OK;
}

enum srtp_transport_result srtp_transport_unprotect_rtcp(struct srtp_transport *t,
                                                         struct bytes_span *packet, bool *is_newest,
                                                         uint64_t now_us)
{
    *is_newest = false;
    const enum srtp_transport_result checked = check_rtcp(packet, t->tag_bytes + SRTCP_INDEX_BYTES);
    if (checked != SRTP_TRANSPORT_OK) {
        return checked;
    }
    const size_t behind_index = t->tag_is_last ? t->tag_bytes : 0;
    const uint32_t srtcp_index =
        read_u32(packet, packet->len - behind_index - SRTCP_INDEX_BYTES) & SRTCP_INDEX_MASK;
    const uint32_t ssrc = read_u32(packet, 4);
    if (!may_admit(t, ssrc, now_us)) {
        return SRTP_TRANSPORT_SSRC_LIMIT;
    }
    int len = (int)packet->len;
    const srtp_err_status_t status = srtp_unprotect_rtcp(t->receive, packet->data, &len);
    if (status != srtp_err_status_ok) {
        return result_of(status);
    }
    packet->len = (size_t)len;
    struct inbound_ssrc *entry = admit(t, ssrc, now_us);
    if (!entry->has_rtcp || srtcp_index > entry->highest_srtcp_index) {
        entry->has_rtcp = true;
        entry->highest_srtcp_index = srtcp_index;
        *is_newest = true;
    }
    return SRTP_TRANSPORT_OK;
}
