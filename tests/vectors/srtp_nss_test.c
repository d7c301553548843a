/* srtp_nss_test.c - with our ciphers libsrtp protects exactly as it does with those of NSS
 *
 * A child process runs libsrtp as Debian ships it and writes protected packets to a pipe; the
 * parent protects the same packets with our ciphers and compares. The child is forked before
 * either library has started.
 */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/transport/srtp_transport.h"

#include <srtp2/srtp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PACKETS_PER_PROFILE 3000
#define PACKET_CAP          1600
#define SSRC                0x5eed5eedu

static const enum srtp_profile profiles[] = {SRTP_PROFILE_AES128_CM_SHA1_80,
                                             SRTP_PROFILE_AEAD_AES_128_GCM};

static int from_nss; /* the pipe's reading end */
static pid_t child;

static struct srtp_keys keys_of(enum srtp_profile profile)
{
    struct random_generator seed;
    struct srtp_keys keys = {.profile = profile};
    random_generator_init(&seed, (uint64_t)profile);
    random_fill(random_seeded(&seed), &keys.send, sizeof(keys.send));
    keys.receive = keys.send;
    return keys;
}

/* RTP with every sequence number past one wrap, each fourth packet RTCP. Returns its length. */
static size_t make_packet(struct random_generator *seed, size_t n, uint8_t data[PACKET_CAP],
                          bool *is_rtcp)
{
    const size_t body = 4 * (size_t)(random_generator_next(seed) % 300);
    struct byte_writer w;
    *is_rtcp = n % 4 == 3;
    byte_writer_init(&w, data, PACKET_CAP);
    if (*is_rtcp) {
        byte_writer_u32(&w, 0x80c80000u | (uint32_t)(1 + body / 4));
        byte_writer_u32(&w, SSRC);
    } else {
        byte_writer_u32(&w, 0x806f0000u | ((64000 + (uint32_t)n) & 0xffff));
        byte_writer_u32(&w, (uint32_t)n * 960);
        byte_writer_u32(&w, SSRC);
    }
    random_fill(random_seeded(seed), data + w.len, body);
    return w.len + body;
}

static void write_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        const ssize_t written = write(fd, data, len);
        if (written <= 0) {
            _exit(2);
        }
        data += written;
        len -= (size_t)written;
    }
}

static void read_all(int fd, uint8_t *data, size_t len)
{
    while (len > 0) {
        const ssize_t got = read(fd, data, len);
        assert_true(got > 0);
        data += got;
        len -= (size_t)got;
    }
}

/* Length (4 bytes) and bytes of each protected packet. */
static void protect_with_nss(int fd, enum srtp_profile profile)
{
    const struct srtp_keys keys = keys_of(profile);
    uint8_t key[sizeof(keys.send)];
    srtp_policy_t policy = {
        .ssrc = {.type = ssrc_specific, .value = SSRC}, .key = key, .window_size = 256};
    const srtp_profile_t number = profile == SRTP_PROFILE_AEAD_AES_128_GCM
                                      ? srtp_profile_aead_aes_128_gcm
                                      : srtp_profile_aes128_cm_sha1_80;
    struct random_generator seed;
    srtp_t context;
    memcpy(key, &keys.send, sizeof(key));
    if (srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, number) != 0 ||
        srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, number) != 0 ||
        srtp_create(&context, &policy) != 0) {
        _exit(3);
    }
    random_generator_init(&seed, 99);
    for (size_t n = 0; n < PACKETS_PER_PROFILE; n++) {
        uint8_t data[PACKET_CAP];
        bool is_rtcp = false;
        int len = (int)make_packet(&seed, n, data, &is_rtcp);
        const srtp_err_status_t status =
            is_rtcp ? srtp_protect_rtcp(context, data, &len) : srtp_protect(context, data, &len);
        if (status != srtp_err_status_ok) {
            _exit(4);
        }
        const uint32_t length = (uint32_t)len;
        write_all(fd, (const uint8_t *)&length, sizeof(length));
        write_all(fd, data, length);
    }
    (void)srtp_dealloc(context);
}

static void protected_packets_are_equal_and_open_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        const struct srtp_keys keys = keys_of(profiles[i]);
        struct srtp_transport *t = srtp_transport_create(&keys, SSRC);
        struct random_generator seed;
        assert_non_null(t);
        random_generator_init(&seed, 99);
        for (size_t n = 0; n < PACKETS_PER_PROFILE; n++) {
            uint8_t plain[PACKET_CAP];
            uint8_t ours[PACKET_CAP];
            uint8_t theirs[PACKET_CAP];
            uint32_t length = 0;
            bool is_rtcp = false;
            bool is_newest = false;
            const size_t plain_len = make_packet(&seed, n, plain, &is_rtcp);
            struct bytes_span packet = {ours, plain_len, sizeof(ours)};
            memcpy(ours, plain, plain_len);
            assert_int_equal(is_rtcp ? srtp_transport_protect_rtcp(t, &packet)
                                     : srtp_transport_protect_rtp(t, &packet),
                             SRTP_TRANSPORT_OK);
            read_all(from_nss, (uint8_t *)&length, sizeof(length));
            assert_int_equal(length, packet.len);
            read_all(from_nss, theirs, length);
            assert_memory_equal(ours, theirs, length);
            packet = (struct bytes_span){theirs, length, sizeof(theirs)};
            assert_int_equal(is_rtcp ? srtp_transport_unprotect_rtcp(t, &packet, &is_newest, 0)
                                     : srtp_transport_unprotect_rtp(t, &packet, &is_newest, 0),
                             SRTP_TRANSPORT_OK);
            assert_int_equal(packet.len, plain_len);
            assert_memory_equal(theirs, plain, plain_len);
        }
        srtp_transport_destroy(t);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int start(void **state)
{
    (void)state;
    struct fault fault;
    return srtp_transport_init(&fault) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protected_packets_are_equal_and_open_again),
    };
    int ends[2];
    if (pipe(ends) != 0) {
        return 1;
    }
    child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        if (srtp_init() != srtp_err_status_ok) {
            _exit(1);
        }
        for (size_t i = 0; i < COUNT_OF(profiles); i++) {
            protect_with_nss(ends[1], profiles[i]);
        }
        _exit(0);
    }
    (void)close(ends[1]);
    from_nss = ends[0];
    return cmocka_run_group_tests(tests, start, NULL);
}
