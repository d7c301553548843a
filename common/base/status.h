/*
 * status.h - how the start-up and control path fails: a code and one line for a person
 *
 * The line says what was being done, to what, and what came back:
 * "bind udp 0.0.0.0:3478: Address already in use". Packet paths do not use this (style: they
 * return a reason from the module's own enum).
 */
#ifndef EARSHOT_STATUS_H
#define EARSHOT_STATUS_H

#include "common/base/bytes.h"

#define FAULT_TEXT_CAP 256

enum fault_code {
    FAULT_NONE = 0,
    FAULT_CONFIG,  /* a file or an option is wrong; a person must edit it */
    FAULT_SYSTEM,  /* the operating system refused */
    FAULT_LIBRARY, /* a library refused */
    FAULT_LIMIT    /* a bound of ours was reached */
};

struct fault {
    enum fault_code code;
    char text[FAULT_TEXT_CAP];
};

/* Fills fault (NULL is fine) with a cut-off line and returns false, so that a caller can
 * `return fault_set(...)`. */
bool fault_set(struct fault *fault, enum fault_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
