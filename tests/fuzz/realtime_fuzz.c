/* realtime_fuzz.c - a client that sends anything, beside a user, an agent and a transceiver that do
 * anything: every event is one that clients take (tests/support/realtime_rules.h). The input is
 * lines: an event of the client, or '!' and bytes that do one thing each */
#include "common/base/time_us.h"
#include "tests/support/realtime_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void act(struct realtime_world *w, uint8_t byte)
{
    static realtime_step *const steps[] = {audio,
                                           speech_begins,
                                           speech_ends,
                                           transcribes,
                                           greets,
                                           speaks,
                                           says,
                                           says_end,
                                           calls_tool,
                                           fails,
                                           resumes,
                                           flush_is_done,
                                           playback_starts,
                                           playback_ends,
                                           playback_goes_on,
                                           flush_found_nothing};
    steps[byte % COUNT_OF(steps)](w, "20");
    if ((byte & 0x40) != 0) {
        realtime_sideband_attached(w->realtime, byte);
    }
}

static void take(struct realtime_world *w)
{
    realtime_world_drain(w);
    if (w->rules.broken[0] != '\0') {
        (void)fprintf(stderr, "%s\n", w->rules.broken);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct realtime_world world;
    realtime_world_open(&world, &(struct realtime_world_config){
                                    .message_bytes_max = size > 0 && data[0] == '{' ? 65536 : 4096,
                                    .is_restarted = size % 2 == 1});
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        const size_t len = end == NULL ? size : (size_t)(end - data);
        if (len > 0 && data[0] == '!') {
            for (size_t i = 1; i < len; i++) {
                act(&world, data[i]);
            }
        } else {
            (void)realtime_input(world.realtime, bytes_view_of(data, len));
        }
        take(&world);
        size -= len + (end != NULL);
        data += len + (end != NULL);
    }
    realtime_world_close(&world);
    return 0;
}
