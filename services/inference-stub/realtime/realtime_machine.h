/*
 * realtime_machine.h - the parts of a call, for the two files that move it: realtime.c (facts) and
 *                      client_commands.c (events of clients)
 */
#ifndef EARSHOT_REALTIME_MACHINE_H
#define EARSHOT_REALTIME_MACHINE_H

#include "services/inference-stub/realtime/active_response.h"
#include "services/inference-stub/realtime/input_buffer.h"
#include "services/inference-stub/realtime/playback.h"
#include "services/inference-stub/realtime/realtime_session.h"

struct realtime {
    struct event_queue events;
    struct order_queue orders;
    struct realtime_session session;
    struct conversation conversation;
    struct active_response response;
    struct playback playback;
    struct input_buffer input;
    size_t message_bytes_max;
    bool answer_waits; /* a turn ended while a response was active */
};

/* overrides: checked, or NULL. Only while no response is active. */
void realtime_machine_respond(struct realtime *r, const json_t *overrides);
/* The active response, if there is one. */
void realtime_machine_cancel(struct realtime *r, const char *reason);
/* After a response may have ended: the turn that waits for an answer gets it. */
void realtime_machine_go_on(struct realtime *r);
/* Orders turn detection as the session has it. */
void realtime_machine_detect_turns(struct realtime *r);

#endif
