/* log.c - see log.h */
#include "common/runtime/log.h"

#include "common/runtime/clock.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How a line leaves without waiting depends on what stderr is. O_NONBLOCK on descriptor 2 itself
 * would also change it for the shell or supervisor that shares it, so it is never set there. */
enum sink_kind {
    SINK_POLLED, /* descriptor 2, asked first whether it has room */
    SINK_OWN,    /* a pipe or terminal, opened again: O_NONBLOCK is ours alone */
    SINK_SOCKET, /* each send says that it does not wait */
    SINK_FILE    /* a regular file does not make its writer wait for a reader */
};

static const char *const level_name[] = {"debug", "info", "warn", "error"};

static struct {
    const char *service;
    enum log_format format;
    enum sink_kind sink;
    int fd;
} output = {"earshot", LOG_TEXT, SINK_POLLED, STDERR_FILENO};

static atomic_int level_min_now = LOG_INFO;
static atomic_uint_fast64_t dropped_lines;

/* "}\" and a newline, or the newline alone: always kept free, so that a cut line is well formed. */
#define LINE_END_BYTES 3

struct line {
    char text[LOG_LINE_BYTES];
    size_t len;
};

/* Stands in a body for a quote of the format: one that came with a value is another byte. */
#define QUOTE '\x1e'

/* Leaves most of a line for the event. */
#define SERVICE_LEN_MAX 32

static void open_sink(void)
{
    struct stat status;
    if (output.sink == SINK_OWN) {
        (void)close(output.fd);
    }
    output.sink = SINK_POLLED;
    output.fd = STDERR_FILENO;
    if (fstat(STDERR_FILENO, &status) != 0) {
        return;
    }
    if (S_ISREG(status.st_mode)) {
        output.sink = SINK_FILE;
    } else if (S_ISSOCK(status.st_mode)) {
        output.sink = SINK_SOCKET;
    } else {
        const int fd =
            open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (fd >= 0) {
            output.sink = SINK_OWN;
            output.fd = fd;
        }
    }
}

void log_open(const char *service, enum log_level level_min, enum log_format format)
{
    assert(strlen(service) <= SERVICE_LEN_MAX);
    output.service = service;
    output.format = format;
    log_set_level(level_min);
    open_sink();
}

void log_set_level(enum log_level level_min)
{
    atomic_store_explicit(&level_min_now, (int)level_min, memory_order_relaxed);
}

uint64_t log_dropped_lines(void)
{
    return atomic_load_explicit(&dropped_lines, memory_order_relaxed);
}

/* Two threads must not both see the last free room. The lock is held for a write that does not
 * wait, and only where stderr could not be opened again (another user's pipe or terminal). */
static ssize_t write_polled(const char *text, size_t len)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct pollfd room = {.fd = output.fd, .events = POLLOUT};
    ssize_t written = -1;
    (void)pthread_mutex_lock(&one_at_a_time);
    if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0) {
        written = write(output.fd, text, len);
    }
    (void)pthread_mutex_unlock(&one_at_a_time);
    return written;
}

static void write_line(const struct line *line)
{
    ssize_t written = -1;
    switch (output.sink) {
    case SINK_POLLED:
        written = write_polled(line->text, line->len);
        break;
    case SINK_OWN:
    case SINK_FILE:
        written = write(output.fd, line->text, line->len);
        break;
    case SINK_SOCKET:
        written = send(output.fd, line->text, line->len, MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
    }
    if (written != (ssize_t)line->len) {
        (void)atomic_fetch_add_explicit(&dropped_lines, 1, memory_order_relaxed);
    }
}

static bool line_add(struct line *line, const char *text, size_t len)
{
    if (line->len + len > sizeof(line->text) - LINE_END_BYTES) {
        return false;
    }
    memcpy(line->text + line->len, text, len);
    line->len += len;
    return true;
}

static void line_end(struct line *line, const char *end)
{
    const size_t len = strlen(end);
    memcpy(line->text + line->len, end, len);
    line->len += len;
}

/* False when it had to be cut. */
static bool add_json_string(struct line *line, struct bytes_view text)
{
    for (size_t i = 0; i < text.len; i++) {
        const char escaped[2] = {'\\', (char)text.data[i]};
        const bool is_special = escaped[1] == '"' || escaped[1] == '\\';
        if (!line_add(line, is_special ? escaped : escaped + 1, is_special ? 2 : 1)) {
            return false;
        }
    }
    return true;
}

/* Adds `,"key":"value"`. A value is cut where the line is full; a key is whole or not there. */
static bool add_json_field(struct line *line, struct bytes_view key, struct bytes_view value)
{
    const size_t len_before = line->len;
    if (!line_add(line, len_before == 0 ? "{\"" : ",\"", 2) || !add_json_string(line, key) ||
        !line_add(line, "\":\"", 3)) {
        line->len = len_before;
        return false;
    }
    const bool is_whole = add_json_string(line, value);
    line_end(line, "\"");
    return is_whole;
}

/* How many bytes from `from` on come before `end`, or before the end of the text. */
static size_t span(struct bytes_view text, size_t from, char end)
{
    const uint8_t *found = memchr(text.data + from, end, text.len - from);
    return found == NULL ? text.len - from : (size_t)(found - text.data) - from;
}

/* A bare value lasts until the next ` key=`, so that no word of a careless value is lost. */
static size_t bare_value_len(struct bytes_view body, size_t from)
{
    size_t at = from + span(body, from, ' ');
    while (at < body.len) {
        const size_t word_len = span(body, at + 1, ' ');
        if (memchr(body.data + at + 1, '=', word_len) != NULL) {
            break;
        }
        at += 1 + word_len;
    }
    return at - from;
}

static void add_json_body(struct line *line, struct bytes_view body)
{
    size_t at = span(body, 0, ' ');
    bool fits = add_json_field(line, bytes_view_of_text("event"), bytes_view_of(body.data, at));
    while (fits && ++at < body.len) {
        const size_t key_len = span(body, at, '=');
        const struct bytes_view key = bytes_view_of(body.data + at, key_len);
        at += key_len + 1;
        if (at > body.len) {
            return; /* words without a value */
        }
        const bool is_quoted = at < body.len && body.data[at] == QUOTE;
        at += is_quoted ? 1 : 0;
        const size_t value_len = is_quoted ? span(body, at, QUOTE) : bare_value_len(body, at);
        fits = add_json_field(line, key, bytes_view_of(body.data + at, value_len));
        at += value_len + (is_quoted ? 1 : 0);
    }
}

static const char *format_time(char *text, size_t text_cap)
{
    const uint64_t now_us = clock_unix_us();
    const time_t seconds = (time_t)(now_us / US_PER_S);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc);
    const size_t len = strftime(text, text_cap, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text + len, text_cap - len, ".%03uZ", (unsigned)(now_us / US_PER_MS % 1000));
    return text;
}

