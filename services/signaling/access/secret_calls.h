/*
 * secret_calls.h - how many calls live of each client secret
 *
 * Takes:   the id of a secret whose call is about to be made; that a call is over.
 * Gives:   how many of its calls live, as far as this replica made them.
 * Owns:    SECRET_CALLS_MAX places; no heap after create.
 * When full: take gives SECRET_CALLS_NONE, and that call does not count: whoever makes so many has
 *          met every other limit.
 */
#ifndef EARSHOT_SECRET_CALLS_H
#define EARSHOT_SECRET_CALLS_H

#include <stddef.h>

#define SECRET_CALLS_MAX  8192
#define SECRET_CALLS_NONE SECRET_CALLS_MAX

struct secret_calls;

/* NULL without memory. */
struct secret_calls *secret_calls_create(void);
void secret_calls_destroy(struct secret_calls *s);

size_t secret_calls_count(const struct secret_calls *s, const char *secret_id);
/* A place for one more call; SECRET_CALLS_NONE also for the empty id, which is no secret's. */
size_t secret_calls_take(struct secret_calls *s, const char *secret_id);
/* Gives it back. SECRET_CALLS_NONE: nothing. */
void secret_calls_give_back(struct secret_calls *s, size_t place);

#endif
