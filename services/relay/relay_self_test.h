/*
 * relay_self_test.h - does this build, on this machine, read the wire as the others do?
 *
 * Run before a port opens: a relay with a broken cipher would drop every call in silence.
 */
#ifndef EARSHOT_RELAY_SELF_TEST_H
#define EARSHOT_RELAY_SELF_TEST_H

#include "common/base/status.h"

MUST_USE bool relay_self_test(struct fault *fault);

#endif
