/*
 * random.h - random bytes of the system, and a repeatable generator
 *
 * A core machine never asks the system: it is handed a `struct random_source`. Services hand out
 * random_system(); a simulation hands out a seeded one, so that a run repeats byte for byte.
 */
#ifndef EARSHOT_RANDOM_H
#define EARSHOT_RANDOM_H

#include "common/base/bytes.h"

struct random_source {
    void (*fill)(void *context, uint8_t *out, size_t len); /* cannot fail */
    void *context;
};

/* getrandom(2). An error there ends the process: nothing may go on with weak keys. */
struct random_source random_system(void);

/* splitmix64: not for keys, only for tests and for spreading load. */
struct random_generator {
    uint64_t state;
};

void random_generator_init(struct random_generator *g, uint64_t seed);
uint64_t random_generator_next(struct random_generator *g);
/* The generator as a source; g must outlive it. */
struct random_source random_seeded(struct random_generator *g);

static inline void random_fill(struct random_source source, void *out, size_t len)
{
    source.fill(source.context, out, len);
}

uint32_t random_u32(struct random_source source);

/* len characters of RFC 8839 ice-char (A-Z a-z 0-9 + /), 6 random bits each; no NUL. */
void random_ice_chars(struct random_source source, char *out, size_t len);

#endif
