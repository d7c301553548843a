/* rate_choice.h - at which rate a call is held, out of what a transceiver offers */
#ifndef EARSHOT_RATE_CHOICE_H
#define EARSHOT_RATE_CHOICE_H

#include "common/backend_link/backend_payload.h"

/* PCM of 16 or 24 kHz for both directions, so that nothing on the way is resampled: 16 kHz where
 * that is preferred and offered both ways, else what the transceiver likes best. 0 = no rate in
 * common. */
uint8_t rate_choice_khz(const struct backend_start_request *request, bool prefers_16k);

#endif
