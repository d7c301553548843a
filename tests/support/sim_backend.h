/*
 * sim_backend.h - a voice agent in virtual time that does as it is told, one call at a time
 *
 * Takes:   the bytes of its connection, and deeds: speak, flush, pause, stall, talk nonsense.
 * Gives:   bytes. Speech goes out as fast as the credit allows, or slower where a deed says so.
 * Checks:  what it hears, by the rules of a voice agent (sim_agent_rules.h).
 * Keeps:   its memory of the call when the connection is lost: it resumes, if it may.
 */
#ifndef EARSHOT_SIM_BACKEND_H
#define EARSHOT_SIM_BACKEND_H

#include "common/base/random.h"
#include "tests/support/sim_agent_rules.h"

struct sim_backend_config {
    uint64_t seed;
    uint64_t start_us;            /* when the call is placed */
    struct backend_format format; /* of both directions, if it is offered */
    unsigned prebuffer_ms;
    unsigned progress_ms;
    uint64_t accept_us;    /* how long it thinks before ACCEPT */
    bool resumes;          /* says so in HELLO */
    bool ignores_flushes;  /* goes on sending what it has flushed for a while */
    bool pauses_on_speech; /* on_speech:"pause" */
    bool answers_no_end;   /* SESSION_END of the transceiver */
    /* A whole EVENT; NULL: they are not looked at. */
    void (*hear_event)(void *context, struct bytes_view text, uint64_t now_us);
    void *context;
    struct sim_journal *journal;
};

struct sim_backend;

struct sim_backend *sim_backend_create(const struct sim_backend_config *config);
void sim_backend_destroy(struct sim_backend *b);
/* A new connection: greets. */
void sim_backend_connect(struct sim_backend *b, uint64_t now_us);

/* Room for what the transceiver wrote; none while it stalls. */
struct bytes_span sim_backend_reserve(struct sim_backend *b, uint64_t now_us);
void sim_backend_commit(struct sim_backend *b, size_t len, uint64_t now_us);
struct bytes_view sim_backend_output(const struct sim_backend *b);
void sim_backend_sent(struct sim_backend *b, size_t len);
void sim_backend_tick(struct sim_backend *b, uint64_t now_us);
uint64_t sim_backend_next_timeout(const struct sim_backend *b);

/* Deeds. Without a call they do nothing. */

/* A new utterance; its id, 0 = none. pace_us: for each 100 ms of it; 0 = at once. */
uint32_t sim_backend_speak(struct sim_backend *b, uint64_t duration_us, uint64_t pace_us,
                           bool is_complete, uint64_t now_us);
/* 0: all of them. */
void sim_backend_flush(struct sim_backend *b, uint32_t utterance, uint64_t now_us);
void sim_backend_pause(struct sim_backend *b, uint32_t utterance, uint64_t now_us);
/* Resumes whatever it has paused. */
void sim_backend_go_on(struct sim_backend *b, uint64_t now_us);
/* An EVENT, in chunks; it is said at once. False: it has no call that it has accepted. */
bool sim_backend_say_event(struct sim_backend *b, struct bytes_view text, uint64_t now_us);
/* Reads nothing until then. */
void sim_backend_stall(struct sim_backend *b, uint64_t until_us);
/* More than its credit, an odd byte, a codec it did not choose, types that do not exist. */
void sim_backend_talk_nonsense(struct sim_backend *b, uint64_t now_us);
/* GOAWAY: its calls may go on here for so long. */
void sim_backend_go_away(struct sim_backend *b, uint64_t within_us, uint64_t now_us);
/* False: it has no call that it has accepted. */
bool sim_backend_end(struct sim_backend *b, bool when_drained, uint64_t now_us);

/* The id that was said last. */
uint32_t sim_backend_newest(const struct sim_backend *b);
struct sim_agent_rules *sim_backend_rules(struct sim_backend *b);

#endif
