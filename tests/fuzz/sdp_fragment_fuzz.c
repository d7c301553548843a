/* sdp_fragment_fuzz.c - any bytes as a fragment of SDP: refused, or answered, and read back */
#include "services/transceiver/core/sdp/sdp_fragment.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct sdp_fragment_reply ours = {.ice_ufrag = "H5NdZDc2lJmCIcFu0G39oFA",
                                                   .ice_pwd = "m8Jt0vQ4yL2cX6nB1rK5sD9f"};
    static const size_t lite_bytes = sizeof("a=ice-lite\r\n") - 1;
    struct sdp_fragment theirs;
    struct sdp_fragment back;
    char text[SDP_FRAGMENT_BYTES_MAX];
    if (sdp_fragment_parse(bytes_view_of(data, len), &theirs) != NULL) {
        return 0;
    }
    const size_t text_len = sdp_fragment_write(&theirs, &ours, text, sizeof(text));
    if (text_len <= lite_bytes ||
        sdp_fragment_parse(bytes_view_of(text + lite_bytes, text_len - lite_bytes), &back) !=
            NULL ||
        strcmp(back.ice_pwd, ours.ice_pwd) != 0 ||
        strcmp(back.section.mid, theirs.section.media_word[0] != '\0' ? theirs.section.mid : "")) {
        abort();
    }
    return 0;
}
