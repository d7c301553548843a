/*
 * utterance_table.h - the life of each piece of speech: it waits, plays, is held, and has ended
 *
 * Takes:   what the backend says of utterances (a piece came, flush, pause, resume), how much of
 *          one was spoken, time.
 * Gives:   whose turn it is, and events to poll: done exactly once for each utterance that had a
 *          piece, in the order of ids, whatever happens.
 * States:  QUEUED -> PLAYING <-> DRY -> DONE. DRY = ran out while open. A held one keeps its state,
 *          never starves, and holds those behind it.
 * Units:   media time in ticks of 1/48000 s: whole numbers at 8, 16, 24 and 48 kHz and in Opus.
 * Owns:    UTTERANCE_TABLE_MAX entries, 3 KB, from the first utterance on until a rest; no other
 *          heap after create. Entries that are done stay until room is needed, so that a backend
 *          that comes back can be told again.
 * Full:    of entries that were not told to their end, or no memory: a new utterance is refused,
 *          and is dead.
 * Source:  docs/backend-protocol.md, "Speech toward the client".
 * Not here: what is spoken (sample_ring.h, packet_ring.h): their owner drops the oldest until as
 *          much is left as utterance_table_queued says.
 */
#ifndef EARSHOT_UTTERANCE_TABLE_H
#define EARSHOT_UTTERANCE_TABLE_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define UTTERANCE_TABLE_MAX 64
/* 20 ms: what an utterance that ran out waits for. */
#define UTTERANCE_FRAME_TICKS 960
/* An open utterance with too little to play ends after this. */
#define UTTERANCE_STARVE_US (2 * US_PER_S)
/* A done is told again to a backend that comes back within this. */
#define UTTERANCE_DONE_KEPT_US (10 * US_PER_S)
/* Utterance 0 and this one mean "all that were seen" in a flush. */
#define UTTERANCE_ALL UINT32_MAX

/* Rounded down. */
static inline uint64_t utterance_us_of_ticks(uint64_t ticks)
{
    return ticks * 1000 / 48;
}

/* The nearest multiple of `unit` ticks, a divisor of 48. */
static inline uint64_t utterance_ticks_of_us(uint64_t us, uint64_t unit)
{
    return us / 1000 * 48 + (us % 1000 * 48 + 500 * unit) / (1000 * unit) * unit;
}

struct utterance_table;

/* NULL without memory. */
struct utterance_table *utterance_table_create(void);
void utterance_table_destroy(struct utterance_table *t);

/* How the backend wants it; both may change when it comes back. */
struct utterance_pace {
    uint64_t prebuffer_ticks; /* an utterance begins with this much, or complete; 0 = at once */
    uint64_t progress_ticks;  /* a playing utterance tells how far it is each time; 0 = never */
};

/* A backend is there: what has too little to play may starve, counted from now on. The dones of the
 * last UTTERANCE_DONE_KEPT_US are told again. */
void utterance_table_attach(struct utterance_table *t, const struct utterance_pace *pace,
                            uint64_t now_us);
/* Nobody can send more: nothing starves until attach. */
void utterance_table_detach(struct utterance_table *t);

enum utterance_admission {
    UTTERANCE_WELCOME, /* it is the youngest, and all before it are complete */
    UTTERANCE_STALE,   /* done, flushed, complete, or lower than the newest: no effect */
    UTTERANCE_NO_ROOM  /* refused; from now on STALE */
};

bool utterance_table_is_stale(const struct utterance_table *t, uint32_t id);
/* A piece of this id came. */
enum utterance_admission utterance_table_admit(struct utterance_table *t, uint32_t id);
/* To the one that was WELCOME. is_last: no piece follows. */
void utterance_table_add(struct utterance_table *t, uint64_t ticks, bool is_last);
/* No piece follows of any: what there is need not wait for more, and what is held is released. */
void utterance_table_drain(struct utterance_table *t);

/* How much the utterance whose turn it is has to say; 0 = silence. Ends those that have nothing
 * more to say, and those that starved. */
uint64_t utterance_table_turn(struct utterance_table *t, uint64_t now_us);
/* So much of the turn was spoken, at most what it gave. */
void utterance_table_spoke(struct utterance_table *t, uint64_t ticks, uint64_t now_us);
/* A turn would begin to speak. */
bool utterance_table_may_start(const struct utterance_table *t);

/* Holds this one, also before its first piece came: false when too many are held so. One that is
 * over is not touched. */
MUST_USE bool utterance_table_pause(struct utterance_table *t, uint32_t id);
/* Holds the one that has begun to speak, if any. */
void utterance_table_pause_speaker(struct utterance_table *t);
void utterance_table_resume(struct utterance_table *t, uint32_t id);

/* Nothing was said for long: gives the entries back, if nobody needs to be told of one any more. */
void utterance_table_rest(struct utterance_table *t, uint64_t now_us);

struct utterance_flushed {
    uint32_t flush;         /* the id of the flush, the wildcard resolved */
    uint32_t utterance;     /* of those flushed, the one that had begun; 0 = none */
    uint64_t sent_ticks;    /* of it */
    bool was_sounding;      /* it was not yet at its end */
    bool was_spoken;        /* one up to `flush` spoke, done or not, and none took it back before */
    uint64_t dropped_ticks; /* of all flushed */
};

/* Every utterance up to this id is dead, also those that did not come yet. */
struct utterance_flushed utterance_table_flush(struct utterance_table *t, uint32_t id,
                                               uint64_t now_us);

enum utterance_reason {
    UTTERANCE_PLAYED,
    UTTERANCE_FLUSHED,
    UTTERANCE_STARVED,
    UTTERANCE_SESSION_END,
    UTTERANCE_BACKEND_LOST
};

/* Everything not done is done, for this reason; ids begin anew. What ended before is told yet, but
 * not when the backend is away: whom it concerned is gone. */
void utterance_table_end(struct utterance_table *t, enum utterance_reason reason, uint64_t now_us);

enum utterance_event_type {
    UTTERANCE_EVENT_STARTED,  /* its first sample was spoken */
    UTTERANCE_EVENT_PROGRESS, /* progress_ticks of it were spoken since it was told before */
    UTTERANCE_EVENT_UNDERRUN, /* its turn, open, and too little to speak */
    UTTERANCE_EVENT_PAUSED,
    UTTERANCE_EVENT_RESUMED,
    UTTERANCE_EVENT_DONE
};

struct utterance_event {
    enum utterance_event_type type;
    uint32_t utterance;
    enum utterance_reason reason; /* DONE */
    uint64_t sent_ticks;
    uint64_t queued_ticks;
};

MUST_USE bool utterance_table_poll_event(struct utterance_table *t, struct utterance_event *out);

struct utterance_position {
    uint32_t utterance; /* the newest; 0 = none */
    uint64_t received_ticks;
    uint64_t sent_ticks;
};

struct utterance_position utterance_table_position(const struct utterance_table *t);
/* Of all that are not done. */
uint64_t utterance_table_queued(const struct utterance_table *t);
uint64_t utterance_table_underruns(const struct utterance_table *t);

#endif
