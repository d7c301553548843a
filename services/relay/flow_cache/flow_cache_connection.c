/* flow_cache_connection.c - see flow_cache_connection.h
 *
 * Not the asynchronous half of hiredis: its callbacks run inside of our calls, and also while a
 * connection is freed. The synchronous half on a socket that does not block does the same work and
 * is polled like everything else here (docs/decisions/0025-flow-cache.md).
 *
 * AUTH does not pass through hiredis, which copies a command three times and cleanses none. */
#include "services/relay/flow_cache/flow_cache_connection.h"

#include "common/runtime/log.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define ARGUMENTS_MAX   5
#define GREETINGS_MAX   3 /* AUTH, SELECT, PING */
#define COMMANDS_MAX    (FLOW_CACHE_REQUEST_KIND_COUNT * FLOW_CACHE_IN_FLIGHT_MAX + GREETINGS_MAX)
#define NUMBER_CAP      12
#define AUTH_CAP        (FLOW_CACHE_USER_CAP + FLOW_CACHE_PASSWORD_CAP + 64)
#define WRONG_TYPE_TEXT "WRONGTYPE"
#define LAST_BYTE_READ  "128"

static_assert(FLOW_CACHE_VALUE_BYTES_MAX == 128, "LAST_BYTE_READ is one byte too many");

enum command { COMMAND_AUTH, COMMAND_SELECT, COMMAND_PING, COMMAND_GET, COMMAND_SET };

static const char *const command_name[] = {
    [COMMAND_AUTH] = "AUTH",    [COMMAND_SELECT] = "SELECT", [COMMAND_PING] = "PING",
    [COMMAND_GET] = "GETRANGE", [COMMAND_SET] = "SET",
};

/* A command that was sent and has no answer. */
struct debt {
    enum command command;
    uint64_t sent_us;
    struct flow_cache_request request; /* GET, SET */
};

struct flow_cache_connection {
    redisContext *redis;
    redisReplyObjectFunctions make_reply;
    struct debt debt[COMMANDS_MAX]; /* a ring */
    size_t first;
    size_t count;
    size_t owed[FLOW_CACHE_REQUEST_KIND_COUNT]; /* by kind of request */
    uint64_t sent_us;                           /* the last command */
    bool is_greeted;

    char auth[AUTH_CAP]; /* what goes first; zeros when it is sent */
    size_t auth_len;
    size_t auth_sent;
};

/* We ask for nothing that a list answers. A list is memory that grows until its end comes. */
static void *refuse_list(const redisReadTask *task, int elements)
{
    (void)task;
    (void)elements;
    return NULL;
}

static void owe(struct flow_cache_connection *c, enum command command,
                const struct flow_cache_request *request, uint64_t now_us)
{
    assert(c->count < COMMANDS_MAX);
    c->debt[(c->first + c->count) % COMMANDS_MAX] =
        (struct debt){.command = command, .sent_us = now_us, .request = *request};
    c->count++;
    c->sent_us = now_us;
}

/* argument[0] is the command's name. False without memory. */
static bool append(struct flow_cache_connection *c, const char *const *argument, size_t count)
{
    const char *text[ARGUMENTS_MAX];
    size_t len[ARGUMENTS_MAX];
    for (size_t i = 0; i < count; i++) {
        text[i] = argument[i];
        len[i] = strlen(argument[i]);
    }
    return redisAppendCommandArgv(c->redis, (int)count, text, len) == REDIS_OK;
}

static bool say(struct flow_cache_connection *c, enum command command, const char *const *argument,
                size_t count, uint64_t now_us)
{
    if (!append(c, argument, count)) {
        return false;
    }
    owe(c, command, &(struct flow_cache_request){0}, now_us);
    return true;
}

