/* session_fuzz.c - one call: a stranger's datagrams, a backend that says anything, and time
 *
 * Input: steps of an operation (1 byte) and what it needs. Nobody here has the client's key, so the
 * call never connects, whatever passes its checks; what it says stays bounded, its clocks move on,
 * and it ends.
 */
#include "common/crypto/hmac_sha1.h"
#include "common/stun/stun_integrity.h"
#include "services/transceiver/core/session/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID         0x00000101
#define UFRAG      "H5NdZDc2lJmCIcFu0G39oFA"
#define PWD        "m8Jt0vQ4yL2cX6nB1rK5sD9f"
#define PEER_UFRAG "peer"
#define BEGIN_US   US_PER_S

enum operation {
    FROM_CLIENT,    /* length (2), bytes */
    FROM_ELSEWHERE, /* the same */
    GOOD_CHECK,     /* role (1): an authentic check of the client */
    FROM_BACKEND,   /* type, flags, utterance, codec (1 each), length (2), payload */
    TIME,           /* milliseconds (2) */
    BACKEND_IS_LOST,
    BACKEND_IS_FOUND, /* parity (1): it can resume */
    HANG_UP,
    OPERATION_COUNT
};

struct world {
    uint64_t now_us;
    struct random_generator random;
    struct outbox *outbox;
    struct session *session;
    uint8_t check_number;
};

static struct dtls_identity *identity;
static struct voice_silences silences;

static void drain(struct world *w)
{
    struct session_event event;
    while (session_poll_event(w->session, &event)) {
        assert(event.kind != SESSION_EVENT_CONNECTED);
    }
    assert(!session_is_connected(w->session));
    assert(outbox_dropped(w->outbox) == 0);
    outbox_clear(w->outbox);
}

static void give_datagram(struct world *w, const char *from, struct bytes_view datagram)
{
    /* A copy of just this length: reading past its end is seen. */
    uint8_t *copy = malloc(datagram.len + OUTBOX_TAILROOM_BYTES);
    struct bytes_span span = {copy, datagram.len, datagram.len + OUTBOX_TAILROOM_BYTES};
    struct net_path path = {0};
    const bool good = net_addr_parse(from, &path.client);
    assert(good && copy != NULL);
    (void)good;
    if (datagram.len > 0) {
        memcpy(copy, datagram.data, datagram.len);
    }
    (void)session_input_datagram(w->session, &span, &path, w->now_us);
    free(copy);
}

static void give_check(struct world *w, uint8_t role)
{
    struct hmac_sha1_key key;
    struct byte_writer check;
    uint8_t bytes[256];
    const uint8_t id[STUN_TRANSACTION_ID_BYTES] = {++w->check_number};
    hmac_sha1_key_init(&key, bytes_view_of_text(PWD));
    byte_writer_init(&check, bytes, sizeof(bytes));
    stun_message_begin(&check, STUN_BINDING_REQUEST, id);
    stun_message_add(&check, STUN_USERNAME, bytes_view_of_text(UFRAG ":" PEER_UFRAG));
    stun_message_add_u64(&check, role % 2 == 0 ? STUN_ICE_CONTROLLING : STUN_ICE_CONTROLLED, 1);
    stun_integrity_append(&check, &key);
    give_datagram(w, "203.0.113.9:4000", bytes_view_of(bytes, check.len));
}

static struct bytes_view rest_of(struct byte_reader *script, size_t len)
{
    const size_t left = byte_reader_left(script);
    return byte_reader_bytes(script, len < left ? len : left);
}

static void give_frame(struct world *w, struct byte_reader *script)
{
    struct backend_frame frame = {.type = byte_reader_u8(script), .session = ID};
    const uint8_t flags = byte_reader_u8(script);
    frame.flags = (uint16_t)(flags | (flags & 1) << 8);
    frame.utterance = byte_reader_u8(script);
    const uint8_t codec = byte_reader_u8(script);
    frame.codec = codec & 3;
    frame.rate_khz = (codec & 0x40) != 0 ? 16 : 24;
    frame.payload = rest_of(script, byte_reader_u16(script));
    if (!session_input_frame(w->session, &frame, w->now_us)) {
        session_backend_lost(w->session, w->now_us);
    }
}

