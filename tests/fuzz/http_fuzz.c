/* http_fuzz.c - any bytes as the parts of a request that we read ourselves
 *
 * What is echoed or kept must be harmless: no control character in header names that are allowed,
 * no slash in a call id, and an opened call id has the one form of its kind.
 */
#include "services/signaling/call_id.h"
#include "services/signaling/http_field.h"
#include "services/signaling/http_route.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_request_headers(struct bytes_view field)
{
    if (!http_field_allows_request_headers(field)) {
        return;
    }
    for (size_t i = 0; i < field.len; i++) {
        assert(field.data[i] == '\t' || (field.data[i] >= ' ' && field.data[i] < 0x7f));
        assert(field.data[i] != ':');
    }
}

static void check_route(struct bytes_view path)
{
    const struct http_route route = http_route_find(path);
    const bool is_call = route.resource == HTTP_CALL || route.resource == HTTP_HANGUP;
    assert(is_call == (route.call_id.len > 0));
    assert(route.call_id.len == 0 || memchr(route.call_id.data, '/', route.call_id.len) == NULL);
}

static void check_call_id(struct bytes_view text)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES];
    static struct key_ring *ring;
    if (ring == NULL) {
        ring = key_ring_from_secret(0, secret);
    }
    struct call_id id;
    if (call_id_open(ring, text, &id)) {
        assert(text.len == CALL_ID_CHARS && memcmp(text.data, "rtc_A", 5) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct bytes_view input = bytes_view_of(data, len);
    uint64_t length = 0;
    if (http_field_content_length(input, &length)) {
        assert(len <= 18 && length < UINT64_C(1000000000000000000));
    }
    (void)http_field_is_media_type(input, "application/sdp");
    check_request_headers(input);
    check_route(input);
    check_call_id(input);
    return 0;
}
