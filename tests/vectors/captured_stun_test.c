/* captured_stun_test.c - the STUN of five real calls: it verifies, and the agent answers it */
#include "tests/testing.h"

#include "common/crypto/hmac_sha1.h"
#include "common/stun/stun_integrity.h"
#include "services/transceiver/core/datagram_kind.h"
#include "services/transceiver/core/transport/ice_agent.h"
#include "tests/support/pcapng.h"

#include <stdio.h>

#define CAPTURES TEST_DATA "/corpus/captures/"

#define CLIENT_IPV4 "10.77.0.2"
#define CLIENT_IPV6 "fd77::2"

static const struct {
    const char *name;
    size_t username_place; /* of the client's first check, from 1 */
    size_t client_checks;
    const char *runs_on;
} call[] = {
    {"aiortc-1.4.0", 1, 3, CLIENT_IPV4},   {"chromium-156", 1, 8, CLIENT_IPV6},
    {"firefox-153esr", 1, 2, CLIENT_IPV6}, {"gstreamer-1.22.0", 3, 3, CLIENT_IPV6},
    {"pion-3.1.56", 1, 3, CLIENT_IPV4},
};

struct side {
    char ufrag[ICE_UFRAG_CHARS_MAX + 1];
    char pwd[ICE_UFRAG_CHARS_MAX + 1];
    struct hmac_sha1_key key;
};

/* The first value: aiortc names other credentials in each section, and the first one counts. */
static void first_value(const char *path, const char *attribute, char *out, size_t cap)
{
    char line[1024];
    bool is_found = false;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!is_found && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        is_found = strncmp(line, attribute, strlen(attribute)) == 0;
    }
    (void)fclose(file);
    assert_true(is_found);
    assert_true((size_t)snprintf(out, cap, "%s", line + strlen(attribute)) < cap);
}

static struct side side_of(const char *call_name, const char *kind)
{
    char path[512];
    struct side side;
    (void)snprintf(path, sizeof(path), CAPTURES "%s-audio-dc.%s.sdp", call_name, kind);
    first_value(path, "a=ice-ufrag:", side.ufrag, sizeof(side.ufrag));
    first_value(path, "a=ice-pwd:", side.pwd, sizeof(side.pwd));
    hmac_sha1_key_init(&side.key, bytes_view_of_text(side.pwd));
    return side;
}

static struct pcapng *open_call(const char *call_name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), CAPTURES "%s-audio-dc.pcapng", call_name);
    return pcapng_open(path);
}

static bool is_address(const struct net_addr *address, const char *ip)
{
    struct net_addr expected;
    assert_true(net_addr_parse_ip(ip, address->port, &expected));
    return net_addr_equal(address, &expected);
}

static bool is_from_client(const struct pcapng_datagram *d)
{
    return is_address(&d->from, CLIENT_IPV4) || is_address(&d->from, CLIENT_IPV6);
}

static bool is_stun(const struct pcapng_datagram *d)
{
    return datagram_kind_of(d->payload) == DATAGRAM_STUN;
}

/* RFC 8445 s.7.2.2: a request is for its receiver's password and USERNAME begins with the
 * receiver's ufrag; a response has the password of its request. */
static void verify_message(const struct stun_message *m, const struct side *sender,
                           const struct side *receiver)
{
    const bool is_request = m->type == STUN_BINDING_REQUEST;
    assert_true(stun_integrity_verify(m, is_request ? &receiver->key : &sender->key));
    assert_false(stun_integrity_verify(m, is_request ? &sender->key : &receiver->key));
    if (is_request) {
        char username[600];
        struct bytes_view peeked;
        (void)snprintf(username, sizeof(username), "%s:%s", receiver->ufrag, sender->ufrag);
        assert_true(bytes_equal(m->username, bytes_view_of_text(username)));
        assert_int_equal(stun_message_peek_username(m->datagram, &peeked), STUN_OK);
        assert_true(bytes_equal(peeked, m->username));
        assert_true(m->ice_controlling || m->ice_controlled);
        assert_true(m->has_priority);
    }
}

