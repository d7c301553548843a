/*
 * multipart_form.h - the parts of a form (RFC 7578, RFC 2046 s.5.1)
 *
 * Takes:   the value of Content-Type and a whole body.
 * Gives:   views into the body: the content of each part by its name. What a part says of its type
 *          or file does not count.
 * Bounds:  MULTIPART_FORM_PARTS_MAX parts, MULTIPART_FORM_LINES_MAX header lines a part, each at
 *          most MULTIPART_FORM_LINE_BYTES_MAX. Ahead of the first boundary, and behind the last,
 *          MULTIPART_FORM_AROUND_BYTES_MAX, which are skipped; as are blanks behind a boundary.
 * Fails:   read returns false for another type, and for any body that is not boundary, CR LF,
 *          header, empty line, content ...: no name twice.
 */
#ifndef EARSHOT_MULTIPART_FORM_H
#define EARSHOT_MULTIPART_FORM_H

#include "common/base/bytes.h"

#define MULTIPART_FORM_PARTS_MAX          8
#define MULTIPART_FORM_LINES_MAX          8
#define MULTIPART_FORM_LINE_BYTES_MAX     512
#define MULTIPART_FORM_AROUND_BYTES_MAX   1024
#define MULTIPART_FORM_BOUNDARY_CHARS_MAX 70 /* RFC 2046 s.5.1.1 */

struct multipart_form_part {
    struct bytes_view name;
    struct bytes_view content;
};

struct multipart_form {
    struct multipart_form_part part[MULTIPART_FORM_PARTS_MAX];
    size_t count;
};

MUST_USE bool multipart_form_read(struct bytes_view content_type, struct bytes_view body,
                                  struct multipart_form *out);
/* False when the form has no such part: *out_content stays as it was. */
bool multipart_form_find(const struct multipart_form *form, const char *name,
                         struct bytes_view *out_content);

#endif
