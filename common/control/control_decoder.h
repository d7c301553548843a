/*
 * control_decoder.h - a protobuf message, field by field, each within its bound
 *
 * Takes:   a stranger's bytes, then C strings, data and numbers of the message that unpack made of
 *          them.
 * Gives:   copies and views; the views point into the decoder's arena, valid until its next unpack.
 * Owns:    an arena of 1 MB: a message that needs more is refused (control_arena.h).
 * Fails:   a field outside its bound is empty or 0 and marks the message; has_failed says so at the
 *          end, once for all fields.
 */
#ifndef EARSHOT_CONTROL_DECODER_H
#define EARSHOT_CONTROL_DECODER_H

#include "common/base/net_addr.h"

struct control_decoder;

/* NULL without memory. */
struct control_decoder *control_decoder_create(void);
void control_decoder_destroy(struct control_decoder *d);

/* The rest is for control_message.h's own files only. */

struct ProtobufCMessageDescriptor;

/* The message as protobuf-c sees it; NULL when it is malformed or needs too much memory. */
void *control_decoder_unpack(struct control_decoder *d,
                             const struct ProtobufCMessageDescriptor *type,
                             struct bytes_view message);
/* Was any field since unpack out of its bound? */
bool control_decoder_has_failed(const struct control_decoder *d);

/* text: a string field, as unpack left it. A NUL inside is refused: protobuf-c would end the string
 * there and say nothing. */
struct bytes_view control_decoder_text(struct control_decoder *d, const char *text, size_t len_max);
void control_decoder_copy_text(struct control_decoder *d, const char *text, char *out,
                               size_t out_cap);
void control_decoder_copy_addr(struct control_decoder *d, const char *text, struct net_addr *out);

struct bytes_view control_decoder_data(struct control_decoder *d, struct bytes_view data,
                                       size_t len_max);
/* Exactly out_len bytes, or a failure. */
void control_decoder_copy_data(struct control_decoder *d, struct bytes_view data, uint8_t *out,
                               size_t out_len);
/* Memory that lives as long as the message; NULL, and a failure, when the arena is used up. */
void *control_decoder_take(struct control_decoder *d, size_t bytes);
uint32_t control_decoder_number(struct control_decoder *d, uint32_t value, uint32_t max);

#endif
