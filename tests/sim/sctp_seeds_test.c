/*
 * sctp_seeds_test.c - associations over networks drawn from seeds: everything once, and in order
 *
 *   sctp_seeds_test                       SEEDS_BY_ITSELF associations, from seed 1
 *   sctp_seeds_test --seed N              one
 *   sctp_seeds_test --count N [--from N]  so many
 *
 * A seed draws loss of 0 to 20 %, delay, jitter, repetition, where the TSNs begin, who begins,
 * ends that do not listen for a while, and what is said: in streams that are ordered, unordered or
 * not reliable, messages of 8 to 262,144 bytes. Streams that are done begin anew and are used
 * again. At last one end shuts the association down. The first broken seeds are told; the exit
 * code is 1.
 */
#include "tests/support/sctp_pair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEDS_BY_ITSELF 60
#define BROKEN_MAX      5
#define STREAMS         6
#define LIVES           2 /* of a stream: before and after its reset */
#define MESSAGES_MAX    24
#define HEAD_BYTES      8
#define PATIENCE_US     (600 * US_PER_S)

/* What one end says in one life of one stream, and how much of it the other has heard. */
struct life {
    bool is_unordered;
    struct sctp_reliability reliability;
    uint32_t size[MESSAGES_MAX];
    uint32_t count;
    uint32_t sent;
    uint32_t heard;
    uint32_t next; /* the lowest number that may come in an ordered stream */
    bool has_come[MESSAGES_MAX];
};

struct stream {
    struct life life[LIVES];
    unsigned sending; /* which life is being said, LIVES: none is left */
    unsigned hearing;
    bool is_resetting;
};

struct world {
    struct sctp_pair *pair;
    struct random_generator random;
    struct stream stream[2][STREAMS]; /* by the end that says it */
    unsigned connected;
    unsigned closed;
    const char *broken; /* the first rule that was */
};

static uint8_t text[SCTP_PAIR_MESSAGE_BYTES];

static uint64_t draw(struct world *w, uint64_t below)
{
    return random_generator_next(&w->random) % below;
}

static void breaks(struct world *w, const char *rule)
{
    if (w->broken == NULL) {
        w->broken = rule;
    }
}

/* --- what is said ----------------------------------------------------------------------------- */

static uint32_t draw_size(struct world *w)
{
    const uint64_t kind = draw(w, 1000);
    const uint64_t most = kind < 700 ? 300 : kind < 900 ? 3000 : kind < 990 ? 20000 : 65536;
    return kind == 999 ? SCTP_PAIR_MESSAGE_BYTES : (uint32_t)(HEAD_BYTES + draw(w, most));
}

static struct life draw_life(struct world *w)
{
    struct life life = {.is_unordered = draw(w, 4) == 0,
                        .count = (uint32_t)(1 + draw(w, MESSAGES_MAX))};
    const uint64_t kind = draw(w, 6);
    if (kind == 0) {
        life.reliability.kind = SCTP_MAX_RETRANSMITS;
        life.reliability.limit = (uint32_t)draw(w, 3);
    } else if (kind == 1) {
        life.reliability.kind = SCTP_LIFETIME;
        life.reliability.limit = (uint32_t)draw(w, 500);
    }
    for (uint32_t i = 0; i < life.count; i++) {
        life.size[i] = draw_size(w);
    }
    return life;
}

static uint8_t letter(uint32_t number, size_t at)
{
    return (uint8_t)((number * 31 + at) * 2654435761U >> 13);
}

static struct bytes_view say(unsigned life, uint32_t number, uint32_t size)
{
    struct byte_writer w;
    byte_writer_init(&w, text, sizeof(text));
    byte_writer_u32(&w, life);
    byte_writer_u32(&w, number);
    for (size_t i = HEAD_BYTES; i < size; i++) {
        text[i] = letter(number, i);
    }
    return bytes_view_of(text, size);
}

static bool is_as_said(struct bytes_view data, uint32_t number)
{
    for (size_t i = HEAD_BYTES; i < data.len; i++) {
        if (data.data[i] != letter(number, i)) {
            return false;
        }
    }
    return true;
}

/* --- what is heard ---------------------------------------------------------------------------- */

