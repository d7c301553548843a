/* message_budget.c - see message_budget.h */
#include "services/transceiver/core/session/message_budget.h"

static uint64_t free_from_us(uint64_t paid_us)
{
    return paid_us > MESSAGE_BUDGET_BURST_US ? paid_us - MESSAGE_BUDGET_BURST_US : 0;
}

uint64_t message_budget_next_us(const struct message_budget *b)
{
    const uint64_t count_us = free_from_us(b->count_paid_us);
    const uint64_t bytes_us = free_from_us(b->bytes_paid_us);
    return count_us > bytes_us ? count_us : bytes_us;
}

/* What is taken is paid for at the rate, after what was taken before. */
static void charge(uint64_t *paid_us, uint64_t cost_us, uint64_t now_us)
{
    *paid_us = (*paid_us > now_us ? *paid_us : now_us) + cost_us;
}

void message_budget_take(struct message_budget *b, size_t bytes, uint64_t now_us)
{
    charge(&b->count_paid_us, US_PER_S / MESSAGE_BUDGET_PER_S, now_us);
    charge(&b->bytes_paid_us, bytes * US_PER_S / MESSAGE_BUDGET_BYTES_PER_S, now_us);
}
