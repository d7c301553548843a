/*
 * leg_setup.h - what an offer says of its client's leg: ICE credentials, DTLS, data channels
 *
 * Fails:   NULL: out of memory.
 */
#ifndef EARSHOT_LEG_SETUP_H
#define EARSHOT_LEG_SETUP_H

#include "services/transceiver/core/session/client_leg.h"
#include "services/transceiver/core/transport/dtls_transport.h"
#include "services/transceiver/core/transport/ice_agent.h"

/* The first ICE generation. Secret: whoever has it wipes it. */
void leg_setup_generation(const struct client_leg_config *config, struct client_leg_ice *out);
/* Borrowed of the generation. */
struct ice_credentials leg_setup_credentials(const struct client_leg_ice *generation);
/* Ours. */
enum dtls_role leg_setup_role(const struct client_leg_config *config);
struct dtls_transport *leg_setup_dtls(const struct client_leg_config *config);
/* NULL also without a data section in the offer; then *out_failed is false. */
struct data_channels *leg_setup_data(const struct client_leg_config *config, bool *out_failed,
                                     uint64_t now_us);

#endif