static void write_auth(struct flow_cache_connection *c, const struct flow_cache_url *url)
{
    const size_t password_len = strlen(url->password);
    const int len =
        url->user[0] == '\0'
            ? snprintf(c->auth, sizeof(c->auth), "*2\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n", password_len,
                       url->password)
            : snprintf(c->auth, sizeof(c->auth), "*3\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                       strlen(url->user), url->user, password_len, url->password);
    assert(len > 0 && (size_t)len < sizeof(c->auth));
    c->auth_len = (size_t)len;
}

static void forget_auth(struct flow_cache_connection *c)
{
    explicit_bzero(c->auth, sizeof(c->auth));
    c->auth_len = 0;
    c->auth_sent = 0;
}

static bool greet(struct flow_cache_connection *c, const struct flow_cache_url *url,
                  uint64_t now_us)
{
    char database[NUMBER_CAP];
    const char *const select[] = {"SELECT", database};
    const char *const ping[] = {"PING"};
    (void)snprintf(database, sizeof(database), "%u", url->database);
    if (url->user[0] != '\0' || url->password[0] != '\0') {
        write_auth(c, url);
        owe(c, COMMAND_AUTH, &(struct flow_cache_request){0}, now_us);
    }
    return (url->database == 0 || say(c, COMMAND_SELECT, select, COUNT_OF(select), now_us)) &&
           say(c, COMMAND_PING, ping, COUNT_OF(ping), now_us);
}

struct flow_cache_connection *flow_cache_connection_open(const struct net_addr *address,
                                                         const struct flow_cache_url *url,
                                                         uint64_t now_us, struct fault *fault)
{
    char ip[NET_ADDR_TEXT_CAP];
    struct flow_cache_connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "out of memory");
        return NULL;
    }
    c->redis = redisConnectNonBlock(net_addr_format_ip(address, ip, sizeof(ip)), address->port);
    if (c->redis == NULL || c->redis->err != 0) {
        (void)fault_set(fault, FAULT_LIBRARY, "connect: %s",
                        c->redis == NULL ? "out of memory" : c->redis->errstr);
        flow_cache_connection_close(c);
        return NULL;
    }
    c->make_reply = *c->redis->reader->fn;
    c->make_reply.createArray = refuse_list;
    c->redis->reader->fn = &c->make_reply;
    if (!greet(c, url, now_us)) {
        (void)fault_set(fault, FAULT_SYSTEM, "out of memory");
        flow_cache_connection_close(c);
        return NULL;
    }
    return c;
}

void flow_cache_connection_close(struct flow_cache_connection *c)
{
    if (c == NULL) {
        return;
    }
    redisFree(c->redis);
    forget_auth(c);
    free(c);
}

int flow_cache_connection_fd(const struct flow_cache_connection *c)
{
    return c->redis->fd;
}

bool flow_cache_connection_has_output(const struct flow_cache_connection *c)
{
    return c->auth_len > 0 || sdslen(c->redis->obuf) > 0;
}

bool flow_cache_connection_is_greeted(const struct flow_cache_connection *c)
{
    return c->is_greeted;
}

bool flow_cache_connection_has_room(const struct flow_cache_connection *c,
                                    enum flow_cache_request_kind kind)
{
    return c->owed[kind] < FLOW_CACHE_IN_FLIGHT_MAX;
}

size_t flow_cache_connection_owes(const struct flow_cache_connection *c,
                                  enum flow_cache_request_kind kind)
{
    return c->owed[kind];
}

