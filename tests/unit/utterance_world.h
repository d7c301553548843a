/* utterance_world.h - a table of utterances with a backend, and what is put into it */
#ifndef EARSHOT_TESTS_UTTERANCE_WORLD_H
#define EARSHOT_TESTS_UTTERANCE_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/media/held_ids.h"
#include "services/transceiver/core/media/utterance_table.h"

#define FRAME  UTTERANCE_FRAME_TICKS
#define NOW_US (50 * US_PER_S)

static inline int open_table(void **state, const struct utterance_pace *pace)
{
    struct utterance_table *t = utterance_table_create();
    assert_non_null(t);
    utterance_table_attach(t, pace, NOW_US);
    *state = t;
    return 0;
}

static inline int close_table(void **state)
{
    utterance_table_destroy(*state);
    return 0;
}

static inline enum utterance_admission piece(struct utterance_table *t, uint32_t id, uint64_t ticks,
                                             bool is_last)
{
    const enum utterance_admission admission = utterance_table_admit(t, id);
    if (admission == UTTERANCE_WELCOME) {
        utterance_table_add(t, ticks, is_last);
    }
    return admission;
}

static inline void expect_nothing(struct utterance_table *t)
{
    struct utterance_event event;
    assert_false(utterance_table_poll_event(t, &event));
}

#endif
