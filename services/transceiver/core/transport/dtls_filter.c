/* dtls_filter.c - see dtls_filter.h */
#include "services/transceiver/core/transport/dtls_filter.h"

#define DTLS_VERSION_MAJOR 0xfe /* of DTLS 1.0 and 1.2; hellos may still say 1.0 */

/* RFC 5246 s.7.4, RFC 6347 s.4.3.2 */
enum handshake_type {
    CLIENT_HELLO = 1,
    SERVER_HELLO = 2,
    HELLO_VERIFY_REQUEST = 3,
    CERTIFICATE = 11,
    SERVER_KEY_EXCHANGE = 12,
    CERTIFICATE_REQUEST = 13,
    SERVER_HELLO_DONE = 14,
    CERTIFICATE_VERIFY = 15,
    CLIENT_KEY_EXCHANGE = 16
};

/* Of a full handshake without tickets, which is the only one there is. Finished is encrypted. */
static const uint32_t messages_of_server = 1u << SERVER_HELLO | 1u << CERTIFICATE |
                                           1u << SERVER_KEY_EXCHANGE | 1u << CERTIFICATE_REQUEST |
                                           1u << SERVER_HELLO_DONE;
static const uint32_t messages_of_client =
    1u << CLIENT_HELLO | 1u << CERTIFICATE | 1u << CLIENT_KEY_EXCHANGE | 1u << CERTIFICATE_VERIFY;

void dtls_filter_init(struct dtls_filter *f, bool peer_is_server)
{
    *f = (struct dtls_filter){.peer_is_server = peer_is_server};
}

/* The header of one handshake fragment (RFC 6347 s.4.2.2), and its body skipped. */
static bool read_message(struct byte_reader *r, uint8_t *type)
{
    *type = byte_reader_u8(r);
    const uint32_t message_len = byte_reader_u24(r);
    byte_reader_skip(r, 2); /* message_seq */
    const uint32_t fragment_offset = byte_reader_u24(r);
    const uint32_t fragment_len = byte_reader_u24(r);
    byte_reader_skip(r, fragment_len);
    return !r->failed && message_len <= DTLS_FILTER_MESSAGE_BYTES &&
           fragment_offset <= message_len && fragment_len <= message_len - fragment_offset;
}

/* A record may carry several messages; one that does not belong spoils it. */
static enum dtls_filter_verdict judge_handshake(const struct dtls_filter *f,
                                                const struct dtls_record *record)
{
    const uint32_t expected = f->peer_is_server ? messages_of_server : messages_of_client;
    struct byte_reader r;
    byte_reader_init(&r, record->fragment);
    do {
        const bool is_first = r.offset == 0;
        uint8_t type = 0;
        if (!read_message(&r, &type)) {
            return DTLS_FILTER_DROP_MESSAGE;
        }
        const bool is_alone = is_first && byte_reader_left(&r) == 0;
        if (type == HELLO_VERIFY_REQUEST && f->peer_is_server && is_alone &&
            record->whole.len <= DTLS_FILTER_HELLO_VERIFY_BYTES) {
            return DTLS_FILTER_HOLD_HELLO_VERIFY;
        }
        if (type >= 32 || (expected >> type & 1) == 0) {
            return DTLS_FILTER_DROP_MESSAGE;
        }
    } while (byte_reader_left(&r) > 0);
    return DTLS_FILTER_PASS;
}

static enum dtls_filter_verdict judge_change_cipher_spec(const struct dtls_filter *f,
                                                         struct bytes_view fragment)
{
    if (fragment.len != 1 || fragment.data[0] != 1) {
        return DTLS_FILTER_DROP_MESSAGE;
    }
    return f->awaits_change_cipher_spec ? DTLS_FILTER_PASS : DTLS_FILTER_DROP_EARLY;
}

static enum dtls_filter_verdict judge_content(const struct dtls_filter *f,
                                              const struct dtls_record *record)
{
    switch (record->content_type) {
    case DTLS_CONTENT_HANDSHAKE:
        return judge_handshake(f, record);
    case DTLS_CONTENT_CHANGE_CIPHER_SPEC:
        return judge_change_cipher_spec(f, record->fragment);
    case DTLS_CONTENT_ALERT:
        return record->fragment.len == 2 ? DTLS_FILTER_HOLD_ALERT : DTLS_FILTER_DROP_MESSAGE;
    default:
        return DTLS_FILTER_DROP_TYPE;
    }
}

enum dtls_filter_verdict dtls_filter_judge(struct dtls_filter *f, const struct dtls_record *record)
{
    if (record->version >> 8 != DTLS_VERSION_MAJOR) {
        return DTLS_FILTER_DROP_VERSION;
    }
    if (record->epoch == 1) {
        return DTLS_FILTER_PASS; /* encrypted: TLS sees for itself that it is genuine */
    }
    if (record->epoch > 1) {
        return DTLS_FILTER_DROP_EPOCH;
    }
    if (record->sequence_number > f->highest_sequence_number + DTLS_FILTER_AHEAD_MAX) {
        return DTLS_FILTER_DROP_SEQUENCE;
    }
    const enum dtls_filter_verdict verdict = judge_content(f, record);
    if (verdict == DTLS_FILTER_PASS && record->content_type == DTLS_CONTENT_HANDSHAKE &&
        record->sequence_number > f->highest_sequence_number) {
        f->highest_sequence_number = record->sequence_number;
    }
    return verdict;
}
