/* http_screen_fuzz.c - any bytes as the head of a request, before libwebsockets sees it
 *
 * What passes is whole and has no byte that could be misread; cut anywhere it waits for the rest.
 */
#include "services/signaling/http_screen.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_passed(struct bytes_view input)
{
    const uint8_t *end = memmem(input.data, input.len, "\r\n\r\n", 4);
    assert(end != NULL && input.data[0] >= 'A' && input.data[0] <= 'Z');
    const size_t head_len = (size_t)(end - input.data) + 4;
    assert(head_len <= HTTP_SCREEN_BYTES_MAX || input.len > HTTP_SCREEN_BYTES_MAX);
    for (size_t i = 0; i < head_len; i++) {
        const uint8_t c = input.data[i];
        assert(c >= ' ' || c == '\t' || c == '\r' || c == '\n');
        assert(c != '\n' || input.data[i - 1] == '\r');
        assert(c != '\r' || input.data[i + 1] == '\n');
    }
    const size_t step = head_len / 16 + 1;
    for (size_t cut = 0; cut < head_len && head_len < HTTP_SCREEN_BYTES_MAX; cut += step) {
        assert(http_screen_look(bytes_view_of(input.data, cut)) == HTTP_SCREEN_MORE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const size_t empty_len = http_screen_empty_lines(bytes_view_of(data, len));
    assert(empty_len <= len && empty_len % 2 == 0);
    const struct bytes_view head = bytes_view_of(data + empty_len, len - empty_len);
    const enum http_screen_verdict verdict = http_screen_look(head);
    if (verdict == HTTP_SCREEN_PASS) {
        check_passed(head);
    } else if (verdict == HTTP_SCREEN_MORE) {
        assert(head.len < HTTP_SCREEN_BYTES_MAX);
    } else {
        assert(http_screen_answer(verdict).status >= 200);
    }
    const struct bytes_view origin = http_screen_field(head, "origin");
    assert(origin.len == 0 ||
           (origin.data > head.data && origin.data + origin.len < head.data + head.len));
    (void)http_screen_is_head_request(head);
    return 0;
}
