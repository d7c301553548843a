/*
 * client_secrets_api.h - POST /v1/realtime/client_secrets, and the secret of the demo page
 *
 * Takes:   requests of those whom access_gate.h let in.
 * Gives:   the answer at once: nothing is stored.
 * Source:  docs/client-contract.md.
 */
#ifndef EARSHOT_CLIENT_SECRETS_API_H
#define EARSHOT_CLIENT_SECRETS_API_H

#include "services/signaling/access_gate.h"

#define CLIENT_SECRET_LIFE_S_MIN     10
#define CLIENT_SECRET_LIFE_S_MAX     7200
#define CLIENT_SECRET_LIFE_S_DEFAULT 600

/* With the session and the life that the request asks for. */
struct http_response client_secrets_api_issue(struct auth *auth, const struct http_request *request,
                                              const struct auth_identity *who);
/* Without a session, of CLIENT_SECRET_LIFE_S_DEFAULT: {"value":"ek_...","expires_at":N}. */
struct http_response client_secrets_api_demo(struct auth *auth, const struct auth_identity *who);

#endif
