/* routing_token_fuzz.c - any text as a token; what opens was sealed in exactly this spelling, and
 * any fields survive sealing and opening */
#include "common/routing/routing_token.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* The ring of the golden vectors, which are among the seeds. */
static struct key_ring *ring(void)
{
    static struct key_ring *made;
    if (made == NULL) {
        uint8_t secret[KEY_RING_SECRET_BYTES];
        for (size_t i = 0; i < sizeof(secret); i++) {
            secret[i] = (uint8_t)i;
        }
        made = key_ring_from_secret(7, secret);
    }
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct routing_token token = {0};
    char text[ROUTING_TOKEN_CHARS];
    uint8_t key_id = 0;
    if (routing_token_open(ring(), bytes_view_of(data, size), &token, &key_id) ==
        ROUTING_TOKEN_OK) {
        routing_token_seal(ring(), &token, text);
        require(size == sizeof(text) && memcmp(data, text, size) == 0);
    }

    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(data, size));
    const struct routing_token any = {
        .cluster_id = byte_reader_u16(&r),
        .instance_id = byte_reader_u32(&r),
        .session_id = byte_reader_u32(&r),
        .restart = byte_reader_u8(&r),
    };
    routing_token_seal(ring(), &any, text);
    require(routing_token_open(ring(), bytes_view_of(text, sizeof(text)), &token, &key_id) ==
            ROUTING_TOKEN_OK);
    require(key_id == 7 && token.cluster_id == any.cluster_id && token.restart == any.restart);
    require(token.instance_id == any.instance_id && token.session_id == any.session_id);
    return 0;
}
