/* sideband_listener_world.h - a listener, what it asks for, and what it is told */
#ifndef EARSHOT_TESTS_SIDEBAND_LISTENER_WORLD_H
#define EARSHOT_TESTS_SIDEBAND_LISTENER_WORLD_H

#include "tests/testing.h"

#include "services/signaling/sideband_listener.h"

#define CALL     "rtc_Aone"
#define ID       7
#define START_US (100 * US_PER_S)

static struct {
    struct random_generator random;
    struct sideband_listener listener;
    struct control_request request; /* the last one */
    enum sideband_news_kind kind;   /* the last news */
    struct bytes_view text;
} w;

static inline int open_listener(void **state)
{
    (void)state;
    const struct control_call call = {.call_id = CALL, .tenant = {9}};
    random_generator_init(&w.random, 18);
    sideband_listener_init(&w.listener, &call, ID, random_seeded(&w.random), START_US);
    return 0;
}

static inline int close_listener(void **state)
{
    (void)state;
    sideband_listener_deinit(&w.listener);
    return 0;
}

static inline bool asks(enum control_request_kind kind, uint64_t now_us)
{
    return sideband_listener_poll_request(&w.listener, &w.request, now_us) &&
           w.request.kind == kind;
}

static inline bool asks_nothing(uint64_t now_us)
{
    return !sideband_listener_poll_request(&w.listener, &w.request, now_us);
}

static inline void reply(enum control_request_kind kind, struct control_reply reply,
                         uint64_t now_us)
{
    const struct session_outcome outcome = {.kind = SESSION_REPLIED, .reply = reply};
    sideband_listener_take_outcome(&w.listener, kind, &outcome, now_us);
}

static inline void attach_reply(uint64_t sequence, bool is_new, uint64_t now_us)
{
    reply(CONTROL_ATTACH_SIDEBAND,
          (struct control_reply){.kind = CONTROL_ATTACH_SIDEBAND,
                                 .sideband_sequence = sequence,
                                 .is_new_sideband = is_new},
          now_us);
}

static inline void refuse(enum control_request_kind kind, enum control_refusal refusal,
                          uint64_t now_us)
{
    reply(kind, (struct control_reply){.refusal = refusal}, now_us);
}

static inline void no_reply(enum control_request_kind kind, enum session_outcome_kind how,
                            uint64_t now_us)
{
    const struct session_outcome outcome = {.kind = how};
    sideband_listener_take_outcome(&w.listener, kind, &outcome, now_us);
}

static inline void hear(uint64_t sequence, uint32_t sideband_id, const char *text)
{
    const struct control_sideband_event event = {.call_id = CALL,
                                                 .sideband_id = sideband_id,
                                                 .sequence = sequence,
                                                 .text = bytes_view_of_text(text)};
    sideband_listener_hear(&w.listener, &event);
}

static inline bool has_news(void)
{
    return sideband_listener_poll_news(&w.listener, &w.kind, &w.text);
}

static inline void expect_event(const char *text)
{
    assert_true(has_news());
    assert_int_equal(w.kind, SIDEBAND_EVENT);
    assert_true(bytes_equal(w.text, bytes_view_of_text(text)));
}

static inline void expect_last(enum sideband_news_kind kind)
{
    assert_true(has_news());
    assert_int_equal(w.kind, kind);
    assert_false(has_news());
    hear(99, 0, "late");
    assert_false(has_news());
}

/* Attached when the call had had that many events. */
static inline void attach(uint64_t sequence)
{
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
    attach_reply(sequence, true, START_US);
    assert_true(has_news());
    assert_int_equal(w.kind, SIDEBAND_OPENED);
    assert_false(has_news());
}

#define LISTENING(test) cmocka_unit_test_setup_teardown(test, open_listener, close_listener)

#endif
