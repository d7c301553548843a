/* http_upgrade_fuzz.c - any head that passed the screen, asked for a WebSocket */
#include "services/signaling/http_screen.h"
#include "services/signaling/http_upgrade.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_within(struct bytes_view part, struct bytes_view head)
{
    assert(part.len == 0 || (part.data >= head.data && part.len <= head.len &&
                             part.data + part.len <= head.data + head.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct bytes_view head = bytes_view_of(data, len);
    struct http_upgrade upgrade;
    struct http_response refusal = {0};
    (void)http_upgrade_offered_key(head);
    (void)http_upgrade_can_answer(head, HTTP_SOCKET_REALTIME);
    if (http_screen_look(head) != HTTP_SCREEN_PASS) {
        return 0;
    }
    const enum http_upgrade_kind kind = http_upgrade_read(head, &upgrade, &refusal);
    assert((kind == HTTP_UPGRADE_BAD) == (refusal.status != 0));
    if (kind == HTTP_UPGRADE_SOCKET) {
        assert(upgrade.path.len > 0 && upgrade.path.data[0] == '/');
        assert(upgrade.subprotocols.len <= HTTP_UPGRADE_LIST_CHARS_MAX);
        check_within(upgrade.path, head);
        check_within(upgrade.query, head);
        check_within(upgrade.authorization, head);
        check_within(upgrade.origin, head);
        check_within(upgrade.subprotocols, head);
    }
    return 0;
}
