/* backend_payload_fuzz.c - every control payload, of any bytes: refused or read, text ended */
#include "common/backend_link/backend_payload.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char text[BACKEND_TEXT_CAP])
{
    assert(memchr(text, '\0', BACKEND_TEXT_CAP) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bytes_view payload = bytes_view_of(data, size);
    struct backend_hello hello;
    struct backend_start_request start;
    struct backend_accept accept;
    struct backend_reject reject;
    struct backend_end end;
    struct backend_error error;
    struct backend_playback playback;
    if (backend_hello_decode(payload, &hello)) {
        check_text(hello.name);
        assert(hello.format_count <= BACKEND_FORMATS_MAX);
    }
    if (backend_start_decode(payload, &start)) {
        check_text(start.call_id);
        assert(start.in_count <= BACKEND_FORMATS_MAX && start.out_count <= BACKEND_FORMATS_MAX);
    }
    if (backend_accept_decode(payload, &accept)) {
        assert(backend_format_name(accept.in) != NULL && backend_format_name(accept.out) != NULL);
    }
    if (backend_reject_decode(payload, &reject)) {
        check_text(reject.message);
    }
    if (backend_end_decode(payload, &end)) {
        check_text(end.reason);
    }
    if (backend_error_decode(payload, &error)) {
        check_text(error.message);
    }
    if (backend_playback_decode(payload, &playback)) {
        assert(playback.state != NULL);
    }
    return 0;
}