static void hear(struct world *w, struct stream *s, const struct sctp_message *message)
{
    struct byte_reader r;
    byte_reader_init(&r, message->data);
    const uint32_t life_number = byte_reader_u32(&r);
    const uint32_t number = byte_reader_u32(&r);
    if (life_number != s->hearing || life_number >= LIVES) {
        breaks(w, "a message of another life of its stream");
        return;
    }
    struct life *life = &s->life[life_number];
    if (number >= life->sent || message->data.len != life->size[number] ||
        !is_as_said(message->data, number)) {
        breaks(w, "a message that nobody sent");
        return;
    }
    if (life->has_come[number]) {
        breaks(w, "a message twice");
    }
    if (!life->is_unordered && number < life->next) {
        breaks(w, "a message out of order");
    }
    if (message->is_unordered != life->is_unordered || message->ppid != 51 + number) {
        breaks(w, "a message with another PPID or order");
    }
    life->has_come[number] = true;
    life->next = number + 1;
    life->heard++;
}

static void take_message(void *context, int end, const struct sctp_message *message)
{
    struct world *w = context;
    if (message->stream >= STREAMS) {
        breaks(w, "a message in a stream that nobody used");
        return;
    }
    hear(w, &w->stream[1 - end][message->stream], message);
}

/* All of a reliable life has been heard when its end is told. */
static void end_life(struct world *w, struct stream *s)
{
    if (s->hearing >= LIVES) {
        breaks(w, "a reset that nobody asked for");
        return;
    }
    const struct life *life = &s->life[s->hearing];
    if (life->sent < life->count ||
        (life->reliability.kind == SCTP_RELIABLE && life->heard < life->count)) {
        breaks(w, "a reset before the last message");
    }
    s->hearing++;
}

static void take_event(void *context, int end, const struct sctp_event *event)
{
    struct world *w = context;
    switch (event->kind) {
    case SCTP_EVENT_CONNECTED:
        w->connected++;
        break;
    case SCTP_EVENT_STREAM_RESET_BY_PEER:
        end_life(w, &w->stream[1 - end][event->stream]);
        break;
    case SCTP_EVENT_RESET_DONE:
        w->stream[end][event->stream].is_resetting = false;
        w->stream[end][event->stream].sending++;
        break;
    case SCTP_EVENT_CLOSED:
        w->closed++;
        break;
    case SCTP_EVENT_RESET_REFUSED:
        breaks(w, "a reset is refused");
        break;
    case SCTP_EVENT_MESSAGE_DROPPED:
        breaks(w, "a message is too long");
        break;
    case SCTP_EVENT_FAILED:
        breaks(w, "the association failed");
        break;
    }
}

/* --- a run ------------------------------------------------------------------------------------ */

static struct sctp_pair *draw_pair(struct world *w, uint64_t seed)
{
    const uint64_t delay_us = draw(w, 100 * US_PER_MS);
    struct sctp_pair_config c = {
        .link = {.seed = seed,
                 .delay_us = delay_us,
                 .jitter_us = draw(w, 2) == 0 ? 0 : draw(w, 1 + delay_us),
                 .loss_per_mille = draw(w, 4) == 0 ? 0 : (unsigned)draw(w, 201),
                 .burst_mean = draw(w, 4) == 0 ? 2 : 1,
                 .repeat_per_mille = draw(w, 2) == 0 ? 0 : (unsigned)draw(w, 100),
                 .stray_per_mille = draw(w, 2) == 0 ? 0 : (unsigned)draw(w, 20),
                 .stray_us = draw(w, US_PER_S)},
        .hooks = {.context = w, .message = take_message, .event = take_event},
        .zero_checksum = {draw(w, 2) == 0, draw(w, 2) == 0},
        .begin_us = draw(w, 2) == 0 ? 0 : UINT64_C(1) << 32,
    };
    for (int end = 0; end < 2; end++) {
        c.first_tsn[end] =
            draw(w, 2) == 0 ? (uint32_t)draw(w, UINT32_MAX) : UINT32_MAX - (uint32_t)draw(w, 50);
    }
    return sctp_pair_create(&c);
}

/* One message, or the stream's end. False: nothing is left to say. */
static bool go_on(struct world *w, int end, uint16_t number)
{
    struct stream *s = &w->stream[end][number];
    struct sctp_association *a = w->pair->end[end];
    if (s->sending >= LIVES || s->is_resetting) {
        return s->is_resetting;
    }
    struct life *life = &s->life[s->sending];
    if (life->sent == life->count) {
        s->is_resetting = sctp_association_reset_streams(a, &number, 1, w->pair->now_us);
        if (!s->is_resetting) {
            breaks(w, "a reset can not be asked for");
        }
        return true;
    }
    const struct sctp_message message = {
        .stream = number,
        .ppid = 51 + life->sent,
        .is_unordered = life->is_unordered,
        .data = say(s->sending, life->sent, life->size[life->sent]),
    };
    const enum sctp_send_result result =
        sctp_association_send(a, &message, &life->reliability, w->pair->now_us);
    if (result == SCTP_SEND_OK) {
        life->sent++;
    } else if (result != SCTP_SEND_FULL) {
        breaks(w, "a message is refused");
    }
    return true;
}

