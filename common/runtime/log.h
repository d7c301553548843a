/*
 * log.h - one event a line on stderr
 *
 * Form:    text `ts=... level=... service=... event key=value ...`; json has the same keys, the
 *          event under "event", every value a string.
 *          The event name comes first in `format`: log_info("session.closed id=%u reason=%s", ...).
 *          A value with spaces stands in double quotes, which the format holds: fault=\"%s\". A
 *          quote or a backslash inside gets a backslash.
 * Rules:   never a packet's content, never keys or passwords; addresses and ufrags at debug only.
 *          A value from outside goes through log_escape. Nothing a stranger sends may produce an
 *          unbounded number of lines: count it, or ask log_limit_pass first.
 * Bounds:  LOG_LINE_BYTES a line, cut. A stuck reader of stderr never blocks a loop: such lines are
 *          dropped and counted (log_dropped_lines).
 * Threads: any, after log_open. One thread owns a struct log_limit.
 */
#ifndef EARSHOT_LOG_H
#define EARSHOT_LOG_H

#include "common/base/bytes.h"

#define LOG_LINE_BYTES  1024
#define LOG_ESCAPED_CAP 129 /* what log_escape writes at most, and a NUL */

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

/* Once, before any other thread; until then lines are text at info. `service` must outlive it. */
void log_open(const char *service, enum log_level level_min, enum log_format format);
/* At any time, from any thread: what a reload changes. */
void log_set_level(enum log_level level_min);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t log_dropped_lines(void);

#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

/* For the events of calls and connections, of which each is news. */
#define LOG_EVENTS_PER_S 20

/* A call site's budget: lines_per_s in one second, then none until that second is over. After a
 * pass, held_back says how many lines were refused since the pass before: print it. Starts as
 * zeros, but for lines_per_s. */
struct log_limit {
    uint32_t lines_per_s; /* 0 is 1: for a fault that stays the same */
    uint32_t passed;      /* in the second that began at begun_us */
    uint64_t begun_us;
    uint64_t refused;
    uint64_t held_back;
};
MUST_USE bool log_limit_pass(struct log_limit *limit, uint64_t now_us);

/* A foreign string made safe for a line: printable ASCII without spaces, quotes or backslashes,
 * everything else as %XX; cut to fit text_cap and LOG_ESCAPED_CAP; returns text. */
const char *log_escape(struct bytes_view foreign, char *text, size_t text_cap);

#endif
