/* token_bench.c - opening a routing token, against the one AES block inside it */
#include "common/crypto/aes_block.h"
#include "common/routing/routing_token.h"
#include "tests/bench/bench.h"

#include <assert.h>

#define KEY_ID      7
#define TOKEN_COUNT 1024
#define OPEN_COUNT  (64 * TOKEN_COUNT)

struct tokens {
    struct key_ring *ring;
    char valid[TOKEN_COUNT][ROUTING_TOKEN_CHARS];
    char forged[TOKEN_COUNT][ROUTING_TOKEN_CHARS];
};

static void seal(struct tokens *t)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};
    t->ring = key_ring_from_secret(KEY_ID, secret);
    assert(t->ring != NULL);
    for (uint32_t i = 0; i < TOKEN_COUNT; i++) {
        const struct routing_token token = {
            .cluster_id = 1, .instance_id = 0x5eed0001, .session_id = i << 8};
        routing_token_seal(t->ring, &token, t->valid[i]);
        memcpy(t->forged[i], t->valid[i], ROUTING_TOKEN_CHARS);
        t->forged[i][5] = t->valid[i][5] == 'A' ? 'B' : 'A';
    }
}

static void open_all(struct tokens *t, char text[TOKEN_COUNT][ROUTING_TOKEN_CHARS], size_t count,
                     enum routing_token_result expected)
{
    struct routing_token token;
    uint8_t key_id = 0;
    for (size_t i = 0; i < count; i++) {
        const struct bytes_view view = bytes_view_of(text[i % TOKEN_COUNT], ROUTING_TOKEN_CHARS);
        const enum routing_token_result result = routing_token_open(t->ring, view, &token, &key_id);
        assert(result == expected);
    }
}

static void run_block(void *context, size_t count)
{
    struct tokens *t = context;
    uint8_t block[AES_BLOCK_BYTES] = {0};
    struct aes_block *cipher = key_ring_token_cipher(t->ring, KEY_ID);
    for (size_t i = 0; i < count; i++) {
        aes_block_decrypt(cipher, block, block);
    }
}

static void run_valid(void *context, size_t count)
{
    struct tokens *t = context;
    open_all(t, t->valid, count, ROUTING_TOKEN_OK);
}

static void run_forged(void *context, size_t count)
{
    struct tokens *t = context;
    open_all(t, t->forged, count, ROUTING_TOKEN_FORGED);
}

int main(int argc, char **argv)
{
    static struct tokens t;
    seal(&t);
    const struct bench_case cases[] = {
        {.figure = "aes_block", .run = run_block, .context = &t, .count = OPEN_COUNT},
        {.figure = "open_valid",
         .run = run_valid,
         .context = &t,
         .count = OPEN_COUNT,
         .baseline = "aes_block",
         .goal = 150},
        {.figure = "open_forged",
         .run = run_forged,
         .context = &t,
         .count = OPEN_COUNT,
         .baseline = "aes_block",
         .goal = 150},
    };
    const int status = bench_run("token", cases, COUNT_OF(cases), argc, argv);
    key_ring_destroy(t.ring);
    return status;
}
