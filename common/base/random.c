/* random.c - see random.h */
#include "common/base/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static void fill_from_system(void *context, uint8_t *out, size_t len)
{
    (void)context;
    while (len > 0) {
        const ssize_t got = getrandom(out, len, 0);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            perror("getrandom");
            abort();
        }
        out += got;
        len -= (size_t)got;
    }
}

struct random_source random_system(void)
{
    return (struct random_source){.fill = fill_from_system};
}

void random_generator_init(struct random_generator *g, uint64_t seed)
{
    g->state = seed;
}

uint64_t random_generator_next(struct random_generator *g)
{
    g->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = g->state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

static void fill_from_generator(void *context, uint8_t *out, size_t len)
{
    struct random_generator *g = context;
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)(random_generator_next(g) >> 56);
    }
}

struct random_source random_seeded(struct random_generator *g)
{
    return (struct random_source){.fill = fill_from_generator, .context = g};
}

uint32_t random_u32(struct random_source source)
{
    uint32_t value = 0;
    random_fill(source, &value, sizeof(value));
    return value;
}

void random_ice_chars(struct random_source source, char *out, size_t len)
{
    static const char ice_char[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    random_fill(source, out, len);
    for (size_t i = 0; i < len; i++) {
        out[i] = ice_char[(uint8_t)out[i] & 63];
    }
}
