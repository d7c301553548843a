/* session_json_fuzz.c - any text as two sessions, with a line end between them
 *
 * What comes out is a session again, within its bound: laid over nothing it stays as it is.
 */
#include "services/signaling/offer/session_json.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const uint8_t *cut = len > 0 ? memchr(data, '\n', len) : NULL;
    const size_t lower_len = cut != NULL ? (size_t)(cut - data) : len;
    const size_t upper_at = cut != NULL ? lower_len + 1 : len;
    char *merged = NULL;
    char *again = NULL;
    if (session_json_merge(bytes_view_of(data, lower_len),
                           bytes_view_of(data + upper_at, len - upper_at),
                           &merged) != SESSION_JSON_GOOD) {
        assert(merged == NULL);
        return 0;
    }
    char *effective = session_json_effective(merged, "sess_x", 1);
    assert(effective != NULL);
    if (merged != NULL) {
        const struct bytes_view text = bytes_view_of_text(merged);
        assert(text.len <= SESSION_JSON_BYTES_MAX);
        const enum session_json_result result =
            session_json_merge(text, (struct bytes_view){0}, &again);
        assert(result == SESSION_JSON_INVALID || strcmp(merged, again) == 0);
    }
    free(effective);
    free(merged);
    free(again);
    return 0;
}
