/*
 * realtime_seeds_test.c - conversations drawn from seeds, under every rule that clients insist on
 *
 *   realtime_seeds_test            SEEDS_BY_ITSELF of them, from seed 1
 *   realtime_seeds_test N          seed N alone, step by step
 *
 * Clients, users, agents and transceivers do anything in any order; a few steps go by before what
 * they caused is taken.
 */
#include "common/base/time_us.h"
#include "tests/support/realtime_world.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEDS_BY_ITSELF 1000
#define STEPS           80
#define IDS             8

struct play {
    struct realtime_world world;
    struct random_generator dice;
    char ids[IDS][72]; /* of items and responses that were seen */
    unsigned id_count;
    bool is_loud;
};

static unsigned roll(struct play *p, unsigned sides)
{
    return (unsigned)(random_generator_next(&p->dice) % sides);
}

/* One that was seen, or none that ever was. */
static const char *some_id(struct play *p)
{
    const unsigned i = roll(p, IDS + 1);
    return i < p->id_count ? p->ids[i] : "item_none";
}

static const char *one_of(struct play *p, const char *const *texts, unsigned count)
{
    return texts[roll(p, count)];
}

/* --- what a client sends ---------------------------------------------------------------------- */

static void make_update(struct play *p, char *event, size_t cap)
{
    static const char *const sessions[] = {
        "{}",
        "7",
        "{\"output_modalities\":[\"text\"]}",
        "{\"output_modalities\":[\"audio\"]}",
        "{\"audio\":{\"input\":{\"turn_detection\":null}}}",
        "{\"audio\":{\"input\":{\"turn_detection\":{\"type\":\"semantic_vad\"}}}}",
        "{\"audio\":{\"input\":{\"turn_detection\":{\"interrupt_response\":false}}}}",
        "{\"audio\":{\"input\":{\"turn_detection\":{\"create_response\":false}}}}",
        "{\"audio\":{\"input\":{\"transcription\":{\"model\":\"m\"}}}}",
        "{\"tools\":[{\"type\":\"function\",\"name\":\"get_weather\"}]}",
    };
    (void)snprintf(event, cap, "{\"type\":\"session.update\",\"session\":%s}",
                   one_of(p, sessions, COUNT_OF(sessions)));
}

static void make_item(struct play *p, char *event, size_t cap)
{
    static const char *const items[] = {
        "\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
        "\"hello\"}]",
        "\"type\":\"message\",\"role\":\"system\",\"content\":[]",
        "\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_audio\","
        "\"transcript\":\"hi\"}]",
        "\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"o\"",
        "\"type\":\"function_call\",\"name\":\"n\",\"call_id\":\"c\",\"arguments\":\"{}\"",
        "\"type\":\"message\",\"role\":\"user\"",
    };
    const char *item = one_of(p, items, COUNT_OF(items));
    switch (roll(p, 4)) {
    case 0:
        (void)snprintf(event, cap,
                       "{\"type\":\"conversation.item.create\",\"previous_item_id\":\"%s\","
                       "\"item\":{%s}}",
                       some_id(p), item);
        break;
    case 1:
        (void)snprintf(event, cap,
                       "{\"type\":\"conversation.item.create\",\"item\":{\"id\":\"%s\",%s}}",
                       some_id(p), item);
        break;
    default:
        (void)snprintf(event, cap, "{\"type\":\"conversation.item.create\",\"item\":{%s}}", item);
        break;
    }
}

static void make_about_item(struct play *p, char *event, size_t cap)
{
    static const char *const types[] = {"retrieve", "delete", "truncate"};
    (void)snprintf(event, cap,
                   "{\"type\":\"conversation.item.%s\",\"item_id\":\"%s\",\"content_index\":0,"
                   "\"audio_end_ms\":%u}",
                   one_of(p, types, COUNT_OF(types)), some_id(p), roll(p, 2000));
}

static void make_plain(struct play *p, char *event, size_t cap)
{
    static const char *const events[] = {
        "{\"type\":\"response.create\"}",
        "{\"type\":\"response.create\"}",
        "{\"type\":\"response.create\",\"response\":{\"output_modalities\":[\"text\"]}}",
        "{\"type\":\"response.create\",\"response\":{\"conversation\":\"none\"}}",
        "{\"type\":\"response.create\",\"response\":{\"input\":[]}}",
        "{\"type\":\"response.cancel\"}",
        "{\"type\":\"response.cancel\",\"response_id\":\"resp_none\"}",
        "{\"type\":\"output_audio_buffer.clear\"}",
        "{\"type\":\"output_audio_buffer.clear\"}",
        "{\"type\":\"input_audio_buffer.commit\"}",
        "{\"type\":\"input_audio_buffer.clear\"}",
        "{\"type\":\"input_audio_buffer.append\",\"audio\":\"AAAAAAAA\"}",
        "{\"type\":\"no.such.event\",\"event_id\":\"e\"}",
        "{\"type\":",
    };
    (void)snprintf(event, cap, "%s", one_of(p, events, COUNT_OF(events)));
}

