/*
 * message_budget.h - how much a client may say on its data channels
 *
 * MESSAGE_BUDGET_PER_S messages and MESSAGE_BUDGET_BYTES_PER_S, whichever is reached first, and at
 * once what two seconds of it give. Who wants to say more waits: nothing is lost.
 * Source:  docs/client-contract.md, "Data channels".
 */
#ifndef EARSHOT_MESSAGE_BUDGET_H
#define EARSHOT_MESSAGE_BUDGET_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define MESSAGE_BUDGET_PER_S       2000
#define MESSAGE_BUDGET_BYTES_PER_S 2000000
#define MESSAGE_BUDGET_BURST_US    (2 * US_PER_S)

/* When all that was taken is paid for. Starts as zeros. */
struct message_budget {
    uint64_t count_paid_us;
    uint64_t bytes_paid_us;
};

/* When the next message may be taken: now_us or earlier = now. */
uint64_t message_budget_next_us(const struct message_budget *b);
void message_budget_take(struct message_budget *b, size_t bytes, uint64_t now_us);

#endif
