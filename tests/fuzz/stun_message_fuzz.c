/* stun_message_fuzz.c - any datagram as STUN: nothing is read past its end, and the relay's short
 * look agrees with the whole parse */
#include "common/crypto/hmac_sha1.h"
#include "common/stun/stun_integrity.h"
#include "common/stun/stun_message.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_parsed(const struct stun_message *m, struct bytes_view datagram)
{
    struct bytes_view username;
    const enum stun_parse_result peeked = stun_message_peek_username(datagram, &username);
    if (m->type == STUN_BINDING_REQUEST) {
        require(peeked == STUN_OK);
        require(username.data == m->username.data && username.len == m->username.len);
    } else {
        require(peeked == STUN_NOT_REQUEST);
    }

    struct hmac_sha1_key password;
    hmac_sha1_key_init(&password, bytes_view_of_text("password"));
    const bool is_authentic = stun_integrity_verify(m, &password);
    require(!is_authentic || m->integrity_offset != 0);
    require(stun_fingerprint_verify(m) || m->fingerprint_offset != 0);

    struct bytes_view value = {0};
    if (stun_message_find(m, 0xc070, &value)) {
        require(value.data >= datagram.data);
        require(value.data + value.len <= datagram.data + datagram.len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stun_message m;
    const struct bytes_view datagram = bytes_view_of(data, size);
    if (stun_message_parse(datagram, &m) == STUN_OK) {
        check_parsed(&m, datagram);
    } else {
        struct bytes_view username;
        (void)stun_message_peek_username(datagram, &username);
    }
    return 0;
}
