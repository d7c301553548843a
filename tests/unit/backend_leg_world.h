/* backend_leg_world.h - a leg, what it has said, and a backend to answer it */
#ifndef EARSHOT_BACKEND_LEG_WORLD_H
#define EARSHOT_BACKEND_LEG_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/session/backend_leg.h"
#include "tests/outbox_frames.h"

#include <stdlib.h>

#define ID       0x0000aa01
#define BEGIN_US UINT64_C(5000000)

#define STARTING BACKEND_LEG_STARTING
#define ACCEPTED BACKEND_LEG_ACCEPTED
#define AWAY     BACKEND_LEG_AWAY
#define RESUMING BACKEND_LEG_RESUMING
#define ASKED    BACKEND_LEG_ASKED
#define OVER     BACKEND_LEG_OVER

static const struct backend_ended no_totals;
static const struct backend_position position = {5, 2000000, 7000000, 1240000, 17000000};

struct world {
    struct random_generator random;
    struct outbox *outbox;
    struct outbox_frames frames;
    struct backend_leg leg;
    uint64_t now_us;
};

static inline struct backend_start start_of(const char *call_id)
{
    return (struct backend_start){
        .call_id = call_id,
        .in = {{BACKEND_CODEC_PCM16, 24}, {BACKEND_CODEC_PCM16, 16}},
        .in_count = 2,
        .out = {{BACKEND_CODEC_PCM16, 24}},
        .out_count = 1,
        .wall_clock_us = 1000000000,
    };
}

static inline bool open_world_with(struct world *w, const struct backend_start *start)
{
    *w = (struct world){.outbox = outbox_create(1, 1 << 20), .now_us = BEGIN_US};
    random_generator_init(&w->random, 7);
    w->frames = (struct outbox_frames){.outbox = w->outbox};
    const struct backend_leg_config config = {
        .session_id = ID, .start = start, .random = random_seeded(&w->random), .outbox = w->outbox};
    return backend_leg_init(&w->leg, &config, BEGIN_US);
}

static inline void open_world(struct world *w)
{
    const struct backend_start start = start_of("rtc_x");
    assert_true(open_world_with(w, &start));
}

static inline void close_world(struct world *w)
{
    outbox_frames_end(&w->frames);
    backend_leg_deinit(&w->leg);
    outbox_destroy(w->outbox);
}

static inline enum backend_leg_event hear(struct world *w, unsigned type, const char *json)
{
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .flags = BACKEND_FLAG_LAST,
                                        .session = ID,
                                        .payload = bytes_view_of_text(json)};
    return backend_leg_input(&w->leg, &frame, w->now_us);
}

static inline struct backend_start_request expect_start(struct world *w)
{
    const struct backend_frame frame = outbox_frames_expect(&w->frames, BACKEND_SESSION_START);
    struct backend_start_request start;
    assert_true(backend_start_decode(frame.payload, &start));
    return start;
}

static inline struct backend_resume expect_resume(struct world *w)
{
    const struct backend_frame frame = outbox_frames_expect(&w->frames, BACKEND_SESSION_RESUME);
    struct backend_resume resume;
    assert_true(backend_resume_decode(frame.payload, &resume));
    return resume;
}

static inline void reconnect(struct world *w, bool can_resume)
{
    const bool is_known = can_resume && w->leg.was_accepted;
    assert_int_equal(backend_leg_reconnect(&w->leg, can_resume, &position, 9000000, w->now_us),
                     !is_known);
}

/* A leg in each state that it can be in, and its START was read. */
static inline void enter(struct world *w, enum backend_leg_state state)
{
    open_world(w);
    (void)expect_start(w);
    if (state != STARTING && state != OVER) {
        assert_int_equal(hear(w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_ACCEPT);
    }
    if (state == ASKED) {
        assert_int_equal(hear(w, BACKEND_SESSION_END, "{\"when\":\"drained\"}"),
                         BACKEND_LEG_GOT_END_DRAINED);
    } else if (state == AWAY || state == RESUMING) {
        backend_leg_lost(&w->leg, w->now_us);
    } else if (state == OVER) {
        assert_int_equal(hear(w, BACKEND_SESSION_REJECT, "{}"), BACKEND_LEG_GOT_REJECT);
    }
    if (state == RESUMING) {
        reconnect(w, true);
        (void)expect_resume(w);
    }
    assert_int_equal(w->leg.state, state);
}

#endif
