/* sim_events.c - see sim_events.h */
#include "tests/support/sim_events.h"

#include "common/base/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void sim_events_init(struct sim_events *e, struct sim_journal *journal)
{
    *e = (struct sim_events){.journal = journal};
}

/* Most are short, some need several packets, few several frames. */
static size_t length_of(struct random_generator *random)
{
    static const uint32_t longest[] = {40, 300, 300, 1500, 6000, SIM_EVENTS_BYTES_MAX};
    const uint64_t kind = random_generator_next(random) % COUNT_OF(longest);
    return 24 + random_generator_next(random) % (longest[kind] - 24);
}

/* Each number has one text. */
static struct bytes_view text_of(struct sim_events *e, enum sim_events_way way, uint32_t number)
{
    struct random_generator random;
    random_generator_init(&random, (uint64_t)number << 1 | (uint64_t)way);
    const size_t len = length_of(&random);
    const int head = snprintf(e->text, sizeof(e->text), "%s %" PRIu32 " ",
                              way == SIM_EVENTS_UP ? "up" : "down", number);
    for (size_t i = (size_t)head; i < len; i++) {
        e->text[i] = (char)('a' + (number + i) % 26);
    }
    return bytes_view_of(e->text, len);
}

struct bytes_view sim_events_next(struct sim_events *e, enum sim_events_way way)
{
    return text_of(e, way, e->way[way].said);
}

void sim_events_said(struct sim_events *e, enum sim_events_way way)
{
    e->way[way].said++;
}

void sim_events_came(struct sim_events *e, enum sim_events_way way, struct bytes_view text,
                     uint64_t now_us)
{
    struct sim_events_count *count = &e->way[way];
    char head[32];
    if (text.len > 0 && text.data[0] == '{') {
        return; /* the transceiver's own */
    }
    (void)snprintf(head, sizeof(head), "%.*s", (int)text.len, (const char *)text.data);
    const char *blank = strchr(head, ' ');
    const uint32_t number = blank == NULL ? UINT32_MAX : (uint32_t)strtoul(blank, NULL, 10);
    count->came++;
    if (!bytes_equal(text, text_of(e, way, number))) {
        sim_journal_fault(e->journal, now_us, "an event comes as it was said: %s", head);
    } else if (number < count->next || number >= count->said) {
        sim_journal_fault(e->journal, now_us, "an event comes once, in order: %s", head);
    } else if (number > count->next && !e->may_be_missing) {
        sim_journal_fault(e->journal, now_us, "no event is missing: %s, not %" PRIu32, head,
                          count->next);
    }
    count->next = number + 1;
}

void sim_events_lost_backend(struct sim_events *e)
{
    e->may_be_missing = true;
}