/* False: all has been said and heard. */
static bool talk(struct world *w)
{
    bool is_left = false;
    for (int end = 0; end < 2; end++) {
        for (uint16_t i = 0; i < STREAMS; i++) {
            const struct stream *s = &w->stream[end][i];
            const bool is_silent = draw(w, 3) != 0;
            is_left |= s->sending < LIVES || s->hearing < LIVES;
            if (!is_silent) {
                (void)go_on(w, end, i);
            }
        }
        w->pair->is_deaf[end] = draw(w, 20) == 0;
    }
    return is_left;
}

static void run(struct world *w)
{
    const uint64_t until_us = w->pair->now_us + PATIENCE_US;
    const uint64_t who = 1 + draw(w, 3);
    sctp_pair_connect(w->pair, (who & 1) != 0, (who & 2) != 0);
    while (w->connected < 2 && w->broken == NULL && w->pair->now_us < until_us) {
        sctp_pair_run_until(w->pair, w->pair->now_us + US_PER_S);
    }
    while (talk(w) && w->broken == NULL && w->pair->now_us < until_us) {
        sctp_pair_run_until(w->pair, w->pair->now_us + draw(w, 100 * US_PER_MS));
    }
    w->pair->is_deaf[0] = w->pair->is_deaf[1] = false;
    sctp_association_shutdown(w->pair->end[draw(w, 2)], w->pair->now_us);
    while (w->closed < 2 && w->broken == NULL && w->pair->now_us < until_us) {
        sctp_pair_run_until(w->pair, w->pair->now_us + US_PER_S);
    }
    if (w->pair->now_us >= until_us) {
        breaks(w, w->connected < 2 ? "it does not connect"
                  : w->closed > 0  ? "it does not end"
                                   : "not everything comes");
    }
}

/* NULL, or the rule that is broken. */
static const char *play(uint64_t seed, uint64_t *virtual_us, uint64_t *packets)
{
    struct world *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return "memory";
    }
    random_generator_init(&w->random, seed);
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < STREAMS; i++) {
            for (int life = 0; life < LIVES; life++) {
                w->stream[end][i].life[life] = draw_life(w);
            }
        }
    }
    w->pair = draw_pair(w, seed);
    const uint64_t begin_us = w->pair->now_us;
    run(w);
    const char *broken = w->broken;
    *virtual_us += w->pair->now_us - begin_us;
    *packets += w->pair->packets[0] + w->pair->packets[1];
    sctp_pair_destroy(w->pair);
    free(w);
    return broken;
}

static bool read_options(int argc, char **argv, uint64_t *from, uint64_t *count)
{
    *from = 1;
    *count = SEEDS_BY_ITSELF;
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        const uint64_t number = i + 1 < argc ? strtoull(argv[i + 1], &end, 10) : 0;
        if (end == NULL || *end != '\0') {
            return false;
        }
        if (strcmp(argv[i], "--seed") == 0) {
            *from = number;
            *count = 1;
        } else if (strcmp(argv[i], "--from") == 0) {
            *from = number;
        } else if (strcmp(argv[i], "--count") == 0) {
            *count = number;
        } else {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    uint64_t from = 0;
    uint64_t count = 0;
    uint64_t virtual_us = 0;
    uint64_t packets = 0;
    unsigned broken = 0;
    if (!read_options(argc, argv, &from, &count)) {
        (void)fputs("usage: sctp_seeds_test [--seed N | --count N [--from N]]\n", stderr);
        return 2;
    }
    for (uint64_t seed = from; seed < from + count && broken < BROKEN_MAX; seed++) {
        const char *rule = play(seed, &virtual_us, &packets);
        if (rule != NULL) {
            (void)printf("seed %" PRIu64 ": %s (sctp_seeds_test --seed %" PRIu64 ")\n", seed, rule,
                         seed);
            broken++;
        }
    }
    (void)printf("%" PRIu64 " seeds from %" PRIu64 ": %u broken; %" PRIu64 " virtual s, %" PRIu64
                 " packets\n",
                 count, from, broken, virtual_us / US_PER_S, packets);
    return broken == 0 ? 0 : 1;
}
