/*
 * backend_start.h - what SESSION_START says, kept for the next backend of the call
 *
 * Owns:    a copy of a struct backend_start with every text it names; and the text of a frame,
 *          which holds a token and is cleared when it is no longer needed.
 */
#ifndef EARSHOT_BACKEND_START_H
#define EARSHOT_BACKEND_START_H

#include "common/backend_link/backend_payload.h"

/* One block. NULL without memory. resume_token is borrowed as it was. */
struct backend_start *backend_start_copy(const struct backend_start *start);
void backend_start_destroy(struct backend_start *start);

/* NULL without memory, or when the text is longer than a message. */
char *backend_start_text_create(const struct backend_start *start, size_t *out_len);
/* NULL is fine. */
void backend_start_text_destroy(char *text, size_t len);

/* The session in a SESSION_START that decodes, as JSON text, for backend_start_text_destroy. NULL
 * without memory, or when it has none. */
char *backend_start_session_create(struct bytes_view payload, size_t *out_len);

#endif