static void each_message_of_the_five_calls_verifies(void **state)
{
    (void)state;
    size_t with_integrity = 0;
    for (size_t i = 0; i < COUNT_OF(call); i++) {
        const struct side client = side_of(call[i].name, "offer");
        const struct side server = side_of(call[i].name, "answer");
        struct pcapng *capture = open_call(call[i].name);
        struct pcapng_datagram d;
        while (pcapng_next(capture, &d)) {
            struct stun_message m;
            if (!is_stun(&d)) {
                continue;
            }
            assert_int_equal(stun_message_parse(d.payload, &m), STUN_OK);
            assert_int_not_equal(m.fingerprint_offset, 0);
            assert_true(stun_fingerprint_verify(&m));
            if (m.integrity_offset != 0) {
                const bool up = is_from_client(&d);
                verify_message(&m, up ? &client : &server, up ? &server : &client);
                with_integrity++;
            } else {
                assert_int_equal(m.type, STUN_BINDING_INDICATION);
            }
        }
        pcapng_close(capture);
    }
    assert_int_equal(with_integrity, 74);
}

static size_t place_of_username(struct bytes_view datagram)
{
    struct byte_reader r;
    byte_reader_init(&r, datagram);
    byte_reader_skip(&r, STUN_HEADER_BYTES);
    for (size_t place = 1; !r.failed; place++) {
        const uint16_t type = byte_reader_u16(&r);
        const size_t len = byte_reader_u16(&r);
        if (type == STUN_USERNAME) {
            return place;
        }
        byte_reader_skip(&r, (len + 3) / 4 * 4);
    }
    return 0;
}

/* Each call played to an agent that stands where the server stood. The SRTP of the capture cannot
 * be decrypted; it is taken for authentic, since it is. */
struct replay {
    struct ice_agent *agent;
    size_t answered;
    size_t first_username_place;
};

static void replay_datagram(struct replay *replay, const struct pcapng_datagram *d)
{
    const uint64_t now_us = d->time_ns / 1000;
    const struct net_path path = {.client = d->from, .relay = d->to};
    const enum datagram_kind kind = datagram_kind_of(d->payload);
    if (kind == DATAGRAM_RTP || kind == DATAGRAM_RTCP) {
        ice_agent_note_authenticated(replay->agent, &path, true, now_us);
    }
    if (kind != DATAGRAM_STUN) {
        return;
    }
    struct ice_check check;
    if (ice_agent_input(replay->agent, d->payload, &path, &check, now_us) != ICE_INPUT_ANSWER) {
        return;
    }
    if (replay->answered == 0) {
        replay->first_username_place = place_of_username(d->payload);
    }
    uint8_t answer[OUTBOX_DATAGRAM_BYTES];
    struct byte_writer w;
    byte_writer_init(&w, answer, sizeof(answer));
    ice_agent_begin_answer(&check, &w);
    ice_agent_finish_answer(&check, &w);
    assert_false(w.failed);
    assert_true(w.len <= d->payload.len);
    assert_int_equal(check.error_code, 0);
    replay->answered++;
}

static void the_agent_answers_each_check_and_follows_the_media(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(call); i++) {
        const struct side client = side_of(call[i].name, "offer");
        const struct side server = side_of(call[i].name, "answer");
        const struct ice_credentials credentials = {server.ufrag, server.pwd, client.ufrag};
        struct pcapng *capture = open_call(call[i].name);
        struct replay replay = {.agent = ice_agent_create(&credentials, 0)};
        struct pcapng_datagram d;
        struct net_path selected;
        while (pcapng_next(capture, &d)) {
            if (is_from_client(&d)) {
                replay_datagram(&replay, &d);
            }
        }
        assert_int_equal(replay.answered, call[i].client_checks);
        assert_int_equal(replay.first_username_place, call[i].username_place);
        assert_true(ice_agent_selected(replay.agent, &selected));
        assert_true(is_address(&selected.client, call[i].runs_on));
        ice_agent_destroy(replay.agent);
        pcapng_close(capture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_of_the_five_calls_verifies),
        cmocka_unit_test(the_agent_answers_each_check_and_follows_the_media),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
