/* backend_message.c - see backend_message.h */
#include "common/backend_link/backend_message.h"

#include "common/backend_link/backend_json.h"

static enum backend_chunk_result take_header(struct backend_chunks *c,
                                             const struct backend_frame *frame)
{
    struct backend_channel channel;
    const bool is_last = (frame->flags & BACKEND_FLAG_LAST) != 0;
    if (is_last || !backend_channel_decode(frame->payload, &channel)) {
        return BACKEND_CHUNK_BAD_HEADER;
    }
    c->has_header = true;
    return BACKEND_CHUNK_MORE;
}

enum backend_chunk_result backend_chunks_input(struct backend_chunks *c,
                                               const struct backend_frame *frame, size_t bytes_max)
{
    const bool is_last = (frame->flags & BACKEND_FLAG_LAST) != 0;
    if (frame->type == BACKEND_CHANNEL_DATA && !c->has_header) {
        return take_header(c, frame);
    }
    const bool was_refused = c->is_refused;
    const size_t left = bytes_max - c->bytes;
    c->is_refused = was_refused || frame->payload.len > left;
    c->bytes += c->is_refused ? 0 : frame->payload.len;
    const bool is_refused = c->is_refused;
    if (is_last) {
        *c = (struct backend_chunks){0};
    }
    if (is_refused) {
        return was_refused ? BACKEND_CHUNK_MORE : BACKEND_CHUNK_TOO_LONG;
    }
    return is_last ? BACKEND_CHUNK_WHOLE : BACKEND_CHUNK_MORE;
}

bool backend_channel_decode(struct bytes_view payload, struct backend_channel *out)
{
    struct backend_json o =
        backend_json_open(payload, BACKEND_PAYLOAD_BYTES_MAX, BACKEND_JSON_DEPTH_MAX);
    out->channel = backend_json_u32(&o, "channel", 0);
    backend_json_text(&o, "label", "", out->label, sizeof(out->label));
    out->is_binary = backend_json_bool(&o, "binary", false);
    out->is_ordered = backend_json_bool(&o, "ordered", true);
    return backend_json_close(&o);
}

size_t backend_channel_encode(const struct backend_channel *in, char *text, size_t cap)
{
    return backend_json_dump(json_pack("{s:I, s:s, s:b, s:b}", "channel", (json_int_t)in->channel,
                                       "label", in->label, "binary", in->is_binary, "ordered",
                                       in->is_ordered),
                             text, cap);
}

bool backend_sideband_decode(struct bytes_view payload, struct backend_sideband *out)
{
    struct backend_json o =
        backend_json_open(payload, BACKEND_PAYLOAD_BYTES_MAX, BACKEND_JSON_DEPTH_MAX);
    char side[BACKEND_TEXT_CAP];
    out->id = backend_json_u32(&o, "id", 0);
    backend_json_text(&o, "state", "", side, sizeof(side));
    out->is_attached = strcmp(side, "attached") == 0;
    o.failed = o.failed || (!out->is_attached && strcmp(side, "gone") != 0);
    return backend_json_close(&o);
}

size_t backend_sideband_encode(const struct backend_sideband *in, char *text, size_t cap)
{
    return backend_json_dump(json_pack("{s:I, s:s}", "id", (json_int_t)in->id, "state",
                                       in->is_attached ? "attached" : "gone"),
                             text, cap);
}
