/* control_message_fuzz.c - any bytes as each kind of control message
 *
 * What decodes must encode again, and decode again: a view that ran past its field would show.
 */
#include "common/control/control_event.h"

#include <assert.h>

static uint8_t message[CONTROL_MESSAGE_BYTES_MAX];
static struct control_decoder *decoder;
static struct control_decoder *second_decoder;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct bytes_view encoded(size_t len)
{
    assert(len > 0);
    return bytes_view_of(message, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static union {
        struct control_announcement announcement;
        struct control_request request;
        struct control_reply reply;
        struct control_session_event session_event;
        struct control_sideband_event sideband_event;
    } out;
    const struct bytes_span room = {.data = message, .cap = sizeof(message)};
    const struct bytes_view input = bytes_view_of(data, len);
    if (decoder == NULL) {
        decoder = control_decoder_create();
        second_decoder = control_decoder_create();
    }
    bool is_same = true;
    if (control_decode_announcement(decoder, input, &out.announcement)) {
        is_same = control_decode_announcement(
            second_decoder, encoded(control_encode_announcement(&out.announcement, room)),
            &out.announcement);
    }
    assert(is_same);
    if (control_decode_request(decoder, input, &out.request)) {
        is_same = control_decode_request(
            second_decoder, encoded(control_encode_request(&out.request, room)), &out.request);
    }
    assert(is_same);
    if (control_decode_reply(decoder, input, &out.reply)) {
        is_same = control_decode_reply(second_decoder,
                                       encoded(control_encode_reply(&out.reply, room)), &out.reply);
    }
    assert(is_same);
    if (control_decode_session_event(decoder, input, &out.session_event)) {
        is_same = control_decode_session_event(
            second_decoder, encoded(control_encode_session_event(&out.session_event, room)),
            &out.session_event);
    }
    assert(is_same);
    if (control_decode_sideband_event(decoder, input, &out.sideband_event)) {
        is_same = control_decode_sideband_event(
            second_decoder, encoded(control_encode_sideband_event(&out.sideband_event, room)),
            &out.sideband_event);
    }
    assert(is_same);
    return 0;
}