bool flow_cache_connection_send(struct flow_cache_connection *c,
                                const struct flow_cache_request *request, uint64_t now_us)
{
    char key[FLOW_CACHE_KEY_CAP];
    char value[FLOW_CACHE_VALUE_BYTES_MAX + 1];
    char life[NUMBER_CAP];
    const bool is_store = request->kind == FLOW_CACHE_STORE;
    assert(c->is_greeted && flow_cache_connection_has_room(c, request->kind));
    if (!flow_cache_write_key(&request->key, key) ||
        (is_store && !flow_cache_write_value(&request->flow, value))) {
        return false;
    }
    (void)snprintf(life, sizeof(life), "%d", FLOW_CACHE_ENTRY_LIFE_S);
    const char *const set[] = {"SET", key, value, "EX", life};
    /* Not GET: a value of megabytes, which whoever poisons the cache may write, would keep all
     * other answers waiting. One byte more than a good value may have shows that it is none. */
    const char *const get[] = {"GETRANGE", key, "0", LAST_BYTE_READ};
    if (!append(c, is_store ? set : get, is_store ? COUNT_OF(set) : COUNT_OF(get))) {
        return false;
    }
    owe(c, is_store ? COMMAND_SET : COMMAND_GET, request, now_us);
    c->owed[request->kind]++;
    return true;
}

static bool library_fault(const struct flow_cache_connection *c, struct fault *fault)
{
    return fault_set(fault, FAULT_LIBRARY, "%s", c->redis->errstr);
}

/* What the socket takes of it. */
static bool write_out_auth(struct flow_cache_connection *c, struct fault *fault)
{
    const ssize_t sent = send(c->redis->fd, c->auth + c->auth_sent, c->auth_len - c->auth_sent,
                              MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
        return errno == EAGAIN || errno == EINTR ||
               fault_set(fault, FAULT_SYSTEM, "%s", strerror(errno));
    }
    c->auth_sent += (size_t)sent;
    if (c->auth_sent == c->auth_len) {
        forget_auth(c);
    }
    return true;
}

bool flow_cache_connection_write(struct flow_cache_connection *c, struct fault *fault)
{
    int is_done = 0;
    if (c->auth_len > 0 && !write_out_auth(c, fault)) {
        return false;
    }
    return c->auth_len > 0 || sdslen(c->redis->obuf) == 0 ||
           redisBufferWrite(c->redis, &is_done) == REDIS_OK || library_fault(c, fault);
}

bool flow_cache_connection_read(struct flow_cache_connection *c, struct fault *fault)
{
    return redisBufferRead(c->redis) == REDIS_OK || library_fault(c, fault);
}

static bool is_error(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR;
}

static bool is_status(const redisReply *reply, const char *text)
{
    return reply->type == REDIS_REPLY_STATUS &&
           bytes_equal(bytes_view_of(reply->str, reply->len), bytes_view_of_text(text));
}

static enum flow_cache_result read_get(const redisReply *reply, struct cached_flow *out)
{
    switch (reply->type) {
    case REDIS_REPLY_STRING:
        if (reply->len == 0) {
            return FLOW_CACHE_ABSENT;
        }
        return flow_cache_read_value(bytes_view_of(reply->str, reply->len), out)
                   ? FLOW_CACHE_FOUND
                   : FLOW_CACHE_MALFORMED;
    case REDIS_REPLY_ERROR:
        return strncmp(reply->str, WRONG_TYPE_TEXT, sizeof(WRONG_TYPE_TEXT) - 1) == 0
                   ? FLOW_CACHE_MALFORMED
                   : FLOW_CACHE_REFUSED;
    default:
        return FLOW_CACHE_MALFORMED;
    }
}

/* A log line escapes quotes, and nothing else of this. */
static const char *words(const redisReply *reply, char *text, size_t text_cap)
{
    size_t len = 0;
    while (is_error(reply) && len < reply->len && len + 1 < text_cap) {
        const char byte = reply->str[len];
        text[len++] = byte;
        if (byte < ' ' || byte > '~') {
            text[len - 1] = '?';
        }
    }
    text[len] = '\0';
    return len > 0 ? text : "?";
}

