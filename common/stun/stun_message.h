/*
 * stun_message.h - STUN messages (RFC 8489) as ICE-lite needs them
 *
 * Takes:   one datagram; views into it are borrowed as long as the datagram lives.
 * Gives:   the attributes ICE uses, or the reason why the datagram is no STUN message.
 * Rules:   of an attribute that ICE uses the second is refused; all others may repeat and are
 *          only walked over. Nothing but FINGERPRINT counts after MESSAGE-INTEGRITY (RFC 5389
 *          s.15.4), and nothing may follow FINGERPRINT (RFC 8489 s.14.7).
 * Bounds:  STUN_MESSAGE_BYTES_MAX, STUN_ATTRIBUTES_MAX; above: refused.
 * Not here: MESSAGE-INTEGRITY and FINGERPRINT (stun_integrity.h).
 */
#ifndef EARSHOT_STUN_MESSAGE_H
#define EARSHOT_STUN_MESSAGE_H

#include "common/base/net_addr.h"

#define STUN_HEADER_BYTES         20
#define STUN_MAGIC_COOKIE         UINT32_C(0x2112a442)
#define STUN_TRANSACTION_ID_BYTES 12
#define STUN_MESSAGE_BYTES_MAX    1280
#define STUN_ATTRIBUTES_MAX       32
#define STUN_USERNAME_BYTES_MAX   513 /* two ufrags of 256 and a colon, RFC 8839 s.5.4 */

enum stun_type {
    STUN_BINDING_REQUEST = 0x0001,
    STUN_BINDING_INDICATION = 0x0011,
    STUN_BINDING_SUCCESS = 0x0101,
    STUN_BINDING_ERROR = 0x0111
};

enum stun_attribute {
    STUN_MAPPED_ADDRESS = 0x0001,
    STUN_USERNAME = 0x0006,
    STUN_MESSAGE_INTEGRITY = 0x0008,
    STUN_ERROR_CODE = 0x0009,
    STUN_UNKNOWN_ATTRIBUTES = 0x000a,
    STUN_XOR_MAPPED_ADDRESS = 0x0020,
    STUN_PRIORITY = 0x0024,
    STUN_USE_CANDIDATE = 0x0025,
    STUN_SOFTWARE = 0x8022,
    STUN_FINGERPRINT = 0x8028,
    STUN_ICE_CONTROLLED = 0x8029,
    STUN_ICE_CONTROLLING = 0x802a
};

enum stun_parse_result {
    STUN_OK,
    STUN_SHORT,      /* fewer than 20 bytes, or more than STUN_MESSAGE_BYTES_MAX */
    STUN_NOT_STUN,   /* first two bits, or the magic cookie */
    STUN_LENGTH,     /* the length field is not datagram - 20, or not a multiple of 4 */
    STUN_ATTRIBUTE,  /* an attribute runs past the end, repeats, or has a wrong size; too many */
    STUN_NOT_REQUEST /* peek_username only: STUN, but not a Binding request */
};

struct stun_message {
    uint16_t type; /* enum stun_type, or any other STUN type */
    uint8_t transaction_id[STUN_TRANSACTION_ID_BYTES];
    struct bytes_view datagram; /* the whole message */

    struct bytes_view username; /* data NULL when absent */
    size_t integrity_offset;    /* of the MESSAGE-INTEGRITY attribute; 0 when absent */
    size_t fingerprint_offset;  /* of the FINGERPRINT attribute; 0 when absent */
    bool has_priority;
    uint32_t priority;
    bool use_candidate;
    bool ice_controlling;
    bool ice_controlled;
    uint64_t tie_breaker;
    bool has_xor_mapped_address;
    struct net_addr xor_mapped_address;
    uint16_t error_code;       /* 0 when absent */
    uint16_t unknown_required; /* first unknown comprehension-required attribute; 0 if none */
};

/* *out is whole only on STUN_OK. */
enum stun_parse_result stun_message_parse(struct bytes_view datagram, struct stun_message *out);

/* The first attribute of this type that MESSAGE-INTEGRITY covers, in a message that parsed: for
 * attributes that are not ICE's own. Borrowed from the datagram; false when there is none. */
MUST_USE bool stun_message_find(const struct stun_message *message, uint16_t attribute,
                                struct bytes_view *out_value);

/* What the relay needs and nothing more: is this a well-formed Binding request, and what is its
 * USERNAME (data NULL when absent)? Walks at most STUN_ATTRIBUTES_MAX attributes and stops at
 * MESSAGE-INTEGRITY; at most one USERNAME of at most STUN_USERNAME_BYTES_MAX. */
enum stun_parse_result stun_message_peek_username(struct bytes_view datagram,
                                                  struct bytes_view *out_username);

/* Building, in an empty writer: begin, attributes, then stun_integrity_append and
 * stun_fingerprint_append. The length field is kept right after each call; check w->failed at the
 * end. */
void stun_message_begin(struct byte_writer *w, uint16_t type,
                        const uint8_t transaction_id[STUN_TRANSACTION_ID_BYTES]);
void stun_message_add(struct byte_writer *w, uint16_t attribute, struct bytes_view value);
void stun_message_add_u32(struct byte_writer *w, uint16_t attribute, uint32_t value);
void stun_message_add_u64(struct byte_writer *w, uint16_t attribute, uint64_t value);
void stun_message_add_xor_address(struct byte_writer *w, uint16_t attribute,
                                  const struct net_addr *address);
void stun_message_add_error(struct byte_writer *w, uint16_t code, const char *reason);

#endif
