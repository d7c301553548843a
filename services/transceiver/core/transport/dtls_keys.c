/* dtls_keys.c - see dtls_keys.h */
#include "services/transceiver/core/transport/dtls_keys.h"

#define GCM_SALT_BYTES 12
#define CM_SALT_BYTES  14

/* The exporter gives client key, server key, client salt, server salt. */
static void share_out(const uint8_t *material, size_t salt_bytes, struct srtp_master_key *client,
                      struct srtp_master_key *server)
{
    const uint8_t *salts = material + 2 * SRTP_KEYS_KEY_BYTES;
    memcpy(client->key, material, SRTP_KEYS_KEY_BYTES);
    memcpy(server->key, material + SRTP_KEYS_KEY_BYTES, SRTP_KEYS_KEY_BYTES);
    memcpy(client->salt, salts, salt_bytes);
    memcpy(server->salt, salts + salt_bytes, salt_bytes);
}

bool dtls_keys_export_srtp(SSL *ssl, struct srtp_keys *out)
{
    static const char label[] = "EXTRACTOR-dtls_srtp";
    const SRTP_PROTECTION_PROFILE *selected = SSL_get_selected_srtp_profile(ssl);
    uint8_t material[2 * (SRTP_KEYS_KEY_BYTES + SRTP_KEYS_SALT_BYTES_MAX)];
    *out = (struct srtp_keys){.profile = SRTP_PROFILE_NONE};
    if (selected == NULL) {
        return true;
    }
    const bool is_gcm = selected->id == SRTP_AEAD_AES_128_GCM;
    const size_t salt_bytes = is_gcm ? GCM_SALT_BYTES : CM_SALT_BYTES;
    if (SSL_export_keying_material(ssl, material, 2 * (SRTP_KEYS_KEY_BYTES + salt_bytes), label,
                                   sizeof(label) - 1, NULL, 0, 0) != 1) {
        return false;
    }
    out->profile = is_gcm ? SRTP_PROFILE_AEAD_AES_128_GCM : SRTP_PROFILE_AES128_CM_SHA1_80;
    if (SSL_is_server(ssl)) {
        share_out(material, salt_bytes, &out->receive, &out->send);
    } else {
        share_out(material, salt_bytes, &out->send, &out->receive);
    }
    OPENSSL_cleanse(material, sizeof(material));
    return true;
}

bool dtls_keys_derive_alert(SSL *ssl, struct dtls_alert_key *ours, struct dtls_alert_key *theirs)
{
    struct dtls_alert_secrets s;
    const bool has_secrets = SSL_SESSION_get_master_key(SSL_get0_session(ssl), s.master,
                                                        sizeof(s.master)) == sizeof(s.master) &&
                             SSL_get_client_random(ssl, s.client_random, sizeof(s.client_random)) ==
                                 sizeof(s.client_random) &&
                             SSL_get_server_random(ssl, s.server_random, sizeof(s.server_random)) ==
                                 sizeof(s.server_random);
    const bool are_server = SSL_is_server(ssl) == 1;
    const bool is_derived = has_secrets && dtls_alert_derive(&s, are_server, ours) &&
                            dtls_alert_derive(&s, !are_server, theirs);
    OPENSSL_cleanse(&s, sizeof(s));
    return is_derived;
}