static void read_reply(struct flow_cache_connection *c, const struct debt *debt,
                       const redisReply *reply, struct flow_cache_reply *out)
{
    *out = (struct flow_cache_reply){.request = debt->request};
    c->owed[debt->request.kind]--;
    if (debt->command == COMMAND_GET) {
        out->result = read_get(reply, &out->flow);
    } else {
        out->result = is_status(reply, "OK") ? FLOW_CACHE_FOUND : FLOW_CACHE_REFUSED;
    }
    if (out->result == FLOW_CACHE_REFUSED) {
        char text[FLOW_CACHE_REFUSAL_CAP];
        (void)snprintf(out->refusal, sizeof(out->refusal), "%s", words(reply, text, sizeof(text)));
    }
}

/* An answer to what we said of our own accord. */
static bool read_greeting(struct flow_cache_connection *c, enum command command,
                          const redisReply *reply, struct fault *fault)
{
    char text[FLOW_CACHE_REFUSAL_CAP];
    if (!is_status(reply, command == COMMAND_PING ? "PONG" : "OK")) {
        return fault_set(fault, FAULT_LIBRARY, "%s: %s", command_name[command],
                         words(reply, text, sizeof(text)));
    }
    c->is_greeted = c->is_greeted || command == COMMAND_PING;
    return true;
}

/* The next answer, NULL when no whole one is here. */
static bool next_reply(struct flow_cache_connection *c, redisReply **out, struct fault *fault)
{
    void *reply = NULL;
    if (redisGetReplyFromReader(c->redis, &reply) != REDIS_OK) {
        return library_fault(c, fault);
    }
    *out = reply;
    const redisReader *reader = c->redis->reader;
    if (reply == NULL && reader->len - reader->pos > FLOW_CACHE_ANSWER_BYTES_MAX) {
        return fault_set(fault, FAULT_LIMIT, "an answer of more than %d bytes",
                         FLOW_CACHE_ANSWER_BYTES_MAX);
    }
    return true;
}

enum flow_cache_taken flow_cache_connection_take(struct flow_cache_connection *c,
                                                 struct flow_cache_reply *out, struct fault *fault)
{
    for (;;) {
        redisReply *reply = NULL;
        if (!next_reply(c, &reply, fault)) {
            return FLOW_CACHE_BROKEN;
        }
        if (reply == NULL) {
            return FLOW_CACHE_NONE;
        }
        if (c->count == 0) {
            freeReplyObject(reply);
            (void)fault_set(fault, FAULT_LIBRARY, "an answer that nobody asked for");
            return FLOW_CACHE_BROKEN;
        }
        const struct debt *debt = &c->debt[c->first];
        const bool is_request = debt->command == COMMAND_GET || debt->command == COMMAND_SET;
        c->first = (c->first + 1) % COMMANDS_MAX;
        c->count--;
        bool is_good = true;
        if (is_request) {
            read_reply(c, debt, reply, out);
        } else {
            is_good = read_greeting(c, debt->command, reply, fault);
        }
        freeReplyObject(reply);
        if (!is_good) {
            return FLOW_CACHE_BROKEN;
        }
        if (is_request) {
            return FLOW_CACHE_REPLY;
        }
    }
}

bool flow_cache_connection_tick(struct flow_cache_connection *c, struct fault *fault,
                                uint64_t now_us)
{
    const char *const ping[] = {"PING"};
    if (now_us < flow_cache_connection_next_timeout(c)) {
        return true;
    }
    if (c->count > 0) {
        return fault_set(fault, FAULT_LIMIT, "no answer to %s within %u ms",
                         command_name[c->debt[c->first].command],
                         (unsigned)(FLOW_CACHE_PATIENCE_US / US_PER_MS));
    }
    return say(c, COMMAND_PING, ping, COUNT_OF(ping), now_us) ||
           fault_set(fault, FAULT_SYSTEM, "out of memory");
}

uint64_t flow_cache_connection_next_timeout(const struct flow_cache_connection *c)
{
    return c->count > 0 ? c->debt[c->first].sent_us + FLOW_CACHE_PATIENCE_US
                        : c->sent_us + FLOW_CACHE_IDLE_US;
}
