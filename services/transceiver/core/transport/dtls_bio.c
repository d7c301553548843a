/* dtls_bio.c - see dtls_bio.h */
#include "services/transceiver/core/transport/dtls_bio.h"

#include "services/transceiver/core/transport/dtls_record.h"

#include <limits.h>
#include <openssl/bio.h>

#define LENGTH_BYTES      2
#define UDP_IPV4_OVERHEAD 28

/* Made once and never freed: it must outlive every BIO. */
static BIO_METHOD *method;

/* A plaintext alert says only that this side of an unfinished handshake gave up. If the cause was
 * a stranger's record, the genuine peer must not be told, or his handshake would end too. */
static bool is_plaintext_alert_only(struct bytes_view datagram)
{
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, datagram);
    while (dtls_record_read(&r, &record)) {
        if (record.epoch != 0 || record.content_type != DTLS_CONTENT_ALERT) {
            return false;
        }
    }
    return true;
}

static void note_last_record(struct dtls_bio *b, struct bytes_view datagram)
{
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, datagram);
    while (dtls_record_read(&r, &record)) {
        b->has_sent = true;
        b->sent_epoch = record.epoch;
        b->sent_sequence_number = record.sequence_number;
    }
}

bool dtls_bio_has_room(const struct dtls_bio *b, size_t len)
{
    return len + LENGTH_BYTES <= sizeof(b->outgoing) - b->outgoing_len;
}

void dtls_bio_send(struct dtls_bio *b, struct bytes_view datagram)
{
    struct byte_writer w;
    if (!dtls_bio_has_room(b, datagram.len)) {
        b->dropped++;
        return;
    }
    byte_writer_init(&w, b->outgoing + b->outgoing_len, sizeof(b->outgoing) - b->outgoing_len);
    byte_writer_u16(&w, (uint16_t)datagram.len);
    byte_writer_bytes(&w, datagram);
    b->outgoing_len += w.len;
}

bool dtls_bio_poll(struct dtls_bio *b, struct bytes_view *out)
{
    if (b->outgoing_taken == b->outgoing_len) {
        dtls_bio_clear(b);
        return false;
    }
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(b->outgoing, b->outgoing_len));
    byte_reader_skip(&r, b->outgoing_taken);
    *out = byte_reader_bytes(&r, byte_reader_u16(&r));
    b->outgoing_taken = r.offset;
    return true;
}

void dtls_bio_clear(struct dtls_bio *b)
{
    b->outgoing_len = 0;
    b->outgoing_taken = 0;
}

static int write_datagram(BIO *bio, const char *data, int len)
{
    struct dtls_bio *b = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (len <= 0) {
        return 0;
    }
    const struct bytes_view datagram = bytes_view_of(data, (size_t)len);
    if (!is_plaintext_alert_only(datagram)) {
        note_last_record(b, datagram);
        dtls_bio_send(b, datagram);
    }
    return len;
}

static int read_datagram(BIO *bio, char *data, int cap)
{
    struct dtls_bio *b = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (b->incoming.len == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    const int len = b->incoming.len < (size_t)cap ? (int)b->incoming.len : cap;
    memcpy(data, b->incoming.data, (size_t)len);
    b->incoming = (struct bytes_view){NULL, 0};
    return len;
}

static long control(BIO *bio, int command, long number, void *pointer)
{
    const struct dtls_bio *b = BIO_get_data(bio);
    (void)number;
    (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_DGRAM_QUERY_MTU:
        return b->mtu_bytes;
    case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD:
        return UDP_IPV4_OVERHEAD;
    default:
        return 0;
    }
}

bool dtls_bio_prepare(void)
{
    if (method != NULL) {
        return true;
    }
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams");
    return method != NULL && BIO_meth_set_read(method, read_datagram) == 1 &&
           BIO_meth_set_write(method, write_datagram) == 1 &&
           BIO_meth_set_ctrl(method, control) == 1;
}

BIO *dtls_bio_create(struct dtls_bio *b)
{
    BIO *bio = BIO_new(method);
    if (bio != NULL) {
        BIO_set_data(bio, b);
        BIO_set_init(bio, 1);
    }
    return bio;
}
