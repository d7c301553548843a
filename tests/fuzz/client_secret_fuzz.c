/* client_secret_fuzz.c - any bytes as a client secret, and any bytes as the session of one
 *
 * Strangers can not seal: what opens is the golden secret, which is a seed. Whatever session is
 * sealed comes out again.
 */
#include "services/signaling/access/client_secret.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void seal_and_open(struct key_ring *ring, char *session)
{
    static char text[CLIENT_SECRET_CHARS_MAX + 1];
    struct client_secret in = {.expires_unix_s = 1, .session = session};
    struct client_secret out;
    client_secret_make_id(random_system(), in.id);
    if (client_secret_seal(ring, &in, random_system(), text) == CLIENT_SECRET_SEALED &&
        client_secret_open(ring, bytes_view_of_text(text), &out)) {
        assert(strcmp(out.id, in.id) == 0);
        client_secret_clear(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct key_ring *ring;
    struct client_secret secret;
    if (ring == NULL) {
        uint8_t bytes[KEY_RING_SECRET_BYTES];
        for (size_t i = 0; i < sizeof(bytes); i++) {
            bytes[i] = (uint8_t)i;
        }
        ring = key_ring_from_secret(7, bytes);
    }
    if (client_secret_open(ring, bytes_view_of(data, len), &secret)) {
        assert(secret.session != NULL);
        client_secret_clear(&secret);
    }
    char *session = malloc(len + 1);
    memcpy(session, data, len);
    session[len] = '\0';
    seal_and_open(ring, session);
    free(session);
    return 0;
}
