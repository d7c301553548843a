/*
 * sim_sdp.h - the offer and the answer as a simulated client writes and reads them
 *
 * Offers:  one audio section: RED if wanted, Opus, rtcp-mux; and a data section, if wanted.
 * Reads:   what a client needs: credentials, fingerprint, candidate, roles, and which of its codecs
 *          comes first. Not a parser of SDP: a line is found by its beginning.
 */
#ifndef EARSHOT_SIM_SDP_H
#define EARSHOT_SIM_SDP_H

#include "common/base/net_addr.h"
#include "services/transceiver/core/transport/dtls_transport.h"

#define SIM_SDP_OPUS 111
#define SIM_SDP_RED  63

struct sim_sdp_offer {
    const char *ufrag;
    const char *pwd;
    const uint8_t *fingerprint; /* DTLS_IDENTITY_FINGERPRINT_BYTES */
    bool is_dtls_client;        /* a=setup:active, else actpass */
    bool has_red;
    bool has_nack;
    bool has_data;
    const char *direction; /* NULL: sendrecv */
};

/* Text with a NUL. */
void sim_sdp_write_offer(const struct sim_sdp_offer *offer, char *out, size_t cap);

struct sim_sdp_answer {
    char ufrag[257];
    char pwd[257];
    bool is_active;
    bool prefers_red; /* RED stands first: it is to be sent */
    bool has_nack;
    bool has_data; /* accepted */
    struct net_addr server;
    struct dtls_fingerprint fingerprint;
};

/* False when something is missing. */
MUST_USE bool sim_sdp_read_answer(struct bytes_view sdp, struct sim_sdp_answer *out);

/* Of a fragment, in answer to a restart of ICE; the rest of *out stays. */
MUST_USE bool sim_sdp_read_credentials(struct bytes_view fragment, struct sim_sdp_answer *out);

#endif
