/*
 * sdp_writer.h - the text of SDP, written piece by piece
 *
 * Fails:   as the byte_writer does: a piece that does not fit sets `failed`, which sticks.
 * Not here: formats with arguments; core has no stdio.
 */
#ifndef EARSHOT_SDP_WRITER_H
#define EARSHOT_SDP_WRITER_H

#include "common/base/bytes.h"

void sdp_writer_text(struct byte_writer *w, const char *text);
void sdp_writer_number(struct byte_writer *w, uint64_t value);
/* "5D:1F:0A": the form of a fingerprint, in capitals. */
void sdp_writer_digest(struct byte_writer *w, struct bytes_view digest);

/* Whole lines: name, value, CR LF. */
void sdp_writer_line(struct byte_writer *w, const char *name, const char *value);
void sdp_writer_number_line(struct byte_writer *w, const char *name, uint64_t number,
                            const char *rest);

#endif
