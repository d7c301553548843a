/* srtp_bench.c - protecting and opening RTP, with up to 4,000 calls alive, both profiles */
#include "common/base/random.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "tests/bench/bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define HEADER_BYTES  12
#define PAYLOAD_BYTES 120
#define PLAIN_BYTES   (HEADER_BYTES + PAYLOAD_BYTES)
#define PACKET_CAP    (PLAIN_BYTES + SRTP_TRANSPORT_TRAILER_BYTES)
#define SSRC          0x1234
#define CALLS_MAX     4000
/* A round. What is protected but not opened is a gap for the receiver, and two rounds with two such
 * cases are less than half of the sequence numbers. */
#define PACKETS 4000

/* Both ends of a number of calls. */
struct calls {
    size_t count;
    struct srtp_transport *sender[CALLS_MAX];
    struct srtp_transport *receiver[CALLS_MAX];
    uint16_t sequence[CALLS_MAX];
    uint8_t packet[PACKETS][PACKET_CAP];
    size_t packet_len;
};

/* So many of the calls speak, in turn. */
struct talk {
    struct calls *calls;
    size_t speakers;
};

static void create_call(struct calls *c, size_t index, enum srtp_profile profile,
                        struct random_source random)
{
    struct srtp_keys keys = {.profile = profile};
    random_fill(random, &keys.send, sizeof(keys.send));
    random_fill(random, &keys.receive, sizeof(keys.receive));
    c->sender[index] = srtp_transport_create(&keys, SSRC);
    const struct srtp_master_key send = keys.send;
    keys.send = keys.receive;
    keys.receive = send;
    c->receiver[index] = srtp_transport_create(&keys, SSRC);
    assert(c->sender[index] != NULL && c->receiver[index] != NULL);
}

static struct calls *create_calls(size_t count, enum srtp_profile profile)
{
    static struct random_generator random;
    struct calls *c = calloc(1, sizeof(*c));
    assert(c != NULL);
    c->count = count;
    for (size_t i = 0; i < count; i++) {
        create_call(c, i, profile, random_seeded(&random));
    }
    return c;
}

static void destroy_calls(struct calls *c)
{
    for (size_t i = 0; i < c->count; i++) {
        srtp_transport_destroy(c->sender[i]);
        srtp_transport_destroy(c->receiver[i]);
    }
    free(c);
}

/* --- cases ------------------------------------------------------------------------------------ */

static void protect(const struct talk *t, size_t count)
{
    struct calls *c = t->calls;
    for (size_t i = 0; i < count; i++) {
        const size_t speaker = i % t->speakers;
        struct byte_writer w;
        byte_writer_init(&w, c->packet[i], PACKET_CAP);
        byte_writer_u16(&w, 0x806f);
        byte_writer_u16(&w, c->sequence[speaker]++);
        byte_writer_u32(&w, 0);
        byte_writer_u32(&w, SSRC);
        byte_writer_zeros(&w, PAYLOAD_BYTES);
        struct bytes_span span = {c->packet[i], w.len, w.cap};
        const enum srtp_transport_result result =
            srtp_transport_protect_rtp(c->sender[speaker], &span);
        assert(result == SRTP_TRANSPORT_OK);
        c->packet_len = span.len;
    }
}

static void unprotect(const struct talk *t, size_t count, enum srtp_transport_result expected)
{
    struct calls *c = t->calls;
    bool is_newest = false;
    for (size_t i = 0; i < count; i++) {
        struct bytes_span span = {c->packet[i], c->packet_len, PACKET_CAP};
        const enum srtp_transport_result result =
            srtp_transport_unprotect_rtp(c->receiver[i % t->speakers], &span, &is_newest, US_PER_S);
        assert(result == expected);
    }
}

static void run_protect(void *context, size_t count)
{
    protect(context, count);
}

static void run_unprotect(void *context, size_t count)
{
    bench_pause();
    protect(context, count);
    bench_resume();
    unprotect(context, count, SRTP_TRANSPORT_OK);
}

static void run_forged(void *context, size_t count)
{
    const struct talk *t = context;
    bench_pause();
    protect(t, count);
    for (size_t i = 0; i < count; i++) {
        t->calls->packet[i][t->calls->packet_len - 1] ^= 1;
    }
    bench_resume();
    unprotect(t, count, SRTP_TRANSPORT_AUTH);
}

/* --- main ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void *context, size_t count);
    double goal;
} kind[] = {
    {"protect", run_protect, 600}, {"open", run_unprotect, 600}, {"forged", run_forged, 300}};

static const struct {
    const char *name;
    size_t calls;
    size_t speakers;
} crowd[] = {{"1", 1, 1}, {"1_of_4000", 4000, 1}, {"1000", 1000, 1000}, {"4000", 4000, 4000}};

#define KINDS  COUNT_OF(kind)
#define CROWDS COUNT_OF(crowd)
#define CASES  (KINDS * CROWDS)

/* The cases of one profile. */
struct suite {
    struct talk talk[CROWDS];
    char figure[CASES][32];
};

static void open_suite(struct suite *s, struct bench_case *cases, const char *name,
                       enum srtp_profile profile)
{
    for (size_t i = 0; i < CROWDS; i++) {
        s->talk[i] = (struct talk){create_calls(crowd[i].calls, profile), crowd[i].speakers};
    }
    for (size_t i = 0; i < CASES; i++) {
        const size_t k = i / CROWDS;
        const size_t c = i % CROWDS;
        (void)snprintf(s->figure[i], sizeof(s->figure[i]), "%s_%s_%s", kind[k].name, name,
                       crowd[c].name);
        cases[i] = (struct bench_case){
            .figure = s->figure[i],
            .run = kind[k].run,
            .context = &s->talk[c],
            .count = PACKETS,
            .goal = kind[k].goal,
            .baseline = c == 0 ? NULL : s->figure[k * CROWDS],
            .ratio_goal = 1.25,
        };
    }
}

static void close_suite(struct suite *s)
{
    for (size_t i = 0; i < CROWDS; i++) {
        destroy_calls(s->talk[i].calls);
    }
}

int main(int argc, char **argv)
{
    static struct suite gcm;
    static struct suite sha1;
    struct bench_case cases[2 * CASES];
    struct fault fault;
    const bool is_ready = srtp_transport_init(&fault);
    assert(is_ready);
    open_suite(&gcm, cases, "gcm", SRTP_PROFILE_AEAD_AES_128_GCM);
    open_suite(&sha1, cases + CASES, "sha1", SRTP_PROFILE_AES128_CM_SHA1_80);
    const int status = bench_run("srtp", cases, COUNT_OF(cases), argc, argv);
    close_suite(&gcm);
    close_suite(&sha1);
    return status;
}
