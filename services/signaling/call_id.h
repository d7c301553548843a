/*
 * call_id.h - the name of a call, which tells its owner to us and nothing to anybody else
 *
 * "rtc_", the key id as one base64url character, then AES-128 of one block in 22 of them:
 *
 *      0  u16     cluster id
 *      2  u32     transceiver instance id
 *      6  u8[10]  random
 *
 * Gives:   any replica of signaling finds the owner from the id alone: nobody keeps a table.
 * Fails:   open returns false for any other form, spare bits, or a key that the ring does not
 *          have. There is no check inside: a guess opens to some instance that does not exist,
 *          and the instance compares the whole id.
 * Source:  docs/wire-formats.md, section 6.
 */
#ifndef EARSHOT_CALL_ID_H
#define EARSHOT_CALL_ID_H

#include "common/base/random.h"
#include "common/routing/key_ring.h"

#define CALL_ID_CHARS       27
#define CALL_ID_BLOCK_BYTES 16

struct call_id {
    uint16_t cluster_id;
    uint32_t instance_id;
};

struct call_id_sealed {
    char text[CALL_ID_CHARS + 1];
    uint8_t block[CALL_ID_BLOCK_BYTES]; /* as encrypted: the request id of its CreateSession */
};

/* With the ring's active key. */
void call_id_seal(struct key_ring *ring, const struct call_id *id, struct random_source random,
                  struct call_id_sealed *out);
MUST_USE bool call_id_open(struct key_ring *ring, struct bytes_view text, struct call_id *out);

#endif