static void act_as_client(struct play *p)
{
    static void (*const makers[])(struct play *, char *, size_t) = {
        make_update, make_item, make_about_item, make_plain, make_plain, make_plain};
    char event[1024];
    makers[roll(p, COUNT_OF(makers))](p, event, sizeof(event));
    client(&p->world, event);
}

/* --- what the others do ----------------------------------------------------------------------- */

static void act_as_user_or_agent(struct play *p)
{
    static realtime_step *const steps[] = {
        audio,  speech_begins, speech_begins, speech_ends, speech_ends, transcribes,
        greets, speaks,        speaks,        speaks,      says,        says_end,
        says,   calls_tool,    fails,         resumes,     says_end,    audio};
    steps[roll(p, COUNT_OF(steps))](&p->world, "100");
}

static void act_as_transceiver(struct play *p)
{
    struct realtime_world *w = &p->world;
    const uint32_t utterance = w->utterance > 3 ? w->utterance - roll(p, 4) : w->utterance;
    if (roll(p, 4) == 0) {
        const uint32_t flush = w->flush != 0 ? w->flush : utterance;
        realtime_flushed(w->realtime, &(struct realtime_flushed){.flush = flush,
                                                                 .utterance = roll(p, 2) * flush,
                                                                 .heard_us = 5 * US_PER_MS});
        w->flush = 0;
        return;
    }
    realtime_playback(w->realtime, (enum realtime_playback_state)roll(p, 4), utterance,
                      roll(p, 100) * US_PER_MS);
}

static void note_ids(struct play *p)
{
    static const char *const paths[] = {"item.id", "item_id", "response.id"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const char *id = realtime_world_field(&p->world, paths[i]);
        if (id[0] != '\0') {
            (void)snprintf(p->ids[p->id_count % IDS], sizeof(p->ids[0]), "%s", id);
            p->id_count = p->id_count < IDS ? p->id_count + 1 : roll(p, IDS);
        }
    }
}

static void take_all(struct play *p)
{
    realtime_world_drain(&p->world);
    note_ids(p);
    if (p->is_loud) {
        printf("  %s\n", p->world.events);
    }
}

/* Whatever is open ends, as it does when a call stays long enough. */
static void end(struct play *p)
{
    struct realtime_world *w = &p->world;
    /* Twice: a turn may have waited for its answer. */
    for (unsigned i = 0; i < 2; i++) {
        client(w, "{\"type\":\"response.cancel\"}");
        take_all(p);
    }
    for (uint32_t utterance = 1; utterance <= w->utterance; utterance++) {
        realtime_playback(w->realtime, REALTIME_PLAYBACK_DONE, utterance, 0);
    }
    take_all(p);
    realtime_rules_check_end(&w->rules);
}

static bool play_seed(uint64_t seed, bool is_loud)
{
    static struct play p;
    static const uint32_t bytes_max[] = {4096, 16384, 65536, 262144};
    p = (struct play){.is_loud = is_loud};
    random_generator_init(&p.dice, seed);
    realtime_world_open(&p.world,
                        &(struct realtime_world_config){.seed = seed,
                                                        .message_bytes_max = bytes_max[roll(&p, 4)],
                                                        .is_restarted = roll(&p, 8) == 0});
    for (unsigned i = 0; i < STEPS && p.world.rules.broken[0] == '\0'; i++) {
        const unsigned who = roll(&p, 10);
        if (who < 4) {
            act_as_client(&p);
        } else if (who < 8) {
            act_as_user_or_agent(&p);
        } else {
            act_as_transceiver(&p);
        }
        if (roll(&p, 4) > 0) {
            take_all(&p);
        }
    }
    end(&p);
    const bool is_whole = p.world.rules.broken[0] == '\0';
    if (!is_whole) {
        printf("seed %llu: %s\n", (unsigned long long)seed, p.world.rules.broken);
    }
    realtime_world_close(&p.world);
    return is_whole;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return play_seed(strtoull(argv[1], NULL, 10), true) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    unsigned broken = 0;
    for (uint64_t seed = 1; seed <= SEEDS_BY_ITSELF && broken < 5; seed++) {
        broken += !play_seed(seed, false);
    }
    printf("%d seeds, %u broken\n", SEEDS_BY_ITSELF, broken);
    return broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
