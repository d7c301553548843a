/* backend_format.c - see backend_format.h */
#include "common/backend_link/backend_format.h"

static const struct {
    const char *name;
    struct backend_format format;
} known[] = {
    {"pcm16/8000", {BACKEND_CODEC_PCM16, 8}},   {"pcm16/16000", {BACKEND_CODEC_PCM16, 16}},
    {"pcm16/24000", {BACKEND_CODEC_PCM16, 24}}, {"pcm16/48000", {BACKEND_CODEC_PCM16, 48}},
    {"opus/48000", {BACKEND_CODEC_OPUS, 48}},   {"pcmu/8000", {BACKEND_CODEC_PCMU, 8}},
    {"pcma/8000", {BACKEND_CODEC_PCMA, 8}},
};

bool backend_format_parse(const char *name, struct backend_format *out)
{
    *out = (struct backend_format){0};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strcmp(known[i].name, name) == 0) {
            *out = known[i].format;
            return true;
        }
    }
    return false;
}

const char *backend_format_name(struct backend_format format)
{
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (backend_format_equal(known[i].format, format)) {
            return known[i].name;
        }
    }
    return NULL;
}
