/* signal_message_fuzz.c - any text as a message of WebSocket signaling */
#include "services/signaling/signal_message.h"
#include "services/signaling/socket_error.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct bytes_view text = bytes_view_of(data, len);
    struct signal_message m;
    char fragment[SIGNAL_FRAGMENT_BYTES_MAX];
    char error[SOCKET_ERROR_BYTES_MAX];
    const enum signal_message_kind kind = signal_message_read(text, &m);
    assert(kind != SIGNAL_NO_MESSAGE || m.sdp.len == 0);
    assert(signal_message_fragment(&m, fragment) < sizeof(fragment));
    if (m.sdp.len > 0) { /* what JSON could say it can say again */
        char *written = signal_message_write("answer", "sdp", m.sdp, "rtc_1");
        assert(written != NULL);
        struct signal_message again;
        (void)signal_message_read(bytes_view_of_text(written), &again);
        assert(bytes_equal(again.sdp, m.sdp));
        signal_message_discard(&again);
        free(written);
    }
    signal_message_discard(&m);
    const size_t error_len = socket_error_message(text, error);
    assert(error_len > 0 && error_len <= sizeof(error));
    return 0;
}
