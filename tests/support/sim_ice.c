/* sim_ice.c - see sim_ice.h */
#include "tests/support/sim_ice.h"

#include "common/base/time_us.h"
#include "common/stun/stun_integrity.h"

#include <stdio.h>

#define CHECK_FAST_US (50 * US_PER_MS)
#define CHECK_SLOW_US (2500 * US_PER_MS)

void sim_ice_init(struct sim_ice *i, struct random_source random)
{
    *i = (struct sim_ice){.random = random, .check_us = TIME_NEVER};
    random_ice_chars(random, i->ufrag, sizeof(i->ufrag) - 1);
    random_ice_chars(random, i->pwd, sizeof(i->pwd) - 1);
}

void sim_ice_start(struct sim_ice *i, const struct sim_sdp_answer *answer, uint64_t now_us)
{
    hmac_sha1_key_init(&i->remote_password, bytes_view_of_text(answer->pwd));
    i->check_us = now_us;
}

const char *sim_ice_restart(struct sim_ice *i)
{
    random_ice_chars(i->random, i->next_ufrag, sizeof(i->next_ufrag) - 1);
    random_ice_chars(i->random, i->next_pwd, sizeof(i->next_pwd) - 1);
    (void)snprintf(i->fragment, sizeof(i->fragment), "a=ice-ufrag:%s\r\na=ice-pwd:%s\r\n",
                   i->next_ufrag, i->next_pwd);
    return i->fragment;
}

void sim_ice_restarted(struct sim_ice *i, const struct sim_sdp_answer *answer, uint64_t now_us)
{
    memcpy(i->ufrag, i->next_ufrag, sizeof(i->ufrag));
    memcpy(i->pwd, i->next_pwd, sizeof(i->pwd));
    sim_ice_start(i, answer, now_us);
}

size_t sim_ice_write_check(struct sim_ice *i, const struct sim_sdp_answer *answer, uint8_t *out,
                           size_t cap, uint64_t now_us)
{
    struct byte_writer w;
    uint8_t id[STUN_TRANSACTION_ID_BYTES];
    char username[300];
    random_fill(i->random, id, sizeof(id));
    (void)snprintf(username, sizeof(username), "%s:%s", answer->ufrag, i->ufrag);
    byte_writer_init(&w, out, cap);
    stun_message_begin(&w, STUN_BINDING_REQUEST, id);
    stun_message_add(&w, STUN_USERNAME, bytes_view_of_text(username));
    stun_message_add_u64(&w, STUN_ICE_CONTROLLING, 1);
    stun_message_add(&w, STUN_USE_CANDIDATE, (struct bytes_view){0});
    stun_message_add_u32(&w, STUN_PRIORITY, 1);
    stun_integrity_append(&w, &i->remote_password);
    stun_fingerprint_append(&w);
    i->check_us = now_us + CHECK_FAST_US;
    return w.len;
}

void sim_ice_end(struct sim_ice *i)
{
    i->is_over = true;
    i->check_us = TIME_NEVER;
}

bool sim_ice_take_answer(struct sim_ice *i, struct bytes_view datagram, uint64_t now_us)
{
    struct stun_message message;
    if (stun_message_parse(datagram, &message) != STUN_OK || message.type != STUN_BINDING_SUCCESS ||
        !stun_integrity_verify(&message, &i->remote_password)) {
        return false;
    }
    i->has_path = true;
    i->check_us = i->is_over ? TIME_NEVER : now_us + CHECK_SLOW_US;
    return true;
}