static void step(struct world *w, struct byte_reader *script)
{
    switch (byte_reader_u8(script) % OPERATION_COUNT) {
    case FROM_CLIENT:
        give_datagram(w, "203.0.113.9:4000", rest_of(script, byte_reader_u16(script)));
        break;
    case FROM_ELSEWHERE:
        give_datagram(w, "203.0.113.9:4001", rest_of(script, byte_reader_u16(script)));
        break;
    case GOOD_CHECK:
        give_check(w, byte_reader_u8(script));
        break;
    case FROM_BACKEND:
        give_frame(w, script);
        break;
    case TIME:
        w->now_us += byte_reader_u16(script) * US_PER_MS;
        break;
    case BACKEND_IS_LOST:
        session_backend_lost(w->session, w->now_us);
        break;
    case BACKEND_IS_FOUND:
        if (session_wants_backend(w->session)) {
            session_backend_found(w->session, byte_reader_u8(script) % 2 == 1, w->now_us);
        }
        break;
    default:
        session_end(w->session, SESSION_END_HANGUP, w->now_us);
        break;
    }
    drain(w);
    session_tick(w->session, w->now_us);
    assert(session_next_timeout(w->session) > w->now_us);
    drain(w);
}

static void open_world(struct world *w)
{
    const struct sdp_offer offer = {
        .section = {{.media = SDP_MEDIA_AUDIO, .is_accepted = true, .direction = SDP_SENDRECV}},
        .section_count = 1,
        .ice_ufrag = PEER_UFRAG,
        .setup = SDP_SETUP_ACTIVE,
        .fingerprint_count = 1,
        .has_audio = true,
        .audio_payload_type = 111,
        .has_data = true,
        .max_message_bytes = 65536,
    };
    *w = (struct world){.now_us = BEGIN_US, .outbox = outbox_create(64, 1u << 20)};
    random_generator_init(&w->random, 1);
    const struct session_config config = {
        .event_label = "oai-events",
        .session_id = ID,
        .offer = &offer,
        .ice_ufrag = UFRAG,
        .ice_pwd = PWD,
        .identity = identity,
        .backend_start = {.call_id = "rtc_fuzz",
                          .in = {{BACKEND_CODEC_PCM16, 24},
                                 {BACKEND_CODEC_PCM16, 16},
                                 {BACKEND_CODEC_OPUS, 48}},
                          .in_count = 3,
                          .out = {{BACKEND_CODEC_PCM16, 24},
                                  {BACKEND_CODEC_PCM16, 16},
                                  {BACKEND_CODEC_OPUS, 48}},
                          .out_count = 3,
                          .has_events = true,
                          .message_bytes_max = 65536,
                          .credit_us = US_PER_S},
        .silences = &silences,
        .outbox = w->outbox,
        .random = random_seeded(&w->random),
        .setup_timeout_us = 30 * US_PER_S,
        .duration_max_us = 60 * US_PER_S,
    };
    w->session = session_create(&config, w->now_us);
    assert(w->session != NULL);
    outbox_clear(w->outbox);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w;
    struct byte_reader script;
    if (identity == NULL) {
        struct fault fault = {0};
        identity = dtls_identity_create(&fault);
        const bool good = identity != NULL && voice_silences_make(&silences);
        assert(good);
        (void)good;
    }
    open_world(&w);
    byte_reader_init(&script, bytes_view_of(data, size));
    while (byte_reader_left(&script) > 0) {
        step(&w, &script);
    }
    w.now_us += 61 * US_PER_S;
    session_tick(w.session, w.now_us);
    drain(&w);
    assert(session_is_over(w.session));
    session_destroy(w.session);
    outbox_destroy(w.outbox);
    return 0;
}