static void compose_text(struct line *line, const char *stamp, const char *level,
                         struct bytes_view body)
{
    const int prefix_len = snprintf(line->text, sizeof(line->text) - LINE_END_BYTES,
                                    "ts=%s level=%s service=%s ", stamp, level, output.service);
    line->len = (size_t)prefix_len;
    bool is_inside = false;
    bool fits = true;
    for (size_t i = 0; fits && i < body.len; i++) {
        const char escaped[2] = {'\\', (char)body.data[i]};
        const bool is_quote = escaped[1] == QUOTE;
        const bool is_special = is_inside && (escaped[1] == '"' || escaped[1] == '\\');
        is_inside ^= is_quote;
        fits = line_add(line, is_quote ? "\"" : escaped + !is_special, is_special ? 2 : 1);
    }
    line_end(line, "\n");
}

static void compose_json(struct line *line, const char *stamp, const char *level,
                         struct bytes_view body)
{
    (void)add_json_field(line, bytes_view_of_text("ts"), bytes_view_of_text(stamp));
    (void)add_json_field(line, bytes_view_of_text("level"), bytes_view_of_text(level));
    (void)add_json_field(line, bytes_view_of_text("service"), bytes_view_of_text(output.service));
    add_json_body(line, body);
    line_end(line, "}\n");
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the caller's was checked */

static size_t format_body(char body[LOG_LINE_BYTES], const char *format, va_list arguments)
{
    char marked[LOG_LINE_BYTES];
    const size_t format_len = strlen(format);
    assert(format_len < sizeof(marked));
    for (size_t i = 0; i <= format_len; i++) {
        marked[i] = format[i];
        if (format[i] == '"') {
            marked[i] = QUOTE;
        }
    }
    (void)vsnprintf(body, LOG_LINE_BYTES, marked, arguments);
    return strlen(body);
}

#pragma GCC diagnostic pop

void log_write(enum log_level level, const char *format, ...)
{
    if ((int)level < atomic_load_explicit(&level_min_now, memory_order_relaxed)) {
        return;
    }
    char body[LOG_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const size_t body_len = format_body(body, format, arguments);
    va_end(arguments);
    /* Whatever a value holds, one event stays one line of ASCII. */
    for (size_t i = 0; i < body_len; i++) {
        if ((body[i] < ' ' || body[i] > '~') && body[i] != QUOTE) {
            body[i] = '?';
        }
    }
    char stamp[32];
    (void)format_time(stamp, sizeof(stamp));
    struct line line = {.len = 0};
    if (output.format == LOG_JSON) {
        compose_json(&line, stamp, level_name[level], bytes_view_of(body, body_len));
    } else {
        compose_text(&line, stamp, level_name[level], bytes_view_of(body, body_len));
    }
    write_line(&line);
}

bool log_limit_pass(struct log_limit *limit, uint64_t now_us)
{
    const uint32_t budget = limit->lines_per_s == 0 ? 1 : limit->lines_per_s;
    if (time_since(limit->begun_us, now_us) >= US_PER_S) {
        limit->begun_us = now_us;
        limit->passed = 0;
    }
    if (limit->passed >= budget) {
        limit->refused++;
        return false;
    }
    limit->passed++;
    limit->held_back = limit->refused;
    limit->refused = 0;
    return true;
}

const char *log_escape(struct bytes_view foreign, char *text, size_t text_cap)
{
    static const char digit[] = "0123456789ABCDEF";
    const size_t cap = text_cap < LOG_ESCAPED_CAP ? text_cap : LOG_ESCAPED_CAP;
    size_t len = 0;
    for (size_t i = 0; i < foreign.len; i++) {
        const uint8_t byte = foreign.data[i];
        const bool is_plain =
            byte > ' ' && byte <= '~' && byte != '"' && byte != '\\' && byte != '%';
        if (len + (is_plain ? 1 : 3) >= cap) {
            break;
        }
        if (is_plain) {
            text[len++] = (char)byte;
        } else {
            text[len++] = '%';
            text[len++] = digit[byte >> 4];
            text[len++] = digit[byte & 15];
        }
    }
    text[len] = '\0';
    return text;
}
