/* rate_choice.c - see rate_choice.h */
#include "services/inference-stub/rate_choice.h"

static bool offers(const struct backend_format *list, size_t count, uint8_t rate_khz)
{
    const struct backend_format wanted = {BACKEND_CODEC_PCM16, rate_khz};
    for (size_t i = 0; i < count; i++) {
        if (backend_format_equal(list[i], wanted)) {
            return true;
        }
    }
    return false;
}

static bool offers_both_ways(const struct backend_start_request *request, uint8_t rate_khz)
{
    return offers(request->in, request->in_count, rate_khz) &&
           offers(request->out, request->out_count, rate_khz);
}

uint8_t rate_choice_khz(const struct backend_start_request *request, bool prefers_16k)
{
    if (prefers_16k && offers_both_ways(request, 16)) {
        return 16;
    }
    for (size_t i = 0; i < request->in_count; i++) {
        const uint8_t rate_khz = request->in[i].rate_khz;
        if ((rate_khz == 16 || rate_khz == 24) && offers_both_ways(request, rate_khz)) {
            return rate_khz;
        }
    }
    return 0;
}
