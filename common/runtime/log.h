/*
 * log.h - one event a line on stderr
 *
 * Form:    text `ts=... level=... service=... event key=value ...`; json has the same keys.
 *          The event name comes first in `format`: log_info("session.closed id=%u reason=%s", ...).
 * Rules:   never a packet's content, never keys or passwords; addresses and ufrags at debug only.
 *          A value from outside goes through log_escape. Nothing a stranger sends may produce an
 *          unbounded number of lines: count it, or use log_limited.
 * Bounds:  1,024 bytes a line, cut. A stuck reader of stderr never blocks a loop: such lines are
 *          dropped and counted (log_dropped_lines).
 * Threads: any.
 */
#ifndef EARSHOT_LOG_H
#define EARSHOT_LOG_H

#include "common/base/bytes.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

void log_open(const char *service, enum log_level level_min, enum log_format format);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t log_dropped_lines(void);

#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

/* At most one line a second for one call site; the next line says how many were held back. */
struct log_limit {
    uint64_t next_us;
    uint64_t held_back;
};
MUST_USE bool log_limit_pass(struct log_limit *limit, uint64_t now_us);

/* A foreign string made safe for a line: printable ASCII, at most 128 bytes; returns text. */
const char *log_escape(struct bytes_view foreign, char *text, size_t text_cap);

#endif
