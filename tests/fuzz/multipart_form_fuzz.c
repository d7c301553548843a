/* multipart_form_fuzz.c - any bytes as a form
 *
 * The first byte is the length of the Content-Type that follows. What is found lies within the
 * body, in order, and no content holds the delimiter.
 */
#include "services/signaling/offer/multipart_form.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct multipart_form form;
    if (len == 0 || data[0] > len - 1) {
        return 0;
    }
    const struct bytes_view type = bytes_view_of(data + 1, data[0]);
    const struct bytes_view body = bytes_view_of(data + 1 + type.len, len - 1 - type.len);
    if (!multipart_form_read(type, body, &form)) {
        return 0;
    }
    const uint8_t *last = body.data;
    assert(form.count <= MULTIPART_FORM_PARTS_MAX);
    for (size_t i = 0; i < form.count; i++) {
        const struct multipart_form_part *part = &form.part[i];
        assert(part->name.len > 0 && part->name.data >= last);
        assert(part->content.data > part->name.data);
        assert(part->content.len <= (size_t)(body.data + body.len - part->content.data));
        last = part->content.data + part->content.len;
    }
    return 0;
}
